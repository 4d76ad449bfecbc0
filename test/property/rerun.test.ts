/**
 * A rerun of any ended run obeys the laws of a pass, performs no reused step again, undoes reused
 * effects when it is undone, and ends. All from one seed.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isEnded } from "../../server/core/model/model.ts";
import { leavesEffect } from "../../server/core/model/strategy.ts";
import { planStepAt } from "../../server/core/plan/plan.ts";
import { stepsToReuse } from "../../server/core/recovery/reuse.ts";
import { createWorld, START, type World } from "../support/core-world.ts";
import { reusedOf } from "../support/reused-steps.ts";
import { lives } from "./random-acts.ts";
import { heal, live } from "./random-life.ts";
import { definitions, evaluatorOf } from "./random-run.ts";

const SEED = 20_260_102;
const RUNS = 2_000;
const HEALING_EVENTS_MAX = 400;
let again = 0;
let keeping = 0;

test("a run that is done again keeps its laws, and comes to its end", () => {
  fc.assert(
    fc.property(definitions, lives, lives, fc.nat(7), (definition, acts, later, which) => {
      const old = createWorld(definition, evaluatorOf(definition));
      live(old, acts);
      heal(old, HEALING_EVENTS_MAX);
      const { state } = old.run();
      if (!isEnded(state) || state.kind === "COMPENSATED") return;
      const from =
        which >= old.plan.steps.length
          ? ({ kind: "failed" } as const)
          : ({ kind: "step", no: which } as const);
      const reused = reusedOf(old, from);
      const startAt = which % 2 === 0 ? null : START + 1_000;
      const world = createWorld(definition, evaluatorOf(definition), { reused: reused, startAt });
      live(world, later);
      heal(world, HEALING_EVENTS_MAX);
      again += 1;
      keeping += Number(reused.length > 0);
      expectReused(world, new Set(reused.map(({ no }) => no)));
    }),
    { seed: SEED, numRuns: RUNS },
  );
  expect(again).toBeGreaterThan(RUNS / 4);
  expect(keeping).toBeGreaterThan(RUNS / 10);
});

test("what is reused ended well, and so did all that it needs; nothing of a step that runs anew", () => {
  fc.assert(
    fc.property(definitions, lives, fc.nat(7), (definition, acts, which) => {
      const old = createWorld(definition, evaluatorOf(definition));
      live(old, acts);
      heal(old, HEALING_EVENTS_MAX);
      const { plan } = old;
      const steps = new Map(old.steps().map((step) => [step.no, step]));
      const reused = stepsToReuse({ plan, steps }, plan, { kind: "step", no: which });
      for (const [no, was] of reused) {
        expect(was).toBe(no);
        expect(no).not.toBe(which);
        expect(["SUCCEEDED", "SKIPPED"]).toContain(steps.get(no)?.forward.kind);
        expect(steps.get(no)?.undo.kind).toBe("NONE");
        for (const need of plan.steps[no]?.needs ?? []) expect([...reused.keys()]).toContain(need);
      }
      expect(stepsToReuse({ plan, steps }, plan, { kind: "start" }).size).toBe(0);
    }),
    { seed: SEED, numRuns: RUNS / 4 },
  );
});

function expectReused(world: World, reused: ReadonlySet<number>): void {
  for (const { step, task } of world.handedOut)
    if (reused.has(step)) expect(task).toBe("compensate");
  const { state } = world.run();
  for (const step of world.steps()) {
    if (!reused.has(step.no)) continue;
    expect(["SUCCEEDED", "SKIPPED"]).toContain(step.forward.kind);
    const undoable = planStepAt(world.plan, step.no)?.compensate !== null;
    if (state.kind === "COMPENSATED" && undoable)
      expect(step.strategies.filter(leavesEffect)).toEqual([]);
  }
}
