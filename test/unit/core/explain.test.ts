/**
 * Why is it not moving? For each state that is not final: what it waits for, since when, what was
 * tried, what happens next and when, and what a person can do. Fields alone: words are made of
 * them.
 */
import { describe, expect, test } from "vitest";
import type { DeadlineAnswer } from "../../../server/core/definition/definition.ts";
import { explain } from "../../../server/core/explain/explain.ts";
import { runSentence, stepSentence } from "../../../server/core/explain/explain-words.ts";
import type {
  Explanation,
  LaneCircuit,
  LanePause,
  Liveness,
} from "../../../server/core/explain/explanation.ts";
import { FORWARD_EDGES, RUN_EDGES, UNDO_EDGES } from "../../../server/core/model/state-table.ts";
import { broken, deferred, failure, success, unknown } from "../../support/core-outcomes.ts";
import {
  createWorld,
  lose,
  START,
  succeed,
  undoneBy,
  type World,
  workflow,
} from "../../support/core-world.ts";
import { EXPLAINED } from "../../support/explained-states.ts";
import { NO_SIGNS, nextTimeOf, seenOf } from "../../support/seen-run.ts";

function explained(world: World, liveness: Liveness = NO_SIGNS): Explanation {
  return explain(world.plan, seenOf(world, liveness));
}

function waitOf(world: World, id: string, liveness: Liveness = NO_SIGNS) {
  const wait = explained(world, liveness).steps.find(({ step }) => step === world.step(id).no);
  if (!wait) throw new Error(`"${id}" is not explained`);
  return wait;
}

describe("every state that is not final is explained", () => {
  test.each(EXPLAINED)("$pair of $step: $waitsFor.kind, then $next", (row) => {
    const world = row.make();
    world.advance(100);
    const step = world.step(row.step);
    expect([world.run().state.kind, step[row.side].kind]).toEqual([row.run, row.state]);
    const wait = waitOf(world, row.step);
    expect(wait).toMatchObject({ side: row.side, waitsFor: row.waitsFor });
    const at = nextTimeOf(step[row.side]);
    expect(wait.next).toEqual(at === null ? null : { what: row.next, at });
    expect(wait.actions.map(({ kind }) => kind)).toEqual(row.actions);
    expect(wait.since).toBeGreaterThanOrEqual(START);
    expect(wait.since).toBeLessThan(world.now());
  });

  test("a callback is waited for since its agent deferred, also where total ends the wait", () => {
    for (const totalMs of [50_000, 500_000]) {
      const world = createWorld(workflow({ a: { timeouts: { callbackMs: 60_000, totalMs } } }));
      world.advance(5_000);
      world.report(world.claim("a"), deferred);
      world.advance(1_000);
      expect(waitOf(world, "a").since).toBe(START + 5_000);
    }
  });

  test("and no state of the table is left out", () => {
    const final = ["COMPLETED", "FAILED", "COMPENSATED", "CANCELLED", "SUCCEEDED", "SKIPPED"];
    const ends = (edges: readonly { from: string; to: string }[]) =>
      new Set(edges.flatMap(({ from, to }) => [from, to]));
    const all = (side: string) =>
      new Set(EXPLAINED.filter((row) => row.side === side).map((row) => row.state as string));
    expect(new Set(EXPLAINED.map(({ run }) => run as string))).toEqual(
      // A PENDING run has no steps to explain.
      ends(RUN_EDGES).difference(new Set([...final, "PENDING"])),
    );
    // What an UNDOING step waits for is explained on its undo side.
    const forward = new Set([...final, "UNDOING"]);
    expect(all("forward")).toEqual(ends(FORWARD_EDGES).difference(forward));
    expect(all("undo")).toEqual(ends(UNDO_EDGES).difference(new Set(["NONE", "DONE"])));
  });
});

describe("a run that has not started", () => {
  test("waits for its start, and can be cancelled", () => {
    const world = createWorld(workflow({ a: {} }), undefined, { startAt: START + 60_000 });
    expect(explained(world).run).toMatchObject({
      waitsFor: { kind: "start" },
      since: START,
      next: { what: "start", at: START + 60_000 },
      actions: [{ kind: "cancel" }],
    });
    expect(explained(world).steps).toEqual([]);
  });

  test("waits for a permit of its key since it asked for one, and gives up in the end", () => {
    const late = { startAt: START + 60_000, keyed: true };
    for (const [begins, since] of [
      [{ keyed: true, waits: true }, START],
      [late, START + 61_000],
    ] as const) {
      const world = createWorld(workflow({ a: {} }, { timeoutMs: 300_000 }), undefined, begins);
      world.advance(61_000);
      if (begins === late) world.fireRun();
      world.advance(5_000);
      expect(explained(world).run).toMatchObject({
        waitsFor: { kind: "permit" },
        since,
        next: { what: "give-up", at: since + 300_000 },
        actions: [{ kind: "cancel" }],
      });
    }
  });
});

describe("a task in a queue that is paused", () => {
  const paused = (scope: LanePause["scope"]): Liveness => {
    const pause = { scope, since: START + 5_000, reason: "the bank is down" };
    return { ...NO_SIGNS, pauses: new Map([[0, pause]]) };
  };

  test("waits until an operator resumes its queue, and no person is asked meanwhile", () => {
    const world = createWorld(workflow({ a: { queue: "bank", onPickup: "escalate" } }));
    world.advance(60_000);
    const wait = waitOf(world, "a", paused("queue"));
    expect(wait).toMatchObject({
      waitsFor: { kind: "queue-to-resume", queue: "bank", pause: { scope: "queue" } },
      since: START + 5_000,
      next: { what: "check-again" },
      actions: [{ kind: "resume-queue", queue: "bank" }],
    });
    expect(stepSentence(world.plan, wait, world.now())).toContain(
      '"a" is held, as queue "bank" is paused (the bank is down)',
    );
  });

  test.for(["namespace", "workflow"] as const)("or the %s, if that is paused", (of) => {
    const world = createWorld(workflow({ a: { queue: "bank" } }));
    world.advance(60_000);
    expect(waitOf(world, "a", paused(of))).toMatchObject({
      waitsFor: { pause: { scope: of } },
      actions: [{ kind: `resume-${of}` }],
    });
  });

  test("and that is what the run waits for", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    world.advance(60_000);
    const { waitsOn } = explained(world, {
      ...NO_SIGNS,
      polls: new Map([[1, world.now()]]),
      pauses: new Map([[0, { scope: "queue", since: START, reason: "" }]]),
    });
    expect(waitsOn).toEqual([0, 1]);
  });
});

describe("a task for which all that ask are cordoned", () => {
  test("waits for an agent, and a person may uncordon one", () => {
    const world = createWorld(workflow({ a: { queue: "bank" } }));
    world.advance(20_000);
    const polls = new Map([[0, world.now() - 1_000]]);
    const wait = waitOf(world, "a", { ...NO_SIGNS, polls, cordoned: new Map([[0, 3]]) });
    expect(wait).toMatchObject({
      waitsFor: { kind: "agent-to-poll", polled: true, cordoned: 3 },
      next: { what: "check-again" },
      actions: [
        { kind: "start-agent", queue: "bank", taskName: "a" },
        { kind: "uncordon-agent", queue: "bank", taskName: "a" },
      ],
    });
    expect(stepSentence(world.plan, wait, world.now())).toMatch(
      /"a" waits for an agent: every agent that polls queue "bank" for task "a" is cordoned \(3 of 3\);/,
    );
  });
});

describe("a task behind an open circuit", () => {
  const open = (over: Partial<LaneCircuit>): Liveness => {
    const seen = { since: START + 5_000, until: START + 90_000, saw: "20 of 20 tasks failed" };
    const circuit = { ...seen, isHalfOpen: false, override: null, ...over };
    return { ...NO_SIGNS, circuits: new Map([[0, circuit]]) };
  };
  const waiting = (liveness: Liveness) => {
    const world = createWorld(workflow({ a: { queue: "bank", onPickup: "escalate" } }));
    world.advance(60_000);
    const wait = waitOf(world, "a", liveness);
    return { wait, sentence: stepSentence(world.plan, wait, world.now()) };
  };

  test("waits for the one task that tries, and a person may let it through", () => {
    const { wait, sentence } = waiting(open({}));
    expect(wait).toMatchObject({
      waitsFor: { kind: "circuit-to-close", queue: "bank", taskName: "a" },
      since: START + 5_000,
      next: { what: "try-one", at: START + 90_000 },
      actions: [{ kind: "set-circuit", queue: "bank", taskName: "a" }],
    });
    expect(sentence).toBe(
      'For 55 s "a" is held, as the circuit of task "a" in queue "bank" is open: 20 of 20 tasks failed; in 30 s one task may try it.',
    );
  });

  test("or for how that goes, once it is out", () => {
    const { wait, sentence } = waiting(open({ until: null, isHalfOpen: true }));
    expect(wait.next).toMatchObject({ what: "check-again" });
    expect(sentence).toContain("20 of 20 tasks failed; one task probes the service");
  });

  test("or for the person who has opened it by hand", () => {
    const override = { by: "ada", why: "the bank moves" };
    const { sentence } = waiting(open({ until: null, override }));
    expect(sentence).toContain("is open: ada opened it (the bank moves)");
  });
});

describe("a task in its queue", () => {
  const polledAt = (at: number | null): Liveness => ({ ...NO_SIGNS, polls: new Map([[0, at]]) });

  test("waits for a free agent if an agent polled its lane in the last minute", () => {
    const world = createWorld(workflow({ a: { onPickup: "escalate" } }));
    world.advance(60_000);
    const wait = waitOf(world, "a", polledAt(START + 1));
    expect(wait).toMatchObject({
      waitsFor: { polled: true, lastPolledAt: START + 1 },
      next: { what: "check-again" },
    });
  });

  test("waits for an agent to be started if the last poll was a minute ago, or never", () => {
    const world = createWorld(workflow({ a: { onPickup: "escalate" } }));
    world.advance(60_000);
    for (const at of [START, null])
      expect(waitOf(world, "a", polledAt(at))).toMatchObject({
        waitsFor: { polled: false, lastPolledAt: at },
        next: { what: "escalate" },
      });
  });

  test("names the version of agents that alone gets it, polled or not", () => {
    const world = createWorld(workflow({ a: {} }));
    world.advance(60_000);
    const agentVersions = new Map([[0, "2.1"]]);
    for (const [at, text] of [
      [START + 1, 'waits for a free agent of version "2.1": agents poll queue'],
      [null, 'waits for an agent of version "2.1": none polls queue'],
    ] as const) {
      const wait = waitOf(world, "a", { ...polledAt(at), agentVersions });
      expect(wait).toMatchObject({
        waitsFor: { agentVersion: "2.1" },
        actions: [{ kind: "start-agent", agentVersion: "2.1" }],
      });
      expect(stepSentence(world.plan, wait, world.now())).toContain(text);
    }
  });

  test("has how often it was alarmed, and still since when it waits", () => {
    const world = createWorld(workflow({ a: {} }));
    world.fireNext();
    world.fireNext();
    expect(waitOf(world, "a")).toMatchObject({ waitsFor: { alarms: 2 }, since: START });
  });
});

test("a task with an agent has its last heartbeat, and its progress with its time", () => {
  const world = createWorld(workflow({ a: {} }));
  world.claim("a");
  world.advance(5_000);
  world.heartbeat("s1", true);
  world.advance(2_000);
  const liveness = {
    ...NO_SIGNS,
    leases: new Map([[0, { lastHeartbeatAt: START + 5_000, progress: "p7" }]]),
  };
  expect(waitOf(world, "a", liveness)).toMatchObject({
    waitsFor: { lastHeartbeatAt: START + 5_000, progress: { text: "p7", since: START + 5_000 } },
    since: START,
    next: { what: "check-lease", at: START + 35_000 },
  });
  expect(waitOf(world, "a")).toMatchObject({
    waitsFor: { lastHeartbeatAt: null, progress: null },
    next: { what: "check-lease", at: START + 30_000 },
  });
});

describe("a question whose deadline answers", () => {
  const deadline = 60_000;
  function asking(answer: DeadlineAnswer): World {
    const escalation = { deadlineMs: deadline, answer };
    const world = createWorld(workflow({ a: { onFailure: "escalate", escalation }, b: {} }));
    world.report(world.claim("a"), broken);
    return world;
  }

  test.each([
    ["retry", "make-ready", "it is ready for an agent"],
    ["skip", "skip", "it is skipped"],
    ["compensate", "undo", "the compensation of what was done starts"],
    ["fail", "fail", "it fails"],
  ] as const)("has when, and what follows: %s", (answer, what, text) => {
    const world = asking(answer);
    const wait = waitOf(world, "a");
    expect(wait.next).toEqual({ what, at: START + deadline });
    expect(stepSentence(world.plan, wait, world.now())).toContain(text);
  });

  test("leaves out one that has passed, or whose answer is not allowed at the time", () => {
    const over = asking("skip");
    over.advance(deadline);
    expect(waitOf(over, "a").next).toBeNull();
    const escalation = { deadlineMs: deadline, answer: "skip" as const };
    const undo = { compensate: { task: "undo" }, escalation };
    const world = createWorld(workflow({ a: undo, b: { needs: ["a"] } }));
    succeed(world, "a");
    world.cancel(true);
    world.report(world.claim("a"), broken);
    expect(waitOf(world, "a")).toMatchObject({ waitsFor: { kind: "person" }, next: null });
  });
});

describe("what was tried", () => {
  test("is explained with the last end, whose it was and when", () => {
    const world = createWorld(workflow({ a: { fallback: [{ queue: "other" }] } }));
    world.advance(10);
    world.report(world.claim("a"), failure("busy"));
    const { tried, since } = waitOf(world, "a");
    expect(since).toBe(START + 10);
    expect(tried).toMatchObject({
      attempts: 1,
      lost: 0,
      handedOut: 1,
      verifies: 0,
      strategy: 0,
      strategies: 2,
      last: { agentId: "agent of s1", endedAt: START + 10, outcome: { code: "busy" } },
    });
  });

  test("counts what was lost in a row, and names the fallback that is tried", () => {
    const world = createWorld(workflow({ a: { fallback: [{ queue: "other" }] } }));
    world.report(world.claim("a"), broken);
    lose(world, "a");
    const { tried, waitsFor } = waitOf(world, "a");
    expect(waitsFor).toMatchObject({ kind: "agent-to-poll", queue: "other" });
    expect(tried).toMatchObject({ attempts: 0, lost: 1, handedOut: 2, strategy: 1 });
    expect(tried?.last?.outcome).toMatchObject({ kind: "unknown", code: "drover.lost" });
  });

  test("of an undo is that of the undo alone", () => {
    const world = createWorld(
      workflow({ a: { compensate: undoneBy("undo-a") }, b: { needs: ["a"] } }),
    );
    succeed(world, "a");
    world.report(world.claim("b"), broken);
    expect(waitOf(world, "a")).toMatchObject({ side: "undo", tried: { attempts: 0, last: null } });
    world.report(world.claim("a"), failure("stuck"));
    expect(waitOf(world, "a").tried).toMatchObject({
      attempts: 1,
      last: { outcome: { code: "stuck" } },
    });
  });
});

describe("the run", () => {
  test("waits first for what needs a person, then for lanes without agents, then by time", () => {
    const definition = workflow({
      soon: { kind: "wait", forMs: 1_000 },
      later: { kind: "wait", forMs: 2_000 },
      alone: {},
      asking: { onFailure: "escalate" },
      blocked: { needs: ["soon"] },
    });
    const world = createWorld(definition);
    world.report(world.claim("asking"), broken);
    const { run, waitsOn, steps } = explained(world);
    expect(waitsOn).toEqual([3, 2, 0, 1]);
    expect(steps.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4]);
    expect(run).toMatchObject({ waitsFor: { kind: "person", reason: "step-failed" }, next: null });
  });

  test("lists the commands that it accepts, by its state", () => {
    const override = (world: World) =>
      explained(world).run.actions.map((action) =>
        action.kind === "cancel" ? `cancel ${action.undo.join(" or ")}` : action.kind,
      );
    const world = createWorld(workflow({ p: { pivot: true }, a: { needs: ["p"] } }));
    expect(override(world)).toEqual(["pause", "cancel compensate or leave"]);
    succeed(world, "p");
    expect(override(world)).toEqual(["pause", "cancel leave"]);
    world.pause();
    expect(override(world)).toEqual(["resume", "cancel leave"]);
    world.cancel(false);
    expect(explained(world)).toMatchObject({ run: { waitsFor: { kind: "ended" } }, steps: [] });
    expect(override(world)).toEqual(["retry-run", "rerun"]);
    const done = createWorld(workflow({ a: {} }));
    succeed(done, "a");
    expect(override(done)).toEqual([]);
  });

  test("waits for its own resuming while it is paused, and for nothing else", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.advance(50);
    world.pause();
    world.report(held, success());
    const { run, steps } = explained(world);
    expect(run).toMatchObject({ waitsFor: { kind: "resume", task: null }, since: START + 50 });
    expect(steps).toEqual([]);
  });

  test("waits until a lost attempt can act no more, before it is undone", () => {
    const world = createWorld(workflow({ a: { compensate: undoneBy("undo-a") }, b: {} }));
    const held = world.claim("b");
    world.claim("a", "s2");
    world.advance(30_000);
    world.heartbeat("s1");
    world.report(held, broken);
    world.fire("a");
    const { run, waitsOn } = explained(world);
    expect(world.run().state.kind).toBe("STOPPING");
    expect(waitsOn).toEqual([]);
    expect(run).toMatchObject({
      waitsFor: { kind: "settle", task: null },
      since: world.now(),
      next: { what: "undo", at: world.nextTimer()?.at },
    });
  });

  test("asks to note a doubled effect, also when it has ended", () => {
    const world = createWorld(workflow({ a: { effects: "once" } }));
    const stale = world.claim("a");
    world.report(stale, unknown());
    world.answer(1, "retry");
    const held = world.claim("a");
    world.report(stale, success());
    world.report(held, success());
    expect(explained(world).run).toMatchObject({
      waitsFor: { kind: "ended" },
      actions: [{ kind: "answer", step: 0, answers: ["acknowledge"] }],
    });
  });
});

describe("a run that no supervisor watches", () => {
  const unwatched = { region: "eu", whole: true };
  const start = { kind: "start-supervisor", region: "eu" };

  test("is named, with the command that starts one, instead of what happens next", () => {
    const world = createWorld(workflow({ a: { kind: "wait", forMs: 2_000 } }));
    world.advance(5_200);
    const explanation = explained(world, { ...NO_SIGNS, unwatched });
    expect(explanation.run.actions[0]).toEqual(start);
    expect(explanation.steps[0]?.next).toMatchObject({ what: "succeed", unwatched });
    expect(runSentence(world.plan, explanation, world.now())).toBe(
      'For 5.2 s "a" waits for its time; what comes next (it continues) is overdue by 3.2 s, and no supervisor watches region "eu": start one with drover supervisor --region eu.',
    );
    const partly = explained(world, { ...NO_SIGNS, unwatched: { ...unwatched, whole: false } });
    expect(runSentence(world.plan, partly, START + 1_000)).toContain(
      'is due in 1 s, and no supervisor watches its partition of region "eu"',
    );
  });

  test("leaves it out once the run has ended, or where nothing comes by itself", () => {
    const world = createWorld(workflow({ a: {} }));
    world.cancel(false);
    const { actions } = explained(world, { ...NO_SIGNS, unwatched }).run;
    expect(actions.map(({ kind }) => kind)).toEqual(["retry-run", "rerun"]);
    const held = createWorld(workflow({ a: {} }));
    held.pause();
    const { run } = explained(held, { ...NO_SIGNS, unwatched });
    expect(run).toMatchObject({ next: null, waitsFor: { kind: "resume" } });
    expect(run.actions[0]).toEqual(start);
  });
});

test("a sentence names what is waited for, since when, what was tried and what comes next", () => {
  const world = createWorld(
    workflow({ hotel: { task: "book", queue: "eu" }, car: { needs: ["hotel"] } }),
  );
  world.report(world.claim("hotel"), failure("busy"));
  world.advance(400);
  const { steps } = explained(world);
  expect(steps.map((wait) => stepSentence(world.plan, wait, world.now()))).toEqual([
    'For 400 ms "hotel" waits to be tried again; its last task ended busy, attempts that count: 1; in 600 ms it is ready for an agent.',
    'For 400 ms "car" waits for "hotel".',
  ]);
  world.fireNext();
  expect(runSentence(world.plan, explained(world), world.now() + 90_000)).toBe(
    'For 90 s "hotel" waits for an agent: no agent polls queue "eu" for task "book"; its last task ended busy, attempts that count: 1; in 4 min an alarm is raised that no agent takes it.',
  );
});
