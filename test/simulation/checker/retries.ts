// Retries obey the policy: G12.

import type { RetryPolicy } from "../../../server/core/definition/definition.ts";
import type { EpochMs } from "../../../server/core/model/attempt.ts";
import type { AnswerKind } from "../../../server/core/model/history.ts";
import { itemOf } from "../../../server/core/model/step-key.ts";
import {
  LOSSES_IN_A_ROW_MAX,
  type PlanStep,
  type PlanTask,
  planStepAt,
} from "../../../server/core/plan/plan.ts";
import { outcomeText } from "./acknowledged.ts";
import { answered, type Facts, type HandOut, type RunFacts, stepName } from "./facts.ts";
import { mayBeReplanned } from "./undos.ts";
import { blindRepeats, keysOfStrategies } from "./unknowns.ts";
import type { Finding } from "./violation.ts";

/**
 * G12. Along the fences of a step, within each strategy: each hand-out has the number of counted
 * tries plus one; nothing follows a permanent failure, a code without a policy, the last try of a
 * policy, or three losses in a row, unless a person approves it; no try begins before the least
 * backoff and `retry_after` have passed. An attempt that was settled after its end charges nothing
 * here: its row does not tell which policy paid. And what is unknown is not repeated blindly
 * (unknowns.ts).
 */
export function* retriesObeyPolicies(facts: Facts): Iterable<Finding> {
  for (const run of facts.runs.values()) {
    for (const [no, handOuts] of run.handOuts) {
      const step = planStepAt(run.plan, no);
      if (!step) {
        yield { runId: run.run.runId, text: `run ${run.run.runId} has no step ${no} in its plan` };
        continue;
      }
      const row = run.run.steps.find((one) => one.no === no);
      const many = step.work.kind === "map" || (row?.strategies.length ?? 1) > 1;
      for (const task of ["perform", "compensate"] as const)
        for (const tries of byStrategy(
          handOuts.filter((handOut) => handOut.task === task),
          many,
        ))
          yield* brokenTries(run, tries, { ...facts.bounds, plan: planOf(run, step, tries) });
    }
    yield* blindRepeats(run, facts.bounds);
  }
  yield* keysOfStrategies(facts);
}

/**
 * The tries of each strategy. One that no agent has seen belongs to the strategy of those around
 * it; where they differ, neither it nor the later one is checked.
 */
function byStrategy(handOuts: readonly HandOut[], many: boolean): readonly (readonly HandOut[])[] {
  if (!many) return [handOuts];
  const groups = new Map<number, HandOut[]>();
  const unsure = new Set<number>();
  let current: number | null = handOuts[0]?.task === "perform" ? 0 : null;
  for (const [index, handOut] of handOuts.entries()) {
    const next = handOuts.slice(index).find(({ strategy }) => strategy !== null)?.strategy ?? null;
    if (handOut.strategy === null && next !== current) {
      if (next !== null) unsure.add(next);
      continue;
    }
    if (next !== null) groups.set(next, [...(groups.get(next) ?? []), handOut]);
    current = next;
  }
  return [...groups].flatMap(([strategy, of]) => (unsure.has(strategy) ? [] : [of]));
}

/** What the strategy of these tries allows; null: the rows do not tell which one it is. */
function planOf(run: RunFacts, step: PlanStep, tries: readonly HandOut[]): PlanTask | null {
  if (tries[0]?.task === "compensate") return step.compensate;
  if (step.work.kind === "map") return step.work.gate;
  if (step.work.kind !== "task") return null;
  const row = run.run.steps.find(({ no }) => no === step.no);
  const strategy = tries.find((one) => one.strategy !== null)?.strategy ?? 0;
  const planned = row?.strategies[strategy]?.planned;
  return planned === undefined ? null : (step.work.strategies[planned] ?? null);
}

interface Side {
  readonly plan: PlanTask | null;
  readonly transactionMs: number;
}

interface Tally {
  counted: number;
  lostInARow: number;
  /** Tries surely charged, by index of the policy. */
  charged: Map<number, number>;
}

function* brokenTries(
  run: RunFacts,
  handOuts: readonly HandOut[],
  { plan, transactionMs }: Side,
): Iterable<Finding> {
  const { runId } = run.run;
  if (!plan) return;
  const at = handOuts[0]?.step ?? 0;
  const isGate = itemOf(at) === 0 && planStepAt(run.plan, at)?.work.kind === "map";
  const tally: Tally = { counted: 0, lostInARow: 0, charged: new Map() };
  for (const [index, handOut] of handOuts.entries()) {
    const { task, step, fence } = handOut;
    const where = `${task} fence ${fence} of ${stepName(run, step)}`;
    if (handOut.attempt !== tally.counted + 1) {
      const text = `${where} is attempt ${handOut.attempt}, but ${tally.counted} tries counted before it`;
      yield { runId, text };
    }
    const next: HandOut | undefined = handOuts[index + 1];
    const nextAt = next && next.startedAt + transactionMs;
    const refusal: string | null = takeIn(tally, handOut, plan, nextAt);
    if (!next) continue;
    const answers = answersBetween(run, handOut, next, transactionMs);
    // The run restarts the undo, maybe before a lost try was settled: that counts there. Or the
    // strategy was undone, a person made the effect by hand, and the run undoes that.
    const first = handOut.settled ? 2 : 1;
    const isAnew =
      task === "compensate" &&
      next.attempt <= first &&
      (mayBeReplanned(run, handOut) || answers.includes("succeed"));
    // Where the clock went back, an answer may be about the gate before: the number tells.
    const isResolved = answers.includes("succeed") && next.attempt === 1;
    const isPassed = isGate && (handOut.end?.outcome.kind === "success" || isResolved);
    // The next one is the gate behind the next wave.
    if (isPassed) tally.counted = 0;
    if (isAnew) tally.counted = next.attempt - 1;
    if (isPassed || isAnew || answers.length > 0) {
      // Fresh tries: numbers continue, unless it is another gate.
      tally.lostInARow = 0;
      tally.charged = new Map();
    } else if (refusal && !verified(run, handOut)) {
      yield { runId, text: `${where} was followed by another try: ${refusal}` };
    }
  }
}

/** How a person let it be tried anew between the two. */
function answersBetween(
  run: RunFacts,
  { step, end }: HandOut,
  next: HandOut,
  transactionMs: number,
): readonly AnswerKind[] {
  return answered(run, step, "retry", "retry-changed", "succeed").flatMap(({ at, by }) =>
    end !== null && at + transactionMs >= end.at && at <= next.startedAt + transactionMs
      ? [by]
      : [],
  );
}

/** What a verify finds out takes its time, and recovery continues from there. */
function verified(run: RunFacts, { step, fence, task }: HandOut): boolean {
  return (
    task === "perform" && (run.verifies.get(step)?.some((one) => one.fence === fence) ?? false)
  );
}

/** Counts a hand-out; returns why the next one should not have been, or null. */
function takeIn(
  tally: Tally,
  handOut: HandOut,
  plan: PlanTask,
  nextAt: EpochMs | undefined,
): string | null {
  const outcome = handOut.end?.outcome;
  if (!outcome || ["released", "undelivered", "unsent"].includes(outcome.kind)) return null;
  if (outcome.kind === "unknown" && outcome.code === "drover.lost") {
    tally.lostInARow += 1;
    return tally.lostInARow >= LOSSES_IN_A_ROW_MAX
      ? `${tally.lostInARow} agents in a row were lost with it`
      : null;
  }
  tally.lostInARow = 0;
  if (outcome.kind === "again" || outcome.kind === "deferred") return null;
  tally.counted += 1;
  if (outcome.kind !== "failure" && outcome.kind !== "unknown") return null;
  if (outcome.kind === "failure" && outcome.class === "permanent")
    return `it failed for good with ${outcome.code}`;
  const index = plan.retry.findIndex(({ on }) => on.length === 0 || on.includes(outcome.code));
  const policy = plan.retry[index];
  if (!policy) return `no retry policy answers ${outcome.code}`;
  const tries = (tally.charged.get(index) ?? 0) + (handOut.settled ? 0 : 1);
  tally.charged.set(index, tries);
  if (tries >= policy.attempts && !handOut.settled)
    return `policy ${index} allows ${policy.attempts} tries, and all were used`;
  const retryAfterMs = outcome.kind === "failure" ? (outcome.retryAfterMs ?? 0) : 0;
  const leastMs = Math.max(retryAfterMs, leastBackoffMs(policy, tries, tally.counted));
  const pausedMs = nextAt !== undefined && handOut.end ? nextAt - handOut.end.at : leastMs;
  return pausedMs < leastMs
    ? `after ${outcomeText(outcome)} it must wait ${leastMs} ms, and waited ${pausedMs} ms`
    : null;
}

/** The least that the policy allows, by the fewest and by the most tries that it can have had. */
function leastBackoffMs(policy: RetryPolicy, fewest: number, most: number): number {
  const grown = (tries: number): number =>
    Math.min(policy.maxMs, policy.initialMs * policy.factor ** Math.max(0, tries - 1));
  return Math.floor(Math.min(grown(fewest), grown(most)) * (1 - policy.jitter));
}
