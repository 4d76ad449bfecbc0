/**
 * The open row of a run is deleted by hand. Nobody can lock the run, tell it anything or see it
 * due any more; the sweep finds it, also where it has left no row beside, makes the row again from
 * what the steps say, and the run comes to its end.
 */
import { describe, expect, it } from "vitest";
import type { Definition } from "../../../server/core/definition.ts";
import type { Reported } from "../../../server/core/event.ts";
import type { HandedTask } from "../../../server/dispatch/dispatcher.ts";
import type { RunRef } from "../../../server/store/store.ts";
import { schedule, stateOf, success } from "./fixture.ts";
import { SHORT, sweptWorld } from "./integrity-fixture.ts";

const world = sweptWorld();
const { change, swept } = world;

const LOST = /it has not ended, and is not among the open runs/;
const broken: Reported = {
  ...{ kind: "failure", class: "permanent", code: "broken", message: "it is" },
  ...{ retryAfterMs: null, noEffect: true },
};

const lose = () => change("delete from run_open where run_id = $1");
const take = (task: string) => world.agent.take(task);
const report = async (task: string, outcome: Reported) =>
  world.agent.report(await take(task), outcome);
const submit = (event: Parameters<typeof world.plane.advance.submit>[1]) =>
  world.plane.advance.submit(world.run, event);
const state = () => stateOf(world.plane, world.run);
/** Everything that is to come comes now; what the run is then. */
const lookAgain = async () => {
  await world.hand.query("update due set wake_at = now()");
  await world.hand.query("update run_open set wake_at = now() where state in (1, 10)");
  await world.plane.watches.lookOnce();
  return state();
};

const PAIR: Definition = {
  workflow: "pair",
  steps: [
    { id: "a", needs: [], task: "a", compensate: { task: "undo" } },
    { id: "b", needs: ["a"], task: "b" },
  ],
};
const TIDY: Definition = {
  workflow: "tidy",
  steps: [...PAIR.steps, { id: "last", needs: [], task: "last", always: true }],
};
const UNSURE: Definition = {
  workflow: "unsure",
  steps: [{ id: "a", needs: [], task: "a", onFailure: "escalate", retry: [] }],
};

interface Case {
  readonly is: string;
  /** Brings the run there. */
  readonly first: () => Promise<unknown>;
  /** What it is once it is put right; left out: what it was. */
  readonly then?: string;
  /** What brings it to its end. */
  readonly next: () => Promise<unknown>;
  readonly end: string;
}

let held: HandedTask;
const key = { key: "desk", limit: 1, policy: "queue" } as const;
let holder: RunRef;

const CASES: readonly Case[] = [
  {
    is: "RUNNING",
    first: () => world.begin(SHORT),
    next: () => report("a", success),
    end: "COMPLETED",
  },
  {
    is: "RUNNING, and an agent has its step",
    first: async () => {
      await world.begin(SHORT);
      held = await take("a");
    },
    next: () => world.agent.report(held, success),
    end: "COMPLETED",
  },
  {
    is: "PENDING until its start, which comes now",
    first: () => world.begin(SHORT, { startAt: Date.now() + 86_400_000 }),
    next: async () => {
      await world.plane.watches.lookOnce();
      await report("a", success);
    },
    end: "COMPLETED",
  },
  {
    is: "PENDING, and waits for a slot",
    first: async () => {
      holder = await schedule(world.plane, SHORT, { concurrency: key });
      held = await take("a");
      await world.begin(SHORT, { concurrency: key });
    },
    next: async () => {
      await world.agent.report(held, success);
      await expect.poll(() => stateOf(world.plane, holder)).toBe("COMPLETED");
      await report("a", success);
    },
    end: "COMPLETED",
  },
  {
    is: "PAUSED, without a row beside its step",
    first: async () => {
      await world.begin(SHORT);
      await submit({ kind: "pause", note: "" });
      expect(await change("select from ready where run_id = $1")).toEqual([]);
    },
    next: async () => {
      await submit({ kind: "resume", note: "" });
      await report("a", success);
    },
    end: "COMPLETED",
  },
  {
    is: "STOPPING",
    first: async () => {
      await world.begin(PAIR);
      held = await take("a");
      await submit({ kind: "cancel", undo: true, note: "" });
    },
    next: async () => {
      await world.agent.report(held, success);
      await report("undo", success);
    },
    end: "COMPENSATED",
  },
  {
    is: "COMPENSATING",
    first: async () => {
      await world.begin(PAIR);
      await report("a", success);
      await report("b", broken);
    },
    next: () => report("undo", success),
    end: "COMPENSATED",
  },
  {
    is: "FINISHING, after its steps",
    first: async () => {
      await world.begin(TIDY);
      await report("a", success);
      await report("b", success);
    },
    next: () => report("last", success),
    end: "COMPLETED",
  },
  {
    is: "FINISHING, after it was undone",
    first: async () => {
      await world.begin(TIDY);
      await report("a", success);
      await report("b", broken);
      await report("undo", success);
    },
    next: () => report("last", success),
    end: "COMPENSATED",
  },
  {
    is: "ESCALATED",
    first: async () => {
      await world.begin(UNSURE);
      await report("a", broken);
    },
    next: () => submit({ kind: "answer", n: 1, answer: "skip", by: "ann", why: "", payload: null }),
    end: "COMPLETED",
  },
];

describe("a run without its open row", () => {
  it.for(CASES)("goes on when it was $is", async ({ is, first, next, end }) => {
    await first();
    expect(await world.plane.sweep.roundOnce()).toBe(0);
    await lose();
    expect((await swept()).join("\n")).toMatch(LOST);
    expect(await state()).toBe(/^[A-Z]+/.exec(is)?.[0]);
    await next();
    await expect.poll(lookAgain).toBe(end);
  });

  it("waits with its question, and the next one has the next number", async () => {
    await world.begin(UNSURE);
    await report("a", broken);
    await lose();
    await swept();
    await submit({ kind: "answer", n: 1, answer: "retry", by: "ann", why: "", payload: null });
    await report("a", broken);
    const asked = await change(
      "select n, closed_at is null as open from escalation where run_id = $1 order by n",
    );
    expect(asked).toEqual([
      { n: 1, open: false },
      { n: 2, open: true },
    ]);
  });

  it("has a greater version than it ever had, so that who watches it goes on watching", async () => {
    await world.begin(PAIR);
    await report("a", success);
    const version = async () => {
      const [row] = await change("select version from run_open where run_id = $1");
      return Number(row?.version);
    };
    const before = await version();
    await lose();
    await swept();
    expect(await version()).toBeGreaterThan(before);
  });
});

describe("a run whose state has lost what it needs", () => {
  /** What its columns say no more is taken to be what undoes, or waits. */
  const LOSES = CASES.filter(({ is }) => !is.startsWith("RUNNING"));
  const lose = () =>
    change(
      `update run_open set since = null, left_ms = null, verdict = null, verdict_undoes = null,
         ends_as = null, stage = null, deadline = null, wake_at = null where run_id = $1`,
    );

  it.for(LOSES)("goes on when it was $is", async ({ is, first, next, end }) => {
    await first();
    expect(await world.plane.sweep.roundOnce()).toBe(0);
    await lose();
    const kind = /^[A-Z]+/.exec(is)?.[0];
    expect((await swept()).join("\n")).toContain(`${kind} without what that state needs`);
    expect(await state()).toBe(kind);
    await next();
    await expect.poll(lookAgain).toBe(end);
  });
});

describe("a child run without its open row", () => {
  const parent: Definition = {
    workflow: "parent",
    steps: [{ id: "child", kind: "run", needs: [], workflow: "child" }],
  };

  it("tells its parent when it has ended", async () => {
    const { plane, hand } = world;
    const child = { ...SHORT, workflow: "child" };
    await plane.scheduler.registerWorkflow(plane.namespace, child, false);
    await world.begin(parent);
    held = await take("a");
    await hand.query("delete from run_open using run where run.id = run_id and parent_id = $1", [
      world.run.runId,
    ]);
    expect(await plane.sweep.roundOnce()).toBe(1);
    expect(await plane.sweep.roundOnce()).toBe(0);
    await world.agent.report(held, success);
    await expect.poll(lookAgain).toBe("COMPLETED");
  });
});
