/**
 * A `run` step begins a child run and takes its outcome. The child pauses, continues and stops with
 * its parent, which does not end before it.
 */
import { describe, expect, test } from "vitest";
import type { RunWork } from "../../../server/core/definition/definition.ts";
import type { ChildEnded, EndedChild } from "../../../server/core/model/message.ts";
import type { End, Parent } from "../../../server/core/model/model.ts";
import type { Payload } from "../../../server/core/model/payload.ts";
import { success } from "../../support/core-outcomes.ts";
import {
  createWorld,
  lastQuestion,
  START,
  type StepOptions,
  type World,
  workflow,
} from "../../support/core-world.ts";

const compensate = { task: "undo" };
const DAY = 86_400_000;
const HOUR = 3_600_000;

type RunStep = Extract<StepOptions, RunWork>;
const run = (more: Partial<RunStep> = {}): RunStep => ({
  kind: "run",
  workflow: "other",
  ...more,
});

const DONE: End = { kind: "COMPLETED", reason: "DONE" };
const FAILED: End = { kind: "FAILED", reason: "STEP_FAILED" };
const COMPENSATED: End = { kind: "COMPENSATED", reason: "STEP_FAILED" };
const CANCELLED: End = { kind: "CANCELLED", reason: "CANCELLED_BY_USER" };

/** The step `a` runs another workflow; `b` waits for it. */
function withChild(more: Partial<RunStep> = {}, timeoutMs = DAY): World {
  return createWorld(workflow({ a: run(more), b: { needs: ["a"] } }, { timeoutMs }));
}

function ended(
  world: World,
  end: End | null,
  more: Partial<EndedChild> = {},
  id = "a",
): ChildEnded {
  const { no: step, fence } = world.step(id);
  const output: Payload | null =
    end?.kind === "COMPLETED" ? { kind: "json", json: '{"x":1}' } : null;
  const child = { runId: `child ${fence}`, end, createdAt: START, why: "", output, ...more };
  return { kind: "child-ended", step, fence, child };
}

function end(world: World, how: End | null, more: Partial<EndedChild> = {}, id = "a"): void {
  world.pass([world.messagesEvent(ended(world, how, more, id))]);
}

const forward = (world: World, id = "a") => world.step(id).forward;
const began = (world: World) => world.effects.filter((effect) => effect.kind === "child-began");
const sentToChild = (world: World) =>
  world.effects.flatMap((effect) => (effect.kind === "child-messaged" ? [effect.message] : []));
const failureOf = (world: World) =>
  world.effects.flatMap((effect) =>
    effect.kind === "task-ended" && effect.attempt.outcome.kind === "failure"
      ? [effect.attempt.outcome]
      : [],
  );

describe("a run step", () => {
  test("begins a child with its input, bound by the deadline of its run", () => {
    const world = withChild({ version: 3 }, HOUR);
    expect(began(world)).toEqual([
      {
        kind: "child-began",
        step: 0,
        fence: 1,
        workflow: "other",
        version: 3,
        input: null,
        at: START,
        wakeAt: START + DAY,
        until: START + HOUR,
      },
    ]);
    expect(forward(world)).toEqual({ kind: "WAITING", on: "child", wakeAt: START + DAY });
  });

  test("succeeds with the output of a child that is COMPLETED, and is an effect", () => {
    const world = withChild({ compensate });
    end(world, DONE);
    expect(forward(world).kind).toBe("SUCCEEDED");
    expect(world.step("a").strategies[0]?.effectStatus).toBe("MADE");
    expect(world.step("a").result).toEqual({ fence: 1, kind: "answer", n: 0 });
    expect(world.facts()?.steps.get(0)?.output).toEqual({ kind: "json", json: '{"x":1}' });
    expect(forward(world, "b").kind).toBe("READY");
  });

  test("is undone by its own compensate: a child that is COMPLETED is final", () => {
    const world = withChild({ compensate });
    end(world, DONE);
    world.cancel(true);
    expect(world.run().state.kind).toBe("COMPENSATING");
    world.report(world.claim("a"), success());
    expect(world.run().state).toEqual({ kind: "COMPENSATED", reason: "CANCELLED_BY_USER" });
  });

  test.each([
    [FAILED, "drover.child-failed"],
    [COMPENSATED, "drover.child-failed"],
    [CANCELLED, "drover.child-cancelled"],
  ])("fails with a child that ended %o, and does not begin another", (how, code) => {
    const world = withChild();
    end(world, how, { why: 'step "x" failed: y: z' });
    expect(failureOf(world)).toMatchObject([{ code }]);
    expect(failureOf(world)[0]?.message).toBe(
      `child run child 1 ended ${how.kind} (${how.reason}): step "x" failed: y: z`,
    );
    expect(world.run().state).toMatchObject({ kind: "FAILED", reason: "STEP_FAILED" });
    expect(began(world)).toHaveLength(1);
  });

  test("that a retry policy tries again begins another child after its backoff", () => {
    const retry = [{ on: ["drover.child-failed"], attempts: 2, initialMs: 1_000, jitter: 0 }];
    const world = withChild({ retry });
    end(world, FAILED);
    expect(forward(world)).toMatchObject({ kind: "BACKOFF", task: "perform" });
    world.advance(1_000);
    world.fire("a");
    expect(began(world).map(({ fence }) => fence)).toEqual([1, 2]);
    end(world, FAILED);
    expect(world.run().state.kind).toBe("FAILED");
  });

  test("falls back to another workflow, and its child begins at once", () => {
    const world = withChild({ fallback: [{ workflow: "third", version: 2 }] });
    end(world, FAILED);
    expect(began(world).at(-1)).toMatchObject({ fence: 2, workflow: "third", version: 2 });
    end(world, DONE);
    expect(forward(world).kind).toBe("SUCCEEDED");
  });

  test("fails where the child's output is larger than one may be, and is an effect", () => {
    const world = withChild({ compensate });
    const json = JSON.stringify("x".repeat(262_144));
    end(world, DONE, { output: { kind: "json", json } });
    expect(failureOf(world)).toMatchObject([{ code: "drover.schema", class: "permanent" }]);
    expect(world.step("a").strategies[0]?.effectStatus).toBe("MADE");
    expect(world.run().state.kind).toBe("COMPENSATING");
  });

  test("fails for good where its workflow is not registered, or does not take the input", () => {
    const missing = withChild({ version: 7 });
    end(missing, null);
    expect(failureOf(missing)).toMatchObject([
      { code: "drover.child-refused", message: 'the workflow "other" version 7 is not registered' },
    ]);
    const refused = withChild();
    end(refused, { kind: "FAILED", reason: "REFUSED" }, { why: "it lacks x" });
    expect(failureOf(refused)).toMatchObject([
      {
        code: "drover.child-refused",
        message: 'the workflow "other" does not take the input: it lacks x',
      },
    ]);
  });

  test("receives the end of a child that it waits for no more, and stays as it is", () => {
    const retry = [{ on: ["drover.child-failed"], attempts: 2, initialMs: 1, jitter: 0 }];
    const world = withChild({ retry });
    const first = ended(world, FAILED);
    world.pass([world.messagesEvent(first, first)]);
    expect(forward(world).kind).toBe("BACKOFF");
    world.advance(1);
    world.fire("a");
    world.pass([world.messagesEvent(first)]);
    expect(forward(world)).toMatchObject({ kind: "WAITING", on: "child" });
  });

  test("that escalates may be answered with another child, and not with another input", () => {
    const world = withChild({ onFailure: "escalate" });
    end(world, FAILED);
    const { n } = lastQuestion(world);
    expect(world.answer(n, "retry-changed", "{}").kind).toBe("refused");
    expect(world.answer(n, "retry")).toEqual({ kind: "done" });
    expect(forward(world)).toMatchObject({ kind: "WAITING", on: "child" });
    expect(world.step("a").fence).toBe(2);
  });
});

describe("the total time of a run step", () => {
  test("is over: the child is cancelled and undone, and with its end the step fails", () => {
    const world = withChild({ timeouts: { totalMs: HOUR } }, DAY);
    world.advance(HOUR);
    world.fire("a");
    expect(sentToChild(world)).toEqual([{ kind: "cancel", undo: true }]);
    expect(forward(world)).toMatchObject({ kind: "WAITING", on: "child-end" });
    expect(world.interventions("total")).toHaveLength(1);
    end(world, { kind: "COMPENSATED", reason: "CANCELLED_BY_USER" });
    expect(failureOf(world)).toMatchObject([{ code: "drover.total", class: "permanent" }]);
    expect(world.run().state.kind).toBe("FAILED");
  });

  test("is over: a child that ends well all the same is a success", () => {
    const world = withChild({ timeouts: { totalMs: HOUR } }, DAY);
    world.advance(HOUR);
    world.fire("a");
    end(world, DONE);
    expect(forward(world).kind).toBe("SUCCEEDED");
  });

  test("is suspended while the run is paused", () => {
    const world = withChild({ timeouts: { totalMs: HOUR } }, DAY);
    world.pause();
    world.advance(HOUR);
    world.fire("a");
    world.resume();
    world.fire("a");
    expect(sentToChild(world).map(({ kind }) => kind)).toEqual(["pause", "resume"]);
    world.advance(HOUR);
    world.fire("a");
    expect(sentToChild(world).at(-1)).toEqual({ kind: "cancel", undo: true });
  });

  test("a child that was cancelled is cancelled again, as long as it has not ended", () => {
    const world = withChild({ timeouts: { totalMs: HOUR } }, DAY);
    world.fireNext();
    world.fireNext();
    world.fireNext();
    expect(sentToChild(world)).toHaveLength(3);
  });
});

describe("what a parent does passes to its child", () => {
  test.each([true, false])("a cancel, undo %s, and it waits for the child's end", (undo) => {
    const world = withChild();
    world.cancel(undo);
    expect(sentToChild(world)).toEqual([{ kind: "cancel", undo }]);
    expect(world.run().state.kind).toBe("STOPPING");
    end(world, CANCELLED);
    expect(forward(world).kind).toBe("CANCELLED");
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: "CANCELLED_BY_USER" });
  });

  test("its deadline, and another step's failure for good", () => {
    const late = withChild({}, HOUR);
    late.advance(HOUR);
    late.fireRun();
    expect(sentToChild(late)).toEqual([{ kind: "cancel", undo: true }]);
    const world = createWorld(workflow({ a: run(), x: { onFailure: "fail" } }));
    const broken = { kind: "failure", class: "permanent", code: "no", message: "no" } as const;
    world.report(world.claim("x"), { ...broken, retryAfterMs: null, noEffect: true });
    expect(sentToChild(world)).toEqual([{ kind: "cancel", undo: false }]);
  });

  test("its deadline comes before the end of a child that had no more time", () => {
    const world = withChild({}, HOUR);
    world.advance(HOUR);
    end(world, { kind: "FAILED", reason: "TIMED_OUT" });
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "TIMED_OUT" });
    expect(world.interventions("deadline")).toHaveLength(1);
  });

  test("a child that ends well while its parent stops is an effect, and is undone", () => {
    const world = withChild({ compensate });
    world.cancel(true);
    end(world, DONE);
    expect(world.run().state.kind).toBe("COMPENSATING");
    world.report(world.claim("a"), success());
    expect(world.run().state.kind).toBe("COMPENSATED");
  });

  test("a pause and a resume, and while it is paused it begins none", () => {
    const world = createWorld(workflow({ x: {}, a: run({ needs: ["x"] }), c: run() }));
    const held = world.claim("x");
    world.pause();
    world.report(held, success());
    expect(forward(world)).toEqual({ kind: "HELD", task: "perform" });
    expect(sentToChild(world)).toEqual([{ kind: "pause" }]);
    world.resume();
    expect(sentToChild(world)).toEqual([{ kind: "pause" }, { kind: "resume" }]);
    expect(began(world).map(({ step }) => step)).toEqual([2, 1]);
  });

  test("a step that runs last begins its child once it is certain how the run ends", () => {
    const world = createWorld(workflow({ x: {}, z: run({ always: true }) }));
    world.cancel(false);
    expect(began(world)).toMatchObject([{ step: 1, until: null }]);
    end(world, DONE, {}, "z");
    expect(world.run().state.kind).toBe("CANCELLED");
  });
});

const parent: Parent = { runId: "parent", step: 4, fence: 2, depth: 1, until: START + HOUR };
const toParent = (world: World) =>
  world.effects.flatMap((effect) => (effect.kind === "message-sent" ? [effect] : []));
const CHILD_ENDED = {
  kind: "message-sent",
  to: "parent",
  message: { kind: "child-ended", step: 4, fence: 2, child: null },
};

describe("a child", () => {
  test("waits for a pass of its own, and then may not run longer than its parent", () => {
    const world = createWorld(workflow({ x: {} }), undefined, { parent });
    expect(world.run().state).toEqual({ kind: "PENDING", on: "start", until: START });
    world.pass([{ kind: "messages" }]);
    expect(world.run().state).toEqual({ kind: "RUNNING", deadline: START + HOUR });
    expect(forward(world, "x").kind).toBe("READY");
  });

  test("begins also by its timer, if no message has started it", () => {
    const world = createWorld(workflow({ x: {} }), undefined, { parent });
    world.fireRun();
    expect(world.run().state.kind).toBe("RUNNING");
  });

  test("that is paused before it began does not begin behind its parent's back", () => {
    const world = createWorld(workflow({ x: {} }), undefined, { parent });
    world.pass([world.messagesEvent({ kind: "pause" })]);
    expect(world.run().state.kind).toBe("PAUSED");
    world.pass([world.messagesEvent({ kind: "resume" })]);
    expect(forward(world, "x").kind).toBe("READY");
  });

  test("that is cancelled before it began has never started, and is recorded so", () => {
    const world = createWorld(workflow({ x: {} }), undefined, { parent });
    world.pass([world.messagesEvent({ kind: "cancel", undo: true })]);
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: "NEVER_STARTED" });
    expect(toParent(world)).toEqual([CHILD_ENDED]);
  });

  test("messages its parent when it ends, once, and however it ends", () => {
    const world = createWorld(workflow({ x: {} }), undefined, { parent });
    world.pass([{ kind: "messages" }]);
    expect(toParent(world)).toEqual([]);
    world.report(world.claim("x"), success());
    world.pass([{ kind: "messages" }]);
    expect(toParent(world)).toEqual([CHILD_ENDED]);
  });

  test("whose workflow does not take its input has ended before it begins", () => {
    const world = createWorld(workflow({ x: {} }), undefined, { parent, refused: true });
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "REFUSED" });
    expect(toParent(world)).toEqual([CHILD_ENDED]);
  });

  test("may be nested 16 deep, and what is started deeper is refused", () => {
    const at = (depth: number) => ({ parent: { ...parent, depth } });
    expect(createWorld(workflow({ x: {} }), undefined, at(16)).run().state.kind).toBe("PENDING");
    const deeper = createWorld(workflow({ x: {} }), undefined, at(17));
    expect(deeper.run().state).toEqual({ kind: "FAILED", reason: "REFUSED" });
    const world = createWorld(workflow({ a: run() }), undefined, at(16));
    world.pass([{ kind: "messages" }]);
    end(world, { kind: "FAILED", reason: "REFUSED" });
    expect(failureOf(world)).toMatchObject([{ code: "drover.depth", class: "permanent" }]);
  });
});
