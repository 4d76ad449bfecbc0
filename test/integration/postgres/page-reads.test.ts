/**
 * What people and supervisors read of runs, from pages that are written as the codec writes them:
 * runs with their history, items of maps, what agents hold, what is late, and what is retained for
 * how long.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../server/clock.ts";
import type { Forward } from "../../../server/core/model/model.ts";
import { stepKeyOf } from "../../../server/core/model/step-key.ts";
import { encodeAttempt } from "../../../server/core/page/attempt-codec.ts";
import type {
  PageAttempt,
  PageHead,
  PageStep,
  StoredOutcome,
} from "../../../server/core/page/page.ts";
import { ANY_RUN, type RunFilter } from "../../../server/store/lists.ts";
import { createActivity } from "../../../server/store/postgres/activity.ts";
import { heldTasks } from "../../../server/store/postgres/agents.ts";
import { type Audited, createAudited } from "../../../server/store/postgres/audit.ts";
import { createCircuits } from "../../../server/store/postgres/circuits.ts";
import { payloadOf } from "../../../server/store/postgres/columns.ts";
import { DATABASE_SCHEMA } from "../../../server/store/postgres/database-schema.ts";
import { createForgetOld } from "../../../server/store/postgres/housekeeping.ts";
import { createLists } from "../../../server/store/postgres/lists.ts";
import { createNamespaces } from "../../../server/store/postgres/namespaces.ts";
import { createOperators } from "../../../server/store/postgres/operators.ts";
import { createOutbox } from "../../../server/store/postgres/outbox.ts";
import { overdue } from "../../../server/store/postgres/overdue.ts";
import { createPool } from "../../../server/store/postgres/pool.ts";
import { createReads } from "../../../server/store/postgres/reads.ts";
import { createSchedules } from "../../../server/store/postgres/schedules.ts";
import { createTransact, queryOn } from "../../../server/store/postgres/transaction.ts";
import { createTriggers } from "../../../server/store/postgres/triggers.ts";
import type { DetailWanted } from "../../../server/store/reads.ts";
import { STORE_TIMES } from "../../../server/store/store-times.ts";
import { quietLog } from "../../support/control-plane.ts";
import {
  attemptWith,
  headWith,
  insertRun,
  insertTask,
  leaseWith,
  NOW,
  readyWith,
  stepWith,
  TERMS,
} from "../../support/pages.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

let database: TestDatabase;
let db: pg.Client;
let pool: pg.Pool;
let transact: ReturnType<typeof createTransact>;
let audited: Audited;
let definitionId: number;
let lane: number;

beforeAll(async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  pool = createPool(database.connectionString, "hot", 2, quietLog);
  transact = createTransact(pool, systemClock, DATABASE_SCHEMA);
  audited = createAudited(query, transact);
  definitionId = await idOf(
    `insert into drover.definition (namespace_id, digest, body)
     values (1, '\\x00', '{"workflow":"w","steps":[{"id":"flight"},{"id":"hotel"}]}') returning id`,
  );
  lane = await idOf(
    "insert into drover.lane (namespace_id, queue, task) values (1, 'beds', 'book') returning id",
  );
});
afterAll(async () => {
  await pool?.end();
  await db?.end();
  await database?.drop();
});

async function idOf(text: string): Promise<number> {
  const { rows } = await db.query<{ id: string }>(text);
  return Number(rows[0]?.id);
}

const query = ((...of) => queryOn(pool, DATABASE_SCHEMA)(...of)) satisfies ReturnType<
  typeof queryOn
>;
const reads = () => createReads(pool, DATABASE_SCHEMA, STORE_TIMES);
const lists = () => createLists(pool, DATABASE_SCHEMA, query);
const ALL: DetailWanted = { attempts: true, interventions: true, escalations: true };
const ended = (kind: "COMPLETED" | "FAILED" = "COMPLETED", at = NOW): PageHead =>
  headWith(
    { definitionId, endedAt: at },
    { state: { kind, reason: kind === "FAILED" ? "STEP_FAILED" : "DONE" } },
  );
const open = (of: Partial<Omit<PageHead, "run">> = {}, run = {}) =>
  headWith({ definitionId, ...of }, run);
const write = (head: PageHead, steps: readonly PageStep[], of = {}) =>
  insertRun(db, head, steps, of);
const done: Forward = { kind: "SUCCEEDED" };

function logAttempt(runId: string, step: number, attempt: PageAttempt, n = attempt.n) {
  return db.query("insert into drover.attempt_log values ($1, $2, $3, $4, $5, $6)", [
    runId,
    step,
    attempt.fence,
    attempt.kind,
    n,
    encodeAttempt(attempt),
  ]);
}

describe("a run", () => {
  it("is found by its id and by its key, with what its head has", async () => {
    const runId = await write(
      open({ cancelNote: "no more" }, { state: { kind: "PENDING", on: "start", until: NOW } }),
      [],
    );
    await db.query("insert into drover.idempotency values (1, 'the key', $1, '\\x01', now())", [
      runId,
    ]);
    const run = await reads().findRun(1, { runId });
    expect(run).toMatchObject({
      runId,
      state: "PENDING",
      reason: null,
      startAt: NOW,
      deadlineAt: null,
      stateVersion: 3,
      cancelNote: "no more",
      endedAt: null,
      workflow: "w",
      warnings: 0,
    });
    expect(await reads().findRun(1, { key: "the key" })).toEqual(run);
    expect(await reads().findRun(2, { runId })).toBeNull();
  });

  it("has the steps of all its pages, with their attempts in the order of their ends", async () => {
    const row = { kind: "row" } as const;
    const late = attemptWith({
      kind: "late",
      fence: 2,
      endedAt: NOW + 9_000,
      outcome: { kind: "success", output: row },
    });
    const first = attemptWith({ fence: 1, outcome: { kind: "success", output: row } });
    const runId = await write(open({ hasMore: true }), [
      stepWith(0, { forward: done }, { attempts: [late], logged: 1 }),
      stepWith(1, { forward: readyWith() }, { terms: TERMS }),
      stepWith(40, { forward: done }, { attempts: [attemptWith({ endedAt: NOW + 5_000 })] }),
    ]);
    await logAttempt(runId, 0, first);
    await db.query(
      `insert into drover.payload values ($1, 0, 1, 'perform', 0, 'output', 'application/json', '"first"', null),
         ($1, 0, 2, 'late', 1, 'output', 'a/b', null, '\\x00ff'),
         ($1, 0, 2, 'late', 0, 'output', 'application/json', '"another"', null)`,
      [runId],
    );
    const detail = await reads().runDetail(runId, ALL);
    expect([...(detail?.steps.keys() ?? [])]).toEqual([0, 1, 40]);
    expect(detail?.steps.get(1)?.forward.kind).toBe("READY");
    expect(detail?.state).toMatchObject({ kind: "RUNNING" });
    expect(detail?.attempts.map(({ step, fence, kind }) => [step, fence, kind])).toEqual([
      [0, 1, "perform"],
      [40, 1, "perform"],
      [0, 2, "late"],
    ]);
    const outputs = detail?.attempts.flatMap(({ outcome }) =>
      outcome.kind === "success" ? [outcome.output] : [],
    );
    expect(outputs).toEqual([
      { kind: "json", json: '"first"' },
      null,
      payloadOf("a/b", null, Buffer.from([0, 255])),
    ]);
    const bare = await reads().runDetail(runId, { ...ALL, attempts: false });
    expect(bare?.attempts).toEqual([]);
  });

  it("that is not there is null", async () => {
    const runId = "00000000-0000-7000-8000-000000000000";
    expect(await reads().runDetail(runId, ALL)).toBeNull();
  });
});

describe("items of a map", () => {
  const MAP = 1;
  const ITEMS = 1_200;
  const FAILED_EACH = 100;
  let runId: string;

  beforeAll(async () => {
    const items = Array.from({ length: ITEMS }, (_, at) => {
      const item = at + 1;
      const stepKey = stepKeyOf(MAP, item);
      const endedAt = NOW + item;
      if (item === 700)
        return stepWith(stepKey, { forward: leaseWith() }, { terms: { ...TERMS, lane } });
      const forward: Forward = { kind: item % FAILED_EACH === 0 ? "FAILED" : "SUCCEEDED" };
      return stepWith(stepKey, { forward }, { attempts: [attemptWith({ endedAt })] });
    });
    const map = stepWith(MAP, { forward: { kind: "MAPPING" } });
    const other = stepWith(stepKeyOf(0, 1), { forward: { kind: "ESCALATED" } });
    runId = await write(open({ hasMore: true }), [map, other, ...items]);
  });

  const itemsOf = async (of: {
    readonly after?: number;
    readonly limit?: number;
    readonly forwards?: readonly Forward["kind"][];
  }) => {
    const page = { map: MAP, after: 0, limit: 5, forwards: null, ...of };
    const { steps, attempts } = await reads().runItems(runId, page);
    const number = (stepKey: number) => Math.floor(stepKey / 512);
    return {
      items: [...steps.keys()].map(number),
      attempts: attempts.map(({ step }) => number(step)),
    };
  };

  it("are listed in pages, with the attempts at them", async () => {
    const first = [1, 2, 3, 4, 5];
    expect(await itemsOf({})).toEqual({ items: first, attempts: first });
    expect(await itemsOf({ after: ITEMS - 2 })).toMatchObject({ items: [ITEMS - 1, ITEMS] });
    expect(await itemsOf({ after: 698, limit: 3 })).toEqual({
      items: [699, 700, 701],
      attempts: [699, 701],
    });
  });

  it("are listed by their state, however few of them there are", async () => {
    const failed = await itemsOf({ forwards: ["FAILED"], after: 100, limit: 7 });
    expect(failed.items).toEqual([200, 300, 400, 500, 600, 800, 900]);
    expect(await itemsOf({ forwards: ["LEASED"] })).toEqual({ items: [700], attempts: [] });
    expect(await itemsOf({ forwards: ["BLOCKED"] })).toEqual({ items: [], attempts: [] });
  });

  it("are in the run itself while they are not done, and the last attempts at the others", async () => {
    const detail = await reads().runDetail(runId, ALL);
    expect([...(detail?.steps.keys() ?? [])]).toEqual([MAP, stepKeyOf(0, 1), stepKeyOf(MAP, 700)]);
    expect(detail?.attempts).toHaveLength(1_000);
    expect(detail?.attempts.at(-1)?.step).toBe(stepKeyOf(MAP, ITEMS));
  });

  it("have what their agents do", async () => {
    const leased = stepWith(
      stepKeyOf(MAP, 700),
      { forward: leaseWith() },
      { terms: { ...TERMS, lane } },
    );
    await insertTask(db, runId, leased);
    const liveness = await reads().runLiveness(runId);
    expect([...liveness.leases]).toEqual([
      [stepKeyOf(MAP, 700), { lastHeartbeatAt: null, progress: null }],
    ]);
    expect(liveness.queues.get(stepKeyOf(MAP, 700))).toBe("beds");
  });
});

describe("lists and counts", () => {
  const NAMESPACE = 71;
  const listed = async (states: RunFilter["states"]) => {
    const page = { filter: { ...ANY_RUN, states }, limit: 10, after: null } as const;
    const runs = await lists().runs(NAMESPACE, { ...page, order: "created-asc" });
    return runs.map(({ runId, state, reason }) => [runId.slice(-1), state, reason]);
  };
  const idOfRun = (n: number) => `01900000-0000-7000-8000-00000000000${n}`;

  beforeAll(async () => {
    const of = { namespaceId: NAMESPACE };
    await write({ ...open(), ...of }, [], { runId: idOfRun(1), partition: 200 });
    await write({ ...ended("FAILED"), ...of }, [], { runId: idOfRun(2) });
    await write({ ...ended(), ...of }, [], { runId: idOfRun(3) });
    const from = { kind: "RUNNING", leftMs: 1, since: NOW } as const;
    await write({ ...open({}, { state: { kind: "ESCALATED", from } }), ...of }, [], {
      runId: idOfRun(4),
    });
    await db.query("insert into drover.run_mark values ($1, '5', $2)", [NAMESPACE, idOfRun(2)]);
  });

  it("find runs by their states", async () => {
    const all = [
      ["1", "RUNNING", null],
      ["2", "FAILED", "STEP_FAILED"],
      ["3", "COMPLETED", "DONE"],
      ["4", "ESCALATED", null],
    ];
    expect(await listed([])).toEqual(all);
    expect(await listed(["COMPLETED", "RUNNING"])).toEqual([all[0], all[2]]);
    expect(await listed(["FAILED"])).toEqual([all[1]]);
    expect(await listed(["RUNNING", "ESCALATED"])).toEqual([all[0], all[3]]);
    const counted = await lists().countRuns(NAMESPACE, { ...ANY_RUN, states: ["ESCALATED"] }, 5);
    expect(counted.count).toBe(1);
  });

  it("count the open runs of a namespace, by their states and against its limit", async () => {
    const counted = await createActivity(query).openRuns(NAMESPACE);
    expect(counted).toEqual({
      openRuns: new Map([
        ["RUNNING", 1],
        ["ESCALATED", 1],
      ]),
      allCounted: true,
    });
    await db.query(
      `insert into drover.namespace (id, name, region, open_runs_max) values ($1, 'counted', 0, 10)`,
      [NAMESPACE],
    );
    const namespaces = createNamespaces(query, transact, audited);
    expect(await namespaces.limited()).toMatchObject([{ namespaceId: NAMESPACE, openRuns: 2 }]);
  });
});

describe("what an agent holds", () => {
  it("is read from the pages of its steps", async () => {
    const session = "77".repeat(16);
    const lease = leaseWith({
      session,
      fence: 4,
      attempt: 2,
      cancel: { kind: "asked", cause: "run", at: NOW },
    });
    const held = stepWith(
      1,
      { forward: done, undo: { ...lease, task: "compensate" } },
      { terms: { ...TERMS, lane }, progress: "half" },
    );
    const runId = await write(open(), [held]);
    await insertTask(db, runId, held);
    expect(await heldTasks(query, session)).toEqual([
      {
        runId,
        workflow: "w",
        definitionId,
        step: 1,
        kind: "compensate",
        queue: "beds",
        task: "book",
        fence: 4,
        attempt: 2,
        since: NOW,
        attemptBy: NOW + 60_000,
        progress: "half",
        progressAt: NOW,
        cancelling: true,
      },
    ]);
  });
});

describe("interventions", () => {
  it("have the number of the attempt that they were about, also of one that has left its page", async () => {
    const runId = await write(open(), [
      stepWith(1, {}, { attempts: [attemptWith({ fence: 2, attempt: 5 })], logged: 1 }),
    ]);
    await logAttempt(runId, 1, attemptWith({ fence: 1, attempt: 4 }));
    for (const [step, fence, rule] of [
      [1, 1, 0],
      [1, 2, 0],
      [1, 3, 0],
      [-1, 0, 7],
    ])
      await db.query(
        `insert into drover.intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at,
           namespace_id)
         values ($1, $2, $3, $4, 0, 7, '', '', now(), now(), 1)`,
        [runId, step, fence, rule],
      );
    const { interventions } = createOperators(query, { times: STORE_TIMES, pools: {} });
    const page = { rules: null, from: null, until: null, after: null, limit: 10 };
    for (const of of [runId, null]) {
      const listed = (await interventions(1, { ...page, runId: of })).filter(
        (one) => one.runId === runId,
      );
      const about = listed.map(({ fence, attempt }) => [fence, attempt]);
      expect(about.sort()).toEqual([
        [0, 0],
        [1, 4],
        [2, 5],
        [3, 0],
      ]);
    }
  });
});

describe("what is late", () => {
  const PARTITION = 900;
  const lateAt = NOW - 3_600_000;
  const lateOf = async (since: number | null = null) => {
    const of = { byMs: 60_000, since, ownerLostMs: 3_000 };
    const { rows, oldestAt } = await overdue(query, [PARTITION], of);
    return { lease: rows.lease, due: rows.due, run: rows.run, oldestAt };
  };

  it("is what pages wait for, and not that they are scanned too early", async () => {
    const later = Date.now() + 3_600_000;
    const calm = open({}, { state: { kind: "RUNNING", deadline: later } });
    const early = stepWith(0, { forward: leaseWith({ wakeAt: later }) }, { terms: TERMS });
    // More than are scanned first.
    for (let n = 0; n < 25; n++) {
      const runId = await write(calm, [early], { partition: PARTITION });
      await db.query("update drover.run_page set wake_at = $2 where run_id = $1", [
        runId,
        new Date(lateAt - n),
      ]);
    }
    expect(await lateOf()).toEqual({ lease: 0, due: 0, run: 0, oldestAt: null });
    const waiting: Forward = { kind: "WAITING", on: "timer", wakeAt: lateAt };
    await write(calm, [stepWith(0, { forward: waiting })], { partition: PARTITION });
    expect(await lateOf()).toEqual({ lease: 0, due: 1, run: 0, oldestAt: lateAt });
    expect(await lateOf(lateAt + 1)).toMatchObject({ due: 0 });
    await db.query(
      "insert into drover.partition_lease (partition, epoch) values ($1, 0) on conflict do nothing",
      [PARTITION],
    );
    await db.query("insert into drover.region (id, name) values (3, 'far') on conflict do nothing");
    const { partitions } = createOperators(query, { times: STORE_TIMES, pools: {} });
    const listed = await partitions({ after: PARTITION - 1, limit: 1 });
    expect(listed.partitions).toMatchObject([
      { partition: PARTITION, overdueAt: lateAt, used: true },
    ]);
  });
});

describe("a task that tries for a circuit", () => {
  const secret = "0a".repeat(16);
  const probeEnd = async (runId: string) => {
    await db.query("delete from drover.circuit");
    await db.query(
      `insert into drover.circuit (lane, agent_id, state, since, probe_run, probe_step, probe_fence, probe_secret)
       values ($1, '', 2, now(), $2, 1, 1, decode($3, 'hex'))`,
      [lane, runId, secret],
    );
    const circuits = createCircuits(query, (work) => transact({}, work), audited);
    const [found] = await circuits.evidence([lane], 10_000);
    return found?.circuits[0]?.probeEnd;
  };
  const outcome: StoredOutcome = {
    kind: "failure",
    class: "transient",
    code: "busy",
    message: "",
    retryAfterMs: null,
    noEffect: true,
  };
  const tried = attemptWith({ secret, outcome });
  const other = attemptWith({ secret: "0b".repeat(16) });

  it("has ended as its page has it, or the log, or not at all", async () => {
    const inPage = await write(open(), [stepWith(1, {}, { attempts: [other, tried] })]);
    const inLog = await write(open(), [stepWith(1, {}, { attempts: [other], logged: 1 })]);
    await logAttempt(inLog, 1, tried);
    for (const runId of [inPage, inLog])
      expect(await probeEnd(runId)).toEqual({
        runId,
        step: 1,
        fence: 1,
        end: "bad",
        at: NOW + 1_500,
      });
    const gone = await write(open(), [stepWith(1, {}, { attempts: [other] })]);
    expect(await probeEnd(gone)).toMatchObject({ end: "nothing" });
    const held = stepWith(1, { forward: leaseWith({ secret }) }, { terms: { ...TERMS, lane } });
    const out = await write(open(), [held]);
    await insertTask(db, out, held);
    expect(await probeEnd(out)).toBeNull();
  });
});

describe("how a run ended", () => {
  it("is published to hooks and triggers, and beside the occurrence that began it", async () => {
    const failed = await write(ended("FAILED"), []);
    const going = await write(open(), []);
    for (const runId of [failed, going])
      await db.query(
        `insert into drover.delivery (partition, namespace_id, kind, run_id, n, hook, cause, count, state,
           next_try_at)
         values (7, 1, 3, $1::uuid, 0, 'h', $1::uuid::text, 1, 0, now())`,
        [runId],
      );
    const outgoing = await createOutbox(query, audited).due([7], 10);
    expect(new Map(outgoing.map(({ runId, run }) => [runId, run.end]))).toEqual(
      new Map([
        [failed, expect.objectContaining({ state: "FAILED", reason: "STEP_FAILED", at: NOW })],
        [going, null],
      ]),
    );
    await db.query(
      "insert into drover.trigger_end (partition, namespace_id, trigger, run_id) values (7, 1, 't', $1)",
      [failed],
    );
    expect(await createTriggers(query, transact, audited).ended([7], 10)).toMatchObject([
      { runId: failed, state: "FAILED", reason: "STEP_FAILED", depth: 0 },
    ]);
    const schedule = "01900000-0000-7000-8000-0000000000aa";
    for (const [dueAt, runId] of [
      [1, failed],
      [2, going],
      [3, null],
    ])
      await db.query(
        `insert into drover.occurrence (schedule_id, series, nominal_time, at, cause, outcome, run_id)
         values ($1, 1, $2::bigint, to_timestamp($2::bigint), 0, 0, $3)`,
        [schedule, dueAt, runId],
      );
    const occurrences = await createSchedules(query, audited).lastOccurrences([schedule], 5);
    expect(occurrences.map(({ runState }) => runState)).toEqual([null, "RUNNING", "FAILED"]);
  });
});

describe("retention", () => {
  const NAMESPACE = 72;
  const of = { namespaceId: NAMESPACE };
  const runId = (n: number) => `01800000-0000-7000-8000-00000000000${n}`;
  const forget = async () => {
    const namespaces = createNamespaces(query, transact, audited);
    const asked = { namespaceId: NAMESPACE, keptMs: 60_000, after: null, limit: 10 };
    while ((await namespaces.forgetRuns(asked)).more);
  };
  const left = async (table: string) => {
    const column = table === "run" ? "id" : "run_id";
    const { rows } = await db.query<{ id: string }>(
      `select distinct ${column}::text as id from drover.${table} where ${column} = any ($1) order by 1`,
      [[1, 2, 3, 4].map(runId)],
    );
    return rows.map(({ id }) => id);
  };

  it("removes ended runs with their pages, payloads and logged attempts, and no child before its parent", async () => {
    const step = stepWith(stepKeyOf(1, 1), { forward: done }, { attempts: [attemptWith()] });
    const head = { ...ended("FAILED"), ...of };
    await write(head, [step], { runId: runId(1), labels: { city: "Bern" } });
    await write({ ...open(), ...of }, [step], { runId: runId(2) });
    await write({ ...ended("COMPLETED", Date.now()), ...of }, [step], { runId: runId(3) });
    await write(head, [step], { runId: runId(4) });
    await db.query("update drover.run set parent_id = $2 where id = $1", [runId(4), runId(2)]);
    for (const n of [1, 2, 3, 4]) {
      await logAttempt(runId(n), 1, attemptWith());
      await db.query(
        "insert into drover.payload values ($1, 1, 1, 'perform', 0, 'output', 'application/json', '1')",
        [runId(n)],
      );
      await db.query(
        "insert into drover.run_mark values ($1, '5', $2), ($1, '5 w', $2), ($1, 'city=Bern', $2)",
        [NAMESPACE, runId(n)],
      );
      // More keys than one statement reads.
      await db.query(
        `insert into drover.run_mark
         select $1, mark, $2 from generate_series(1, 250) as n,
           lateral (values ('step ' || n), ('error ' || n), ('step ' || n || ' error ' || n)) as m (mark)`,
        [NAMESPACE, runId(n)],
      );
    }
    await forget();
    const stored = [2, 3, 4].map(runId);
    const failures = await db.query(
      "select distinct run_id::text as id from drover.run_mark where mark like any ('{error %,step %}') order by 1",
    );
    expect(failures.rows.map(({ id }) => id)).toEqual(stored);
    for (const table of ["run", "run_page", "payload", "attempt_log", "run_mark"])
      expect(await left(table), table).toEqual(stored);
  });
});

describe("keys that have expired", () => {
  it("go once their run has ended", async () => {
    const runs = [await write(open(), []), await write(ended(), [])];
    for (const [at, runId] of runs.entries())
      await db.query(
        `insert into drover.idempotency values (1, $1, $2, '\\x01', now() - interval '1 day')`,
        [`old-${at}`, runId],
      );
    await createForgetOld({ query, clock: systemClock, everywhere: [query] })(100);
    const { rows } = await db.query("select key from drover.idempotency where key like 'old-%'");
    expect(rows).toEqual([{ key: "old-0" }]);
  });
});
