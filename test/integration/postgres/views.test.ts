/**
 * The views show in words what pages and rows hold, as the codec of pages has written it.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type End,
  type Forward,
  isEnded,
  type LeaseCancel,
  type Run,
  type RunState,
  type Step,
  type StopReason,
  type Undo,
} from "../../../server/core/model/model.ts";
import { stepKeyOf } from "../../../server/core/model/step-key.ts";
import type { Strategy } from "../../../server/core/model/strategy.ts";
import { encodeAttempt } from "../../../server/core/page/attempt-codec.ts";
import type { PageHead, PageStep, StoredOutcome } from "../../../server/core/page/page.ts";
import { TIMEOUTS_DEFAULT } from "../../../server/core/plan/plan.ts";
import {
  answers,
  escalationReasons,
  reasons,
  rules,
  runStates,
} from "../../../server/store/postgres/codes.ts";
import { skipOnCitus } from "../../support/not-on-citus.ts";
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
/** What it asks is answered with rows. */
const hand = {
  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    return (await db.query<Row>(text, [...values])).rows;
  },
};
let definitionId: number;
let lane: number;

beforeAll(async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  const [definition] = await hand.query<{ id: string }>(
    `insert into drover.definition (namespace_id, digest, body)
     values (1, '\\x00', '{"workflow":"w","steps":[{"id":"flight"},{"id":"hotel"}]}')
     returning id`,
  );
  definitionId = Number(definition?.id);
  const [made] = await hand.query<{ id: number }>(
    "insert into drover.lane (namespace_id, queue, task) values (1, 'beds', 'book') returning id",
  );
  lane = made?.id ?? 0;
});
afterAll(async () => {
  await db?.end();
  await database?.drop();
});

/** The lists of words that a view spells, in its order. */
async function listsOf(view: string): Promise<readonly (readonly string[])[]> {
  const [row] = await hand.query<{ text: string }>("select pg_get_viewdef($1::regclass) as text", [
    `drover.${view}`,
  ]);
  return [...(row?.text ?? "").matchAll(/ARRAY\[(.*?)\]/gs)].map(([, list = ""]) =>
    [...list.matchAll(/'([^']*)'/g)].map(([, word = ""]) => word),
  );
}

const FLIGHT = 0;
const HOTEL = 1;

async function makeRun(run: Partial<Run> = {}, head: Partial<PageHead> = {}): Promise<string> {
  return insertRun(hand, headWith({ definitionId, ...head }, run), []);
}

/** A run with this as its second step. */
async function makeStep(step: Partial<Step>, of: Partial<PageStep> = {}): Promise<string> {
  const terms = { ...TERMS, lane };
  const made = stepWith(HOTEL, { fence: 3, attempt: 2, ...step }, { terms, ...of });
  const runId = await insertRun(hand, headWith({ definitionId }), [made]);
  await insertTask(hand, runId, made);
  return runId;
}

const stepOf = (runId: string) =>
  hand.query("select * from drover.step_view where run_id = $1", [runId]);

const STOPPED: StopReason = { reason: "STEP_FAILED", undo: true };
const END: End = { kind: "FAILED", reason: "STEP_FAILED" };
const DEADLINE = { deadline: new Date(NOW + 60_000) };
const NO_DEADLINE = { deadline: null };
const FAILED = { reason: "STEP_FAILED", ...NO_DEADLINE };
const UNDECIDED = { reason: null, ...NO_DEADLINE };

const RUNS: readonly (readonly [RunState, object])[] = [
  [{ kind: "PENDING", on: "start", until: NOW + 60_000 }, UNDECIDED],
  [
    { kind: "PENDING", on: "permit", until: NOW + 60_000 },
    { reason: null, ...DEADLINE },
  ],
  [
    { kind: "RUNNING", deadline: NOW + 60_000 },
    { reason: null, ...DEADLINE },
  ],
  [{ kind: "RUNNING", deadline: null }, UNDECIDED],
  [{ kind: "PAUSED", leftMs: 5, since: NOW, stopReason: null }, UNDECIDED],
  [{ kind: "PAUSED", leftMs: 5, since: NOW, stopReason: STOPPED }, FAILED],
  [{ kind: "STOPPING", stopReason: STOPPED, settleUntil: null }, FAILED],
  [{ kind: "COMPENSATING", stopReason: STOPPED }, FAILED],
  [{ kind: "FINISHING", end: END }, FAILED],
  [{ kind: "ESCALATED", from: { kind: "RUNNING", leftMs: 5, since: NOW } }, UNDECIDED],
  [{ kind: "ESCALATED", from: { kind: "COMPENSATING", stopReason: STOPPED } }, FAILED],
  [{ kind: "ESCALATED", from: { kind: "FINISHING", end: END } }, FAILED],
  [
    { kind: "COMPLETED", reason: "DONE" },
    { reason: "DONE", ...NO_DEADLINE },
  ],
  [END, FAILED],
  [
    { kind: "COMPENSATED", reason: "TIMED_OUT" },
    { reason: "TIMED_OUT", ...NO_DEADLINE },
  ],
  [
    { kind: "CANCELLED", reason: "NEVER_STARTED" },
    { reason: "NEVER_STARTED", ...NO_DEADLINE },
  ],
];

describe("run_view", () => {
  it.for(RUNS)("shows a run that is %j", async ([state, expected]) => {
    const endedAt = isEnded(state) ? NOW : null;
    const counts = { stepsLeft: 4, moving: 2, asking: 1, warnings: 6 };
    const runId = await makeRun({ state, ...counts }, { endedAt, cancelNote: 'it "was" asked' });
    const [row] = await hand.query("select * from drover.run_view where run_id = $1", [runId]);
    expect(row).toMatchObject({
      state: state.kind,
      namespace: "default",
      workflow: "w",
      partition: 7,
      ...expected,
      ...(endedAt === null
        ? { ended_at: null, steps_left: 4, moving: 2, asking: 1 }
        : { ended_at: new Date(NOW), steps_left: null, moving: null, asking: null }),
      warnings: 6,
      cancel_note: 'it "was" asked',
    });
  });

  it("spells the states of runs as the code does", async () => {
    expect(await listsOf("run_view")).toEqual([runStates.names]);
  });

  it("shows all states that there are", () => {
    const kinds = new Set(RUNS.map(([{ kind }]) => kind));
    expect(kinds).toEqual(new Set(runStates.names));
  });
});

const NEXT = { next_check_at: new Date(NOW + 5_000) };
const wakeAt = NOW + 5_000;

const FORWARDS: readonly (readonly [Forward, object])[] = [
  [{ kind: "BLOCKED", waitingFor: 1, ok: 0, skipped: 0 }, { state: "BLOCKED" }],
  [readyWith({ wakeAt }), { state: "READY", fence: 3, ...NEXT }],
  [leaseWith({ fence: 4, wakeAt }), { state: "LEASED", fence: 4, agent_id: "anna", ...NEXT }],
  [readyWith({ task: "verify", wakeAt }), { state: "VERIFYING", ...NEXT }],
  [leaseWith({ task: "verify", wakeAt }), { state: "VERIFYING", agent_id: "anna", ...NEXT }],
  [{ kind: "HELD", task: "perform" }, { state: "READY" }],
  [{ kind: "HELD", task: "verify" }, { state: "VERIFYING" }],
  ...(["retry", "again", "settle"] as const).flatMap((cause): [Forward, object][] => [
    [
      { kind: "BACKOFF", task: "perform", cause, wakeAt },
      { state: "BACKOFF", waits_for: `perform ${cause}`, ...NEXT },
    ],
    [
      { kind: "BACKOFF", task: "verify", cause, wakeAt },
      { state: "VERIFYING", waits_for: `verify ${cause}`, ...NEXT },
    ],
  ]),
  ...(["timer", "signal", "approval", "callback", "child", "child-end", "items"] as const).map(
    (on): [Forward, object] => [
      { kind: "WAITING", on, wakeAt },
      { state: "WAITING", waits_for: on, agent_id: null, ...NEXT },
    ],
  ),
  [{ kind: "MAPPING" }, { state: "WAITING", waits_for: null, next_check_at: null }],
  [{ kind: "UNDOING" }, { state: "WAITING" }],
  ...(["ESCALATED", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"] as const).map(
    (kind): [Forward, object] => [{ kind }, { state: kind, fence: 3 }],
  ),
];

const UNDOS: readonly (readonly [Undo, object])[] = [
  [{ kind: "NONE" }, { undo: "NONE" }],
  [{ kind: "PENDING" }, { undo: "PENDING" }],
  [readyWith({ task: "compensate", wakeAt }), { undo: "ACTIVE", ...NEXT }],
  [
    leaseWith({ task: "compensate", fence: 4, wakeAt }),
    { undo: "ACTIVE", fence: 4, agent_id: "anna", ...NEXT },
  ],
  [
    { kind: "BACKOFF", task: "compensate", cause: "retry", wakeAt },
    { undo: "ACTIVE", waits_for: "compensate retry", ...NEXT },
  ],
  [
    { kind: "WAITING", on: "child-end", wakeAt },
    { undo: "ACTIVE", waits_for: "child-end" },
  ],
  [{ kind: "HELD", task: "compensate" }, { undo: "ACTIVE" }],
  [{ kind: "MAPPING" }, { undo: "ACTIVE" }],
  [{ kind: "DONE" }, { undo: "DONE" }],
  [{ kind: "FAILED" }, { undo: "FAILED" }],
];

describe("step_view", () => {
  it.for(FORWARDS)("shows a step that is %j", async ([forward, expected]) => {
    const runId = await makeStep({ forward });
    const [row, ...others] = await stepOf(runId);
    expect(row).toMatchObject({
      step: "hotel",
      no: 1,
      item: null,
      tries: 2,
      undo: "NONE",
      effect: "NONE",
      ...expected,
    });
    expect(others).toEqual([]);
  });

  it.for(UNDOS)(
    "shows an undo that is %j beside the step's own state",
    async ([undo, expected]) => {
      const mark = { planned: 0, changed: false, effectStatus: "MADE" } as const;
      const runId = await makeStep({ forward: { kind: "SUCCEEDED" }, undo, strategies: [mark] });
      expect(await stepOf(runId)).toMatchObject([
        { state: "SUCCEEDED", effect: "MADE", ...expected },
      ]);
    },
  );

  it("shows the current strategy, whatever came of its input, and what an agent reported last", async () => {
    const strategies: Strategy[] = [
      { planned: 0, changed: false, effectStatus: "UNDONE" },
      { planned: 2, changed: true, effectStatus: "UNSETTLED" },
    ];
    const runId = await makeStep({ forward: leaseWith(), strategies }, { progress: "50%" });
    expect(await stepOf(runId)).toMatchObject([
      { strategy: 2, effect: "UNSETTLED", progress: "50%" },
    ]);
  });

  it("counts from when the step was first ready, and from the tries that it had", async () => {
    const ready = { firstReadyAt: NOW - 1_000, fence: 1, attempt: 1 };
    const runId = await makeStep({
      ...ready,
      forward: leaseWith({ fence: 2, attempt: 2, wakeAt }),
    });
    expect(await stepOf(runId)).toMatchObject([{ state: "LEASED", fence: 2, tries: 1, ...NEXT }]);
  });

  it("shows items of a map by the step and their number", async () => {
    const forward: Forward = { kind: "SUCCEEDED" };
    const items = [3, 4].map((item) => stepWith(stepKeyOf(HOTEL, item), { forward }));
    const runId = await insertRun(hand, headWith({ definitionId }), items);
    const rows = await hand.query(
      "select step, item, state from drover.step_view where run_id = $1 order by item",
      [runId],
    );
    expect(rows).toEqual([3, 4].map((item) => ({ step: "hotel", item, state: "SUCCEEDED" })));
  });
});

describe("attempt_view", () => {
  const NONE = { class: null, code: null, message: null, retry_after_ms: null, no_effect: false };
  const json = '{"a":"ü\\n"}';
  const OUTCOMES: readonly (readonly [StoredOutcome, object])[] = [
    [
      { kind: "success", output: null },
      { ...NONE, output_type: null, output_json: null },
    ],
    [
      { kind: "success", output: { kind: "json", json } },
      { ...NONE, output_type: "application/json", output_json: json },
    ],
    [
      {
        kind: "success",
        output: { kind: "data", contentType: "a/b", data: Buffer.from([0, 255]) },
      },
      { ...NONE, output_type: "a/b", output_json: null, output_data: Buffer.from([0, 255]) },
    ],
    [
      {
        kind: "failure",
        class: "transient",
        code: "busy",
        message: "later",
        retryAfterMs: 7,
        noEffect: true,
      },
      { class: "transient", code: "busy", message: "later", retry_after_ms: "7", no_effect: true },
    ],
    [
      { kind: "unknown", code: "lost", message: "no word" },
      { ...NONE, code: "lost", message: "no word" },
    ],
    [
      { kind: "again", afterMs: 9 },
      { ...NONE, retry_after_ms: "9" },
    ],
    [
      { kind: "cancelled", noEffect: true },
      { ...NONE, no_effect: true },
    ],
    ...(["deferred", "released", "undelivered", "unsent", "superseded"] as const).map(
      (kind): [StoredOutcome, object] => [{ kind }, NONE],
    ),
  ];

  it.for(OUTCOMES)("shows an attempt that ended with %j", async ([outcome, expected]) => {
    const attempt = attemptWith({ outcome, fence: 2, progress: "half", counted: { policy: 1 } });
    const runId = await makeStep({ forward: { kind: "SUCCEEDED" } }, { attempts: [attempt] });
    expect(await attemptsOf(runId)).toMatchObject([
      {
        step: "hotel",
        item: null,
        no: 1,
        kind: "perform",
        fence: 2,
        n: 0,
        attempt: 1,
        agent_id: "anna",
        session: "05".repeat(16),
        started_at: new Date(NOW),
        ended_at: new Date(NOW + 1_500),
        progress: "half",
        outcome: outcome.kind,
        counted: true,
        policy: 1,
        ...expected,
      },
    ]);
  });

  it("shows the first attempt of a step as it shows others, counted from when that was ready", async () => {
    const of = { forward: { kind: "SUCCEEDED" }, firstReadyAt: NOW } as const;
    const runId = await makeStep(of, { attempts: [attemptWith()] });
    expect(await attemptsOf(runId)).toMatchObject([
      {
        kind: "perform",
        fence: 1,
        n: 0,
        attempt: 1,
        counted: true,
        policy: null,
        started_at: new Date(NOW),
        ended_at: new Date(NOW + 1_500),
        outcome: "success",
        session: "05".repeat(16),
      },
    ]);
  });

  it("shows attempts that have left their page, and outputs that have rows of their own", async () => {
    const success: StoredOutcome = { kind: "success", output: { kind: "row" } };
    const old = attemptWith({ fence: 1, counted: null, outcome: success });
    const late = attemptWith({ fence: 2, kind: "late", outcome: success });
    const runId = await makeStep(
      { forward: { kind: "SUCCEEDED" } },
      { attempts: [late], logged: 1 },
    );
    await hand.query("insert into drover.attempt_log values ($1, 1, 1, 'perform', 0, $2)", [
      runId,
      encodeAttempt(old),
    ]);
    for (const [fence, kind, n] of [
      [1, "perform", 0],
      [2, "late", 1],
    ])
      await hand.query(
        `insert into drover.payload values ($1, 1, $2, $3, $4, 'output', 'application/json', $5)`,
        [runId, fence, kind, n, `"${kind}"`],
      );
    expect(await attemptsOf(runId)).toMatchObject([
      { fence: 1, kind: "perform", n: 0, output_json: '"perform"', counted: false, policy: null },
      { fence: 2, kind: "late", n: 1, output_json: '"late"', counted: true, policy: null },
    ]);
  });

  it("shows what jsonb refuses as U+FFFD, and all else as it was reported", async () => {
    const message = "a\u0000b \ud83d c \\u0000 \u{1f600}";
    const outcome: StoredOutcome = { kind: "unknown", code: "lost", message };
    const escaped: StoredOutcome = {
      kind: "success",
      output: { kind: "json", json: '"\\ud83d\\ude00"' },
    };
    const attempts = [outcome, escaped].map((one, at) =>
      attemptWith({ outcome: one, fence: at + 1 }),
    );
    const runId = await makeStep({ forward: { kind: "SUCCEEDED" } }, { attempts });
    const expected = "a\ufffdb \ufffd c \\u0000 \u{1f600}";
    expect(await attemptsOf(runId)).toMatchObject([
      { message: expected },
      { output_json: '"\\ud83d\\ude00"' },
    ]);
    expect(await stepOf(runId)).toMatchObject([{ state: "SUCCEEDED" }]);
  });

  const attemptsOf = (runId: string) =>
    hand.query("select * from drover.attempt_view where run_id = $1 order by fence", [runId]);
});

describe("lease_view", () => {
  const leasesOf = (runId: string) =>
    hand.query("select * from drover.lease_view where run_id = $1", [runId]);

  it("shows a task with what its agent reported", async () => {
    const cancel: LeaseCancel = { kind: "asked", cause: "run", at: NOW };
    const lease = leaseWith({ fence: 4, attempt: 2, wakeAt, cancel });
    const runId = await makeStep({ forward: lease }, { progress: "50%" });
    expect(await leasesOf(runId)).toMatchObject([
      {
        step: "hotel",
        item: null,
        no: 1,
        task_kind: "perform",
        fence: 4,
        attempt: 2,
        queue: "beds",
        task: "book",
        agent_id: "anna",
        session: lease.session,
        granted_at: new Date(NOW),
        attempt_by: new Date(NOW + 60_000),
        progress: "50%",
        heartbeat_ms: 30_000,
        last_heartbeat_at: null,
        cancel: "asked",
        partition: 7,
        ...NEXT,
      },
    ]);
  });

  it("shows what follows from the step and its terms, where the page leaves it out", async () => {
    const times = { attemptBy: NOW + TIMEOUTS_DEFAULT.attemptMs, wakeAt };
    const terms = { ...TERMS, lane, attemptMs: TIMEOUTS_DEFAULT.attemptMs };
    const step = { fence: 1, attempt: 1, firstReadyAt: NOW - 1_000 };
    const lease = leaseWith({ fence: 2, attempt: 2, ...times });
    const runId = await makeStep({ ...step, forward: lease }, { terms });
    expect(await leasesOf(runId)).toMatchObject([
      {
        task_kind: "perform",
        fence: 2,
        attempt: 2,
        session: lease.session,
        ...NEXT,
        attempt_by: new Date(NOW + TIMEOUTS_DEFAULT.attemptMs),
      },
    ]);
  });

  it("shows the undo of an item that an agent has", async () => {
    const undo = leaseWith({ task: "compensate" });
    const item = stepWith(
      stepKeyOf(HOTEL, 2),
      { forward: { kind: "SUCCEEDED" }, undo },
      { terms: { ...TERMS, lane } },
    );
    const runId = await insertRun(hand, headWith({ definitionId }), [item]);
    await insertTask(hand, runId, item);
    expect(await leasesOf(runId)).toMatchObject([
      { step: "hotel", item: 2, task_kind: "compensate", cancel: "none" },
    ]);
  });
});

describe("views", () => {
  it("have a comment on what they are for", async (context) => {
    skipOnCitus(context, "comments are kept by the coordinator alone");
    const bare = await hand.query(
      `select c.relname from pg_class as c
       where c.relnamespace = 'drover'::regnamespace and c.relkind = 'v' and c.relname like '%_view'
         and obj_description(c.oid) is null`,
    );
    expect(bare).toEqual([]);
  });
});

describe("intervention_view", () => {
  it("has the rules of the code in a table, so that one more is a row more", async () => {
    const known = await hand.query<{ rule: number; name: string }>(
      "select rule, name from drover.intervention_rule order by rule",
    );
    expect(known).toEqual(rules.names.map((name, rule) => ({ rule, name })));
    expect(await listsOf("intervention_view")).toEqual([]);
  });

  it.for(rules.names.map((name, code) => ({ name, code })))(
    "shows an intervention by the rule $name, about a step and about the run",
    async ({ name, code }) => {
      const runId = await makeRun();
      for (const step of [-1, FLIGHT])
        await hand.query(
          `insert into drover.intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at,
             acted_at)
           values ($1, $2, 1, $3, 0, 7, 'saw', 'did', now() - interval '2 s', now())`,
          [runId, step, code],
        );
      const expected = await hand.query(
        `select step, rule, saw, did, extract(epoch from took)::int as took_s
         from drover.intervention_view where run_id = $1 order by step nulls first`,
        [runId],
      );
      const same = { rule: name, saw: "saw", did: "did", took_s: 2 };
      expect(expected).toEqual([
        { ...same, step: null },
        { ...same, step: "flight" },
      ]);
    },
  );
});

describe("the lists of the code", () => {
  it("name nothing twice", () => {
    for (const { names } of [runStates, reasons, rules, escalationReasons, answers])
      expect(new Set(names).size).toBe(names.length);
  });
});
