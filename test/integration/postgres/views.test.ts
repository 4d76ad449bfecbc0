/**
 * The views say in words what the tables hold as numbers: for each number the word that the code
 * means.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  answers,
  attemptKinds,
  dueKinds,
  escalationReasons,
  forwards,
  marks,
  outcomes,
  reasons,
  rules,
  runStates,
  taskKinds,
  undos,
} from "../../../server/store/postgres/codes.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Hand, openHand } from "../control-plane/fixture.ts";

let database: TestDatabase;
let hand: Hand;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  await hand.query(
    `insert into definition (namespace_id, digest, body)
     values (1, '\\x00', '{"workflow":"w","steps":[{"id":"flight"},{"id":"hotel"}]}')`,
  );
});
afterAll(async () => {
  await hand?.close();
  await database?.drop();
});

/** The lists of words that a view spells, in its order. */
async function listsOf(view: string): Promise<readonly (readonly string[])[]> {
  const [row] = await hand.query<{ text: string }>("select pg_get_viewdef($1::regclass) as text", [
    view,
  ]);
  return [...(row?.text ?? "").matchAll(/ARRAY\[(.*?)\]/gs)].map(([, list = ""]) =>
    [...list.matchAll(/'([^']*)'/g)].map(([, word = ""]) => word),
  );
}

/** People do not tell a ready undo from a leased or a waiting one by this word. */
const undoWord = (name: string): string =>
  ["OPEN", "BACKOFF", "WAITING", "HELD", "MAPPING"].includes(name) ? "ACTIVE" : name;

/** A held step is as good as ready; a map waits for its items, and UNDOING for an undo. */
const forwardWord = (name: string): string => {
  if (name === "HELD") return "READY";
  return name === "MAPPING" || name === "UNDOING" ? "WAITING" : name;
};

interface Made {
  readonly state: number;
  readonly verdict?: number | null;
}

async function makeRun({ state, verdict = null }: Made): Promise<string> {
  const runId = randomUUID();
  const ends = ["COMPLETED", "FAILED", "COMPENSATED", "CANCELLED"];
  const isOpen = !ends.includes(runStates.name(state));
  await hand.query(
    `insert into run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
       created_at, state, reason, last_version)
     select $1, 1, 7, max(id), 'w', 1, 5, '{}', now(), $2, $3, 1 from definition`,
    [runId, isOpen ? null : state, isOpen ? null : verdict],
  );
  if (isOpen)
    await hand.query(
      `insert into run_open (partition, run_id, namespace_id, definition_id, priority, state, version,
         steps_left, finally_left, moving, asking, undos_left, undone, warnings, escalations, pivoted,
         verdict)
       values (7, $1, 1, 1, 5, $2, 1, 1, 0, 1, 0, 0, 0, 0, 0, false, $3)`,
      [runId, state, verdict],
    );
  return runId;
}

async function makeStep(runId: string, forward: number, undo = 0, strategy = 0): Promise<void> {
  await hand.query(
    `insert into step (run_id, no, forward, undo, waiting_for, needs_ok, needs_skipped, strategies,
       fence, attempt, lost, tries, verifies)
     values ($1, 1, $2, $3, 0, 0, 0, array[0, $4]::smallint[], 3, 2, 0, '{}', 0)`,
    [runId, forward, undo, strategy],
  );
}

async function makeDue(runId: string, kind: number): Promise<void> {
  await hand.query(
    `insert into due (run_id, step_no, partition, kind, wake_at) values ($1, 1, 7, $2, now())`,
    [runId, kind],
  );
}

async function makeReady(runId: string, kind: number): Promise<void> {
  await hand.query(
    `insert into ready (run_id, step_no, partition, lane, priority, ordinal, kind, fence, attempt,
       ready_at, alarms, attempt_ms, heartbeat_ms, cancel_ms, wake_at)
     values ($1, 1, 7, 1, 5, 1, $2, 4, 1, now(), 0, 1, 1, 1, now())`,
    [runId, kind],
  );
}

async function makeLease(runId: string, kind: number): Promise<void> {
  await hand.query(
    `insert into lease (run_id, step_no, partition, lane, kind, fence, attempt, secret, session,
       agent_id, poll_seq, granted_at, attempt_by, heartbeat_ms, cancel_ms, progress_at, wake_at)
     values ($1, 1, 7, 1, $2, 4, 2, '\\x00', '\\x00', 'anna', 1, now(), now(), 1, 1, now(), now())`,
    [runId, kind],
  );
}

const stepOf = (runId: string) => hand.query("select * from step_view where run_id = $1", [runId]);

describe("run_view", () => {
  it("spells the lists of the code", async () => {
    expect(await listsOf("run_view")).toEqual([runStates.names, reasons.names]);
  });

  it.for(runStates.names.map((name, state) => ({ name, state })))(
    "shows a run that is $name",
    async ({ name, state }) => {
      const verdict = reasons.code("STEP_FAILED");
      const runId = await makeRun({ state, verdict });
      expect(await hand.query("select * from run_view where run_id = $1", [runId])).toMatchObject([
        { state: name, reason: "STEP_FAILED", namespace: "default", workflow: "w" },
      ]);
    },
  );
});

describe("step_view", () => {
  it("spells the lists of the code", async () => {
    expect(await listsOf("step_view")).toEqual([
      forwards.names.map(forwardWord),
      undos.names.map(undoWord),
      marks.names,
      dueKinds.names,
    ]);
  });

  it.for(forwards.names.map((name, code) => ({ name, code })))(
    "shows a step that is $name",
    async ({ name, code }) => {
      const runId = await makeRun({ state: 0 });
      await makeStep(runId, code);
      const state = name === "OPEN" ? "READY" : forwardWord(name);
      expect(await stepOf(runId)).toMatchObject([{ step: "hotel", no: 1, state, fence: 3 }]);
    },
  );

  it("shows a step in the hands of an agent as LEASED, with the fence of its lease", async () => {
    const runId = await makeRun({ state: 0 });
    await makeStep(runId, forwards.code("OPEN"));
    await makeLease(runId, 0);
    expect(await stepOf(runId)).toMatchObject([{ state: "LEASED", fence: 4, agent_id: "anna" }]);
  });

  it.for([
    ["READY", (runId: string) => makeReady(runId, taskKinds.code("verify"))],
    ["LEASED", (runId: string) => makeLease(runId, taskKinds.code("verify"))],
    ["BACKOFF", (runId: string) => makeDue(runId, dueKinds.code("verify retry"))],
  ] as const)("shows a step whose verify is %s as VERIFYING", async ([how, make]) => {
    const runId = await makeRun({ state: 0 });
    await makeStep(runId, forwards.code(how === "BACKOFF" ? how : "OPEN"));
    await make(runId);
    expect(await stepOf(runId)).toMatchObject([{ state: "VERIFYING" }]);
  });

  it.for(dueKinds.names.map((name, code) => ({ name, code })))(
    "shows that a step waits for $name",
    async ({ name, code }) => {
      const runId = await makeRun({ state: 0 });
      await makeStep(runId, forwards.code("WAITING"));
      await makeDue(runId, code);
      expect(await stepOf(runId)).toMatchObject([{ waits_for: name, agent_id: null }]);
    },
  );

  it("shows the current strategy, whatever came of its input", async () => {
    const runId = await makeRun({ state: 0 });
    await makeStep(runId, 0, 0, 2 * 16 + 8 + marks.code("UNSETTLED"));
    expect(await stepOf(runId)).toMatchObject([{ strategy: 2, effect: "UNSETTLED" }]);
  });

  it.for(undos.names.map((name, code) => ({ name, code })))(
    "shows an undo that is $name beside the step's own state",
    async ({ name, code }) => {
      const runId = await makeRun({ state: runStates.code("COMPENSATING") });
      await makeStep(runId, forwards.code("SUCCEEDED"), code, marks.code("MADE"));
      if (name === "OPEN") await makeLease(runId, 1);
      expect(await stepOf(runId)).toMatchObject([
        { state: "SUCCEEDED", undo: undoWord(name), effect: "MADE" },
      ]);
    },
  );
});

describe("intervention_view", () => {
  it("has the rules of the code in a table, so that one more is a row more", async () => {
    const known = await hand.query<{ rule: number; name: string }>(
      "select rule, name from intervention_rule order by rule",
    );
    expect(known).toEqual(rules.names.map((name, rule) => ({ rule, name })));
    expect(await listsOf("intervention_view")).toEqual([]);
  });

  it.for(rules.names.map((name, code) => ({ name, code })))(
    "shows an intervention by the rule $name, about a step and about the run",
    async ({ name, code }) => {
      const runId = await makeRun({ state: 0 });
      for (const step of [-1, 0])
        await hand.query(
          `insert into intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at,
             acted_at)
           values ($1, $2, 1, $3, 0, 7, 'saw', 'did', now() - interval '2 s', now())`,
          [runId, step, code],
        );
      const shown = await hand.query(
        `select step, rule, saw, did, extract(epoch from took)::int as took_s
         from intervention_view where run_id = $1 order by step nulls first`,
        [runId],
      );
      const same = { rule: name, saw: "saw", did: "did", took_s: 2 };
      expect(shown).toEqual([
        { ...same, step: null },
        { ...same, step: "flight" },
      ]);
    },
  );
});

describe("the lists of the code", () => {
  it("give a task the code of the attempt as which it ends", () => {
    for (const task of taskKinds.names) {
      expect(taskKinds.code(task)).toBe(attemptKinds.code(task));
      expect(taskKinds.name(taskKinds.code(task))).toBe(task);
    }
    expect(() => taskKinds.name(attemptKinds.code("late"))).toThrow("no task has the code");
  });

  it("name nothing twice", () => {
    for (const { names } of [
      runStates,
      reasons,
      forwards,
      undos,
      marks,
      rules,
      escalationReasons,
      attemptKinds,
      dueKinds,
      outcomes,
      answers,
    ])
      expect(new Set(names).size).toBe(names.length);
  });
});
