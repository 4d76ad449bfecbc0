// Retries obey the policy: G12.
import {
  LOSSES_IN_A_ROW_MAX,
  type PlanTask,
  type RetryPolicy,
} from "../../../server/core/definition.ts";
import type { Moment, TaskKind } from "../../../server/core/model.ts";
import { outcomeText } from "./acknowledged.ts";
import { type Facts, type HandOut, type RunFacts, stepName } from "./facts.ts";
import type { Finding } from "./violation.ts";

/**
 * G12. Along the fences of a step: each hand-out has the number of counted tries plus one; nothing
 * follows a permanent failure, a code without a policy, the last try of a policy, or three losses
 * in a row; no try begins before the least backoff and `retry_after` have passed. An attempt that
 * was settled after its end charges nothing here: its row does not tell which policy paid.
 */
export function* retriesObeyPolicies(facts: Facts): Iterable<Finding> {
  for (const run of facts.runs.values()) {
    for (const [no, handOuts] of run.handOuts) {
      const step = run.plan.steps[no];
      if (!step) {
        yield { runId: run.run.runId, text: `run ${run.run.runId} has no step ${no} in its plan` };
        continue;
      }
      yield* brokenTries(run, handOuts, { task: "perform", plan: step, ...facts.bounds });
      const plan = step.compensate;
      if (plan) yield* brokenTries(run, handOuts, { task: "compensate", plan, ...facts.bounds });
    }
  }
}

interface Side {
  readonly task: TaskKind;
  readonly plan: PlanTask;
  readonly transactionMs: number;
}

interface Tally {
  counted: number;
  lostInARow: number;
  /** Tries surely charged, by index of the policy. */
  readonly charged: Map<number, number>;
}

function* brokenTries(
  run: RunFacts,
  all: readonly HandOut[],
  { task, plan, transactionMs }: Side,
): Iterable<Finding> {
  const { runId } = run.run;
  const tally: Tally = { counted: 0, lostInARow: 0, charged: new Map() };
  const handOuts = all.filter((handOut) => handOut.task === task);
  for (const [place, handOut] of handOuts.entries()) {
    const where = `${task} fence ${handOut.fence} of ${stepName(run, handOut.step)}`;
    if (handOut.attempt !== tally.counted + 1) {
      const text = `${where} is attempt ${handOut.attempt}, but ${tally.counted} tries counted before it`;
      yield { runId, text };
    }
    const next = handOuts[place + 1];
    const refusal = takeIn(tally, handOut, plan, next && next.startedAt + transactionMs);
    if (next && refusal) yield { runId, text: `${where} was followed by another try: ${refusal}` };
  }
}

/** Counts a hand-out; says why the next one should not have been, or null. */
function takeIn(
  tally: Tally,
  handOut: HandOut,
  plan: PlanTask,
  nextAt: Moment | undefined,
): string | null {
  const outcome = handOut.end?.outcome;
  if (!outcome || outcome.kind === "released" || outcome.kind === "undelivered") return null;
  if (outcome.kind === "unknown" && outcome.code === "drover.lost") {
    tally.lostInARow += 1;
    return tally.lostInARow >= LOSSES_IN_A_ROW_MAX
      ? `${tally.lostInARow} agents in a row were lost with it`
      : null;
  }
  tally.lostInARow = 0;
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
