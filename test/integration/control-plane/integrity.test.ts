/**
 * Rows are broken by hand, in every way that has a name, on a real database. The sweep finds each,
 * puts it right under the run's lock, and says so; a second round finds nothing, and the run comes
 * to its end by its agents. Of a system that nobody has touched it changes nothing.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Definition } from "../../../server/core/definition.ts";
import type { Reported } from "../../../server/core/event.ts";
import type { HandedTask } from "../../../server/dispatch/dispatcher.ts";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  type Agent,
  busy,
  type Hand,
  historyOf,
  newAgent,
  openHand,
  openQuietPlane,
  schedule,
  stateOf,
  success,
} from "./fixture.ts";

let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;
let agent: Agent;
let run: RunRef;
let held: HandedTask[];

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
});
beforeEach(async () => {
  plane = await openQuietPlane(database.connectionString);
  await plane.ownership.start();
  agent = newAgent(plane);
  held = [];
});
afterEach(async () => {
  await plane.close();
  await hand.query(
    `truncate run, run_open, step, ready, lease, due, attempt, escalation, message, slot, intervention`,
  );
});
afterAll(async () => {
  await hand?.close();
  await database?.drop();
});

/** `a` fails once and backs off, `b` waits for both; a wait, a signal and an approval beside. */
const rich: Definition = {
  workflow: "rich",
  steps: [
    { id: "a", needs: [], task: "a", compensate: { task: "undo" } },
    { id: "b", needs: ["a"], task: "b" },
    { id: "wait", kind: "wait", needs: [], forMs: 600_000 },
    { id: "signal", kind: "signal", needs: [], name: "go" },
    { id: "approval", kind: "approval", needs: [], approvers: [], need: 1 },
    { id: "asked", needs: [], task: "asked", onFailure: "escalate", retry: [] },
  ],
};
const STEPS = ["a", "b", "wait", "signal", "approval", "asked"];

const no = (step: string): number => STEPS.indexOf(step);
const change = (sql: string, ...more: readonly unknown[]) => hand.query(sql, [run.runId, ...more]);

/** What the sweep has said of the run. */
async function told(): Promise<readonly string[]> {
  const rows = await hand.query<{ saw: string }>(
    "select saw from intervention where run_id = $1 and rule = 19 order by step_no",
    [run.runId],
  );
  return rows.map(({ saw }) => saw);
}

/** One round that finds one run, and one that finds none. */
async function swept(): Promise<readonly string[]> {
  expect(await plane.sweep.roundOnce()).toBe(1);
  const saw = await told();
  const again = await plane.sweep.roundOnce();
  expect({ again, saw: await told() }).toEqual({ again: 0, saw });
  return saw;
}

const broken: Reported = {
  ...{ kind: "failure", class: "permanent", code: "broken", message: "it is" },
  ...{ retryAfterMs: null, noEffect: true },
};

/** Each rich step stands in a state of its own. */
async function begin(): Promise<void> {
  run = await schedule(plane, rich);
  await agent.report(await agent.take("asked"), broken);
}

async function finish(): Promise<void> {
  for (const task of held) await agent.report(task, success);
  const deadline = AbortSignal.timeout(20_000);
  while ((await stateOf(plane, run)) !== "COMPLETED") {
    deadline.throwIfAborted();
    await hand.query(
      "update due set wake_at = now() - interval '1 s' where kind <> 10 and kind <> 11",
    );
    await hand.query(
      "update step set first_ready_at = first_ready_at - interval '1 hour' where no = 2",
    );
    await plane.watches.lookOnce();
    for (const task of ["a", "b", "asked"])
      for (const one of await agent.poll(task, { waitMs: 0 })) await agent.report(one, success);
    const { escalations } = await historyOf(plane, run);
    for (const { n, closedAt } of escalations)
      if (closedAt === null)
        await plane.advance.submit(run, {
          ...{ kind: "answer", n, answer: "skip", by: "ann", why: "", payload: null },
        });
    await plane.advance.submit(run, { kind: "signal", id: "1", name: "go", payload: null });
    await plane.advance.submit(run, {
      ...{ kind: "decide", step: no("approval"), approver: "ann", roles: [], approved: true },
      ...{ comment: "", form: null, requester: null },
    });
  }
}

interface Break {
  readonly what: string;
  /** What happens before; left out: nothing. */
  readonly first?: () => Promise<unknown>;
  readonly hand: () => Promise<unknown>;
  readonly saw: RegExp;
}

/** The agent has it, and says nothing yet. */
const hold = async () => held.push(await agent.take("a"));
const failOnce = async () => agent.report(await agent.take("a"), busy);

const BREAKS: readonly Break[] = [
  {
    what: "a ready row is deleted",
    hand: () => change("delete from ready where run_id = $1 and step_no = 0"),
    saw: /OPEN forward, and no row says how/,
  },
  {
    what: "a lease is deleted",
    first: hold,
    hand: () => change("delete from lease where run_id = $1"),
    saw: /OPEN forward, and no row says how/,
  },
  {
    what: "the due row of a backoff is deleted",
    first: failOnce,
    hand: () => change("delete from due where run_id = $1 and step_no = 0"),
    saw: /BACKOFF forward, and no row says how/,
  },
  ...["wait", "signal", "approval"].map((step) => ({
    what: `the due row of a ${step} is deleted`,
    hand: () => change("delete from due where run_id = $1 and step_no = $2", no(step)),
    saw: /WAITING forward, and no row says how/,
  })),
  {
    what: "the row of a step that is ready is missing",
    hand: () => change("delete from step where run_id = $1 and no = 0"),
    saw: /its row is missing/,
  },
  {
    what: "the row of a step that is leased is missing",
    first: hold,
    hand: () => change("delete from step where run_id = $1 and no = 0"),
    saw: /its row is missing/,
  },
  {
    what: "the row of a step that succeeded is missing",
    first: async () => agent.report(await agent.take("a"), success),
    hand: () => change("delete from step where run_id = $1 and no = 0"),
    saw: /its row is missing/,
  },
  {
    what: "the row of a step is missing, with what stands beside it",
    hand: async () => {
      await change("delete from step where run_id = $1 and no = 0");
      await change("delete from ready where run_id = $1 and step_no = 0");
    },
    saw: /its row is missing/,
  },
  ...["steps_left", "moving", "asking", "undone", "undos_left", "finally_left"].map((counter) => ({
    what: `the run counts its ${counter} wrong`,
    hand: () => change(`update run_open set ${counter} = ${counter} + 3 where run_id = $1`),
    saw: /is \d+, the steps say \d+/,
  })),
  {
    what: "a step counts its needs wrong",
    first: async () => agent.report(await agent.take("a"), success),
    hand: async () => {
      await change("update step set forward = 0, waiting_for = 2 where run_id = $1 and no = 1");
      await change("delete from ready where run_id = $1 and step_no = 1");
      await change("update run_open set moving = moving - 1 where run_id = $1");
    },
    saw: /waits for 2 needs, 0 are left|counts 2 of its needs/,
  },
  {
    what: "nobody looks at the run any more",
    hand: () => change("update run_open set wake_at = null where run_id = $1"),
    saw: /looks at it never/,
  },
  {
    what: "somebody looks at the run in a hundred years",
    hand: () =>
      change(
        `update run_open set wake_at = now() + interval '100 years',
           deadline = now() + interval '100 years' where run_id = $1`,
      ),
    saw: /its deadline is further away/,
  },
  {
    what: "the run has no deadline",
    hand: () => change("update run_open set wake_at = null, deadline = null where run_id = $1"),
    saw: /it has no deadline/,
  },
  {
    what: "somebody looks at a lease in a hundred years",
    first: hold,
    hand: () => change("update lease set wake_at = now() + interval '100 years' where run_id = $1"),
    saw: /nobody looks at its lease in time/,
  },
  {
    what: "somebody looks at a ready row in a hundred years",
    hand: () =>
      change(
        "update ready set wake_at = now() + interval '100 years' where run_id = $1 and step_no = 0",
      ),
    saw: /whether it was taken/,
  },
  {
    what: "a backoff lasts a hundred years",
    first: failOnce,
    hand: () =>
      change(
        "update due set wake_at = now() + interval '100 years' where run_id = $1 and step_no = 0",
      ),
    saw: /nobody looks at its BACKOFF in time/,
  },
  {
    what: "a ready row is for another fence",
    hand: () => change("update ready set fence = 7 where run_id = $1 and step_no = 0"),
    saw: /its ready row is for fence 7/,
  },
  {
    what: "a step that succeeded has a ready row",
    first: async () => agent.report(await agent.take("a"), success),
    hand: () => change("update ready set step_no = 0 where run_id = $1 and step_no = 1"),
    saw: /a ready row beside SUCCEEDED/,
  },
  {
    what: "a lease and a ready row stand beside one step",
    first: hold,
    hand: () =>
      change(
        `insert into ready (run_id, step_no, partition, lane, priority, ordinal, kind, fence, attempt,
           ready_at, alarms, attempt_ms, heartbeat_ms, cancel_ms, wake_at)
         select run_id, step_no, partition, lane, 5, 0, kind, fence, attempt, now(), 0, 60000, 30000,
           10000, now() + interval '1 min' from lease where run_id = $1`,
      ),
    saw: /a ready row beside OPEN/,
  },
  {
    what: "the lane of a ready row is missing",
    hand: () =>
      change(
        "delete from lane where id in (select lane from ready where run_id = $1 and step_no = 0)",
      ),
    saw: /a ready row without its lane/,
  },
  {
    what: "a question is closed, and its step still asks",
    hand: () => change("update escalation set closed_at = now(), wake_at = null where run_id = $1"),
    saw: /nobody is asked/,
  },
  {
    what: "a question is open, and its step asks none",
    hand: () => change("update escalation set step_no = 2 where run_id = $1"),
    saw: /is open, and it asks none/,
  },
];

describe("a run whose rows are broken", () => {
  it.for(BREAKS)("goes on when $what", async ({ first, hand: breakIt, saw }) => {
    await begin();
    await first?.();
    expect(await plane.sweep.roundOnce()).toBe(0);
    await breakIt();
    expect((await swept()).join("\n")).toMatch(saw);
    await finish();
  });
});

/** What is left of runs that are not open. */
const RESTS: readonly (Omit<Break, "first"> & { readonly left: string })[] = [
  {
    what: "it is still among the open runs",
    hand: () =>
      change(
        `insert into run_open (partition, run_id, namespace_id, definition_id, priority, state, version,
           steps_left, finally_left, moving, asking, undos_left, undone, warnings, escalations, pivoted)
         select partition, id, namespace_id, definition_id, priority, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, false
         from run where id = $1`,
      ),
    saw: /still among the open runs/,
    left: "run_open",
  },
  {
    what: "it has a ready row",
    hand: () =>
      change(
        `insert into ready (run_id, step_no, partition, lane, priority, ordinal, kind, fence, attempt,
           ready_at, alarms, attempt_ms, heartbeat_ms, cancel_ms, wake_at)
         select id, 0, partition, 1, 5, 0, 0, 9, 9, now(), 0, 60000, 30000, 10000, now()
         from run where id = $1`,
      ),
    saw: /there is a ready row/,
    left: "ready",
  },
  {
    what: "it has a due row",
    hand: () =>
      change(
        `insert into due (run_id, step_no, partition, kind, wake_at)
         select id, 0, partition, 9, now() from run where id = $1`,
      ),
    saw: /there is a due row/,
    left: "due",
  },
  {
    what: "it holds a slot",
    hand: () =>
      change(
        `insert into slot (run_id, namespace_id, key, max_holders, priority, since, holds, leaving)
         select id, namespace_id, 'desk', 1, 5, now(), true, false from run where id = $1`,
      ),
    saw: /it has a slot of the key "desk"/,
    left: "slot",
  },
];

describe("a run that has ended", () => {
  it.for(RESTS)("keeps nothing when $what", async ({ hand: breakIt, saw, left }) => {
    run = await schedule(plane, { workflow: "short", steps: [{ id: "a", needs: [], task: "a" }] });
    await agent.report(await agent.take("a"), success);
    expect(await plane.sweep.roundOnce()).toBe(0);
    await breakIt();
    expect((await swept()).join("\n")).toMatch(saw);
    expect(await change(`select from ${left} where run_id = $1`)).toEqual([]);
    expect(await stateOf(plane, run)).toBe("COMPLETED");
  });

  it("takes by itself what is still on its way to it, and nothing is reported", async () => {
    run = await schedule(plane, { workflow: "short", steps: [{ id: "a", needs: [], task: "a" }] });
    await agent.report(await agent.take("a"), success);
    await change(
      `insert into message (run_id, partition, source, kind, wake_at)
       select id, partition, id, 3, now() from run where id = $1`,
    );
    expect(await plane.sweep.roundOnce()).toBe(0);
    await plane.watches.lookOnce();
    expect(await change("select from message where run_id = $1")).toEqual([]);
    expect(await told()).toEqual([]);
  });

  it("gives its slot to the run that waits for it", async () => {
    const concurrency = { key: "desk", limit: 1, policy: "queue" } as const;
    const short: Definition = { workflow: "short", steps: [{ id: "a", needs: [], task: "a" }] };
    run = await schedule(plane, short, { concurrency });
    const next = await schedule(plane, short, { concurrency });
    await agent.report(await agent.take("a"), success);
    await hand.query("update slot set holds = false where run_id = $1", [next.runId]);
    await hand.query("delete from message");
    await change(
      `insert into slot (run_id, namespace_id, key, max_holders, priority, since, holds, leaving)
       select id, namespace_id, 'desk', 1, 5, now() - interval '1 h', true, false
       from run where id = $1`,
    );
    await hand.query(`update run_open set state = 10, deadline = wake_at where run_id = $1`, [
      next.runId,
    ]);
    await plane.sweep.roundOnce();
    const slots = await hand.query("select run_id, holds from slot");
    expect(slots).toEqual([{ run_id: next.runId, holds: true }]);
  });
});

describe("rows of a run that was never there", () => {
  it("are removed: the open row, and what nobody can ever wake", async () => {
    await begin();
    await change(
      `insert into message (run_id, partition, source, kind, wake_at)
       select id, partition, id, 3, now() from run where id = $1`,
    );
    await change("delete from run where id = $1");
    expect(await plane.sweep.roundOnce()).toBe(1);
    expect((await told()).join()).toMatch(/there is no such run.*1 messages wait for it/);
    for (const table of ["run_open", "ready", "lease", "due", "message"])
      expect(await change(`select from ${table} where run_id = $1`), table).toEqual([]);
    expect(await plane.sweep.roundOnce()).toBe(0);
  });
});

describe("a map whose rows are broken", () => {
  const mapped: Definition = {
    workflow: "mapped",
    steps: [
      {
        ...{ id: "all", kind: "map", needs: [], task: "item" },
        ...{ over: "4", concurrency: 2 },
      },
    ],
  };
  const items = async (count: number) => {
    for (let item = 0; item < count; item++) await agent.report(await agent.take("item"), success);
  };

  it.for([
    {
      what: "it counts its items wrong",
      sql: `update step set items = items || '{"open": 7, "succeeded": 0}' where run_id = $1 and no = 0`,
      saw: /open is 7, its items say 2/,
    },
    {
      what: "an item that is open has no row",
      sql: "delete from step where run_id = $1 and no = 512 * 2",
      saw: /its row is missing/,
    },
    {
      what: "an item that succeeded has no row",
      sql: "delete from step where run_id = $1 and no = 512",
      saw: /its row is missing/,
    },
  ])("goes on when $what", async ({ sql, saw }) => {
    run = await schedule(plane, mapped);
    await items(1);
    expect(await plane.sweep.roundOnce()).toBe(0);
    await change(sql);
    expect((await swept()).join("\n")).toMatch(saw);
    await items(3);
    await plane.watches.lookOnce();
    expect(await stateOf(plane, run)).toBe("COMPLETED");
  });
});

describe("the age of the round", () => {
  it("begins anew with each whole round", async () => {
    const before = plane.sweep.roundAgeMs();
    await plane.sweep.roundOnce();
    expect(plane.sweep.roundAgeMs()).toBeLessThan(before);
  });
});
