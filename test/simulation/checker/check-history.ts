// The offline checker: decides from a recorded history alone whether the promises G1 to G20
// (violation.ts) were kept. Each is one function, whose comment says how it decides.
//
// A check reports what the history proves to be broken, never what it cannot decide: an unknown
// answer, a fault nearby or an overwritten row make it silent. `violation.ts` has the bounds.
import type { History } from "../history.ts";
import { nothingAcknowledgedIsLost, oneKeyOneRun, refusedMeansNotDone } from "./acknowledged.ts";
import { type Facts, factsOf } from "./facts.ts";
import { failsAlone } from "./fails-alone.ts";
import {
  lateReportsChangeNothing,
  oneAttemptAtATime,
  oneCompletionOneActivation,
  tokensAreGivenOnce,
} from "./hand-outs.ts";
import { readyWorkMeetsWaiters } from "./meeting.ts";
import { namespacesDoNotLeak } from "./namespaces.ts";
import { oneEffectOfEachStep } from "./one-effect.ts";
import { retriesObeyPolicies } from "./retries.ts";
import {
  everyRunEnds,
  everythingOpenIsWatched,
  nobodyReadsBackwards,
  statesFollowTheMachine,
} from "./states.ts";
import { dueMomentsAreMet, oneSupervisorActs } from "./supervision.ts";
import { cancelStopsForward, undoneInReverse } from "./undoing.ts";
import {
  type Bounds,
  boundsFor,
  type Finding,
  PROMISE_NAMES,
  type PromiseName,
  type Violation,
} from "./violation.ts";

type Check = (facts: Facts) => Iterable<Finding>;

const CHECKS = {
  G1: nothingAcknowledgedIsLost,
  G2: oneKeyOneRun,
  G3: oneAttemptAtATime,
  G4: lateReportsChangeNothing,
  G5: oneCompletionOneActivation,
  G6: statesFollowTheMachine,
  G7: everythingOpenIsWatched,
  G8: dueMomentsAreMet,
  G9: oneSupervisorActs,
  G10: everyRunEnds,
  G11: undoneInReverse,
  G12: retriesObeyPolicies,
  G13: refusedMeansNotDone,
  G14: namespacesDoNotLeak,
  G15: readyWorkMeetsWaiters,
  G16: cancelStopsForward,
  G17: nobodyReadsBackwards,
  G19: oneEffectOfEachStep,
  G20: failsAlone,
} satisfies Record<PromiseName, Check>;

/**
 * What holds even if the store has failed over to one that had not received all of it: what is
 * there is whole and moves on, and no token is given to two.
 */
const AFTER_A_LOSS: Partial<Record<PromiseName, Check>> = {
  G3: tokensAreGivenOnce,
  G7: everythingOpenIsWatched,
  G10: everyRunEnds,
};

/** Every broken promise that the history proves; none for a history as it should be. */
export function checkHistory(
  history: History,
  bounds: Bounds = boundsFor(history.meta.source),
): readonly Violation[] {
  const facts = factsOf(history, bounds);
  const isWhole = !facts.faults.some(({ fault }) => "did" in fault && fault.did === "tail-lost");
  const checks: Partial<Record<PromiseName, Check>> = isWhole ? CHECKS : AFTER_A_LOSS;
  const violations = (promise: PromiseName): readonly Violation[] =>
    [...(checks[promise]?.(facts) ?? [])].map((finding) => ({ promise, ...finding }));
  return PROMISE_NAMES.flatMap(violations);
}
