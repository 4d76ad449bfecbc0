/**
 * Rows are broken by hand, in every way that has a name, on a real database. The sweep finds each,
 * puts it right under the run's lock, and says so; a second round finds nothing, and the run comes
 * to its end by its agents. Of a system that nobody has touched it changes nothing.
 */
import { describe, expect, it } from "vitest";
import type { Definition } from "../../../server/core/definition.ts";
import type { Reported } from "../../../server/core/event.ts";
import type { HandedTask } from "../../../server/dispatch/dispatcher.ts";
import { busy, historyOf, stateOf, success } from "./fixture.ts";
import { sweptWorld } from "./integrity-fixture.ts";

const world = sweptWorld();
const { change, swept } = world;

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
/** With the agent, which says nothing yet. */
let held: HandedTask[] = [];

const broken: Reported = {
  ...{ kind: "failure", class: "permanent", code: "broken", message: "it is" },
  ...{ retryAfterMs: null, noEffect: true },
};

/** Each rich step stands in a state of its own. */
async function begin(): Promise<void> {
  held = [];
  await world.begin(rich);
  await world.agent.report(await world.agent.take("asked"), broken);
}

async function finish(): Promise<void> {
  const { plane, run, agent, hand } = world;
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

const hold = async () => held.push(await world.agent.take("a"));
const failOnce = async () => world.agent.report(await world.agent.take("a"), busy);
const holdAgain = async () => {
  await failOnce();
  await change("update due set wake_at = now() where run_id = $1 and step_no = 0");
  await world.plane.watches.lookOnce();
  await hold();
};
const succeed = async () => world.agent.report(await world.agent.take("a"), success);

/** A row of this table for a step of the run, beside what stands there. */
const beside = (table: string, step: number) => change(BESIDE[table] ?? "", step);
const BESIDE: Readonly<Record<string, string>> = {
  ready: `insert into ready (run_id, step_no, partition, lane, priority, ordinal, kind, fence, attempt,
      ready_at, alarms, attempt_ms, heartbeat_ms, cancel_ms, wake_at)
    select id, $2, partition, 1, 5, 0, 0, 1, 1, now(), 0, 60000, 30000, 10000, now()
    from run where id = $1`,
  lease: `insert into lease (run_id, step_no, partition, lane, kind, fence, attempt, secret, session,
      agent_id, poll_seq, granted_at, attempt_by, heartbeat_ms, cancel_ms, progress_at, wake_at)
    select id, $2, partition, 1, 0, 1, 1, decode(repeat('ab', 16), 'hex'), decode(repeat('cd', 16), 'hex'),
      'ghost', 1, now(), now() + interval '1 min', 30000, 10000, now(), now() + interval '30 s'
    from run where id = $1`,
  due: `insert into due (run_id, step_no, partition, kind, wake_at)
    select id, $2, partition, 9, now() from run where id = $1`,
};

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
    first: succeed,
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
    first: succeed,
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
    first: succeed,
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
  ...["ready", "lease", "due"].map((table) => ({
    what: `there is a ${table} row of a step that its plan does not have`,
    hand: () => beside(table, 77),
    saw: /there are rows of a step 77, which is not in its plan/,
  })),
  {
    what: "there is a step that its plan does not have",
    hand: () =>
      change(
        `insert into step select (jsonb_populate_record(x, '{"no": 77}')).* from step as x
         where x.run_id = $1 and x.no = 0`,
      ),
    saw: /there are rows of a step 77, which is not in its plan/,
  },
  ...["lease", "due"].map((table) => ({
    what: `a step that succeeded has a ${table} row`,
    first: succeed,
    hand: () => beside(table, no("a")),
    saw: new RegExp(`a ${table} row beside SUCCEEDED`),
  })),
  {
    what: "a lease is of an attempt that its step has not come to",
    first: hold,
    hand: () => change("update lease set attempt = attempt + 2 where run_id = $1"),
    saw: /its lease is of fence 1, attempt 3, and it counts 1, 1/,
  },
  {
    what: "a lease is of a fence that its step has not come to",
    first: holdAgain,
    hand: () => change("update step set fence = 0, attempt = 0 where run_id = $1 and no = 0"),
    saw: /its lease is of fence 2, attempt 2, and it counts 1, 1/,
  },
  {
    what: "a lease is of a fence that its step has used",
    first: holdAgain,
    hand: () => change("update lease set fence = 1 where run_id = $1"),
    saw: /its lease is of fence 1, attempt 2, and it counts 2, 2/,
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
    expect(await world.plane.sweep.roundOnce()).toBe(0);
    await breakIt();
    expect((await swept()).join("\n")).toMatch(saw);
    await finish();
  });
});

it("that is suspect is so still when its lease is put right", async () => {
  await begin();
  await hold();
  await change("update lease set suspect_at = now() where run_id = $1");
  const suspect = () =>
    world.hand.query<{ at: string }>("select suspect_at::text as at from lease where run_id = $1", [
      world.run.runId,
    ]);
  const before = await suspect();
  expect(before).toHaveLength(1);
  await change("update lease set wake_at = now() + interval '100 years' where run_id = $1");
  expect((await swept()).join("\n")).toMatch(/nobody looks at its lease in time/);
  // To the millisecond, as the engine counts.
  expect((await suspect()).map(({ at }) => Date.parse(at))).toEqual(
    before.map(({ at }) => Date.parse(at)),
  );
  await finish();
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
    const { agent } = world;
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
    await world.begin(mapped);
    await items(1);
    expect(await world.plane.sweep.roundOnce()).toBe(0);
    await change(sql);
    expect((await swept()).join("\n")).toMatch(saw);
    await items(3);
    await world.plane.watches.lookOnce();
    expect(await stateOf(world.plane, world.run)).toBe("COMPLETED");
  });
});

describe("the age of the round", () => {
  it("begins anew with each whole round", async () => {
    const { sweep } = world.plane;
    const askedAtMs = performance.now();
    expect(sweep.roundAgeMs()).toBeGreaterThan(0);
    await sweep.roundOnce();
    expect(sweep.roundAgeMs()).toBeLessThanOrEqual(performance.now() - askedAtMs);
  });
});
