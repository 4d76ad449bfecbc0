// One effect of each step of a completed run, by the remote service's own record: G19.

import { itemOf } from "../../../server/core/model/step-key.ts";
import type { PlanStep } from "../../../server/core/plan/plan.ts";
import type { EffectRecord } from "../history.ts";
import { answered, type Facts, type RunFacts, reusedStep, stepName } from "./facts.ts";
import { planStepsOf } from "./step-keys.ts";
import { madeTooLate } from "./undoing.ts";
import type { Finding } from "./violation.ts";

/**
 * G19. In a COMPLETED run a succeeded step with a `compensate` or a `verify` has one effect at the
 * remote service, that of the strategy which succeeded; one that failed and was passed over, and
 * can be undone, has none. Left out are a step about which a person has decided, and an
 * effect that an agent made after its lease and settle had ended.
 */
export function* oneEffectOfEachStep(facts: Facts): Iterable<Finding> {
  const undone = byStep(facts.effects.filter(({ did }) => did === "undone"));
  const undoneKeys = new Set([...undone.values()].flatMap((of) => of.map(({ key }) => key)));
  const remaining = byStep(
    facts.effects.filter(({ did, key }) => did === "made" && !undoneKeys.has(key)),
  );
  for (const run of facts.runs.values()) {
    if (run.run.state !== "COMPLETED") continue;
    for (const planned of planStepsOf(run)) {
      if (!mustBeOne(run, planned)) continue;
      const step = `${run.run.runId}/${planned.no}`;
      const left = (remaining.get(step) ?? []).filter((effect) => !madeTooLate(facts, run, effect));
      yield* brokenOf(run, planned, left, undone.get(step) ?? []);
    }
  }
}

function byStep(effects: readonly EffectRecord[]): ReadonlyMap<string, readonly EffectRecord[]> {
  return Map.groupBy(effects, ({ runId, step }) => `${runId}/${step}`);
}

function mustBeOne(run: RunFacts, { no, work, compensate, verify }: PlanStep): boolean {
  if (work.kind !== "task" || (!compensate && !verify) || reusedStep(run, no)) return false;
  return answered(run, no, "succeed", "fail", "skip", "retry-changed").length === 0;
}

/** `left`: effects of the step that the remote service still has; `undone`: those it has undone. */
function* brokenOf(
  run: RunFacts,
  { no, compensate }: PlanStep,
  left: readonly EffectRecord[],
  undone: readonly EffectRecord[],
): Iterable<Finding> {
  const { runId } = run.run;
  const row = run.run.steps.find((one) => one.no === no);
  const name = stepName(run, no);
  if (row?.forward.kind === "SUCCEEDED") {
    const last = row.strategies.length - 1;
    for (const { key, at } of left)
      if (strategyOf(key) !== last)
        yield {
          runId,
          text: `${name} has succeeded by strategy ${last}, and the remote service still has the effect "${key}" of another one, made at ${at}`,
        };
    // A callback may report so of what was never made.
    const broken = undone.find(({ key }) => strategyOf(key) === last);
    if (broken)
      yield { runId, text: `${name} has succeeded, and its effect was undone at ${broken.at}` };
  } else if (row?.forward.kind === "FAILED" && compensate) {
    const what = itemOf(no) > 0 ? "its map continued" : "the run continued";
    for (const { key, at } of left)
      yield {
        runId,
        text: `${name} has failed and ${what}, and the remote service still has its effect "${key}", made at ${at}`,
      };
  }
}

/** Its index in the list of the step: the last part of the key. */
function strategyOf(key: string): number {
  return Number(key.slice(key.lastIndexOf("/") + 1));
}
