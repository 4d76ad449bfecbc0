// The offline checker: decides from a recorded history alone whether the promises G1 to G20
// (violation.ts) hold. Each is one function, whose comment states how it decides.
//
// A check reports what the history proves to be broken, never what it cannot decide: an unknown
// answer, a fault nearby or an overwritten row make it silent. `violation.ts` has the bounds.
import type { History } from "../history.ts";
import { nothingAcknowledgedIsLost, oneKeyOneRun, refusedMeansNotDone } from "./acknowledged.ts";
import { lostOf, stillProven } from "./after-a-loss.ts";
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
  readsNeverGoBackwards,
  statesFollowTheMachine,
} from "./states.ts";
import { dueTimesAreMet, oneSupervisorActs } from "./supervision.ts";
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
  G8: dueTimesAreMet,
  G9: oneSupervisorActs,
  G10: everyRunEnds,
  G11: undoneInReverse,
  G12: retriesObeyPolicies,
  G13: refusedMeansNotDone,
  G14: namespacesDoNotLeak,
  G15: readyWorkMeetsWaiters,
  G16: cancelStopsForward,
  G17: readsNeverGoBackwards,
  G19: oneEffectOfEachStep,
  G20: failsAlone,
} satisfies Record<PromiseName, Check>;

/** Every broken promise that the history proves; none for a history as it should be. */
export function checkHistory(
  history: History,
  bounds: Bounds = boundsFor(history.meta.source),
): readonly Violation[] {
  const facts = factsOf(history, bounds);
  const lost = lostOf(facts);
  const violations = (promise: PromiseName): readonly Violation[] => {
    const found = [...CHECKS[promise](facts)];
    const proven = lost ? found.filter(stillProven(facts, promise, lost)) : found;
    // Tokens are distinguished by their secrets: no loss excuses it.
    const always = lost && promise === "G3" ? [...tokensAreGivenOnce(facts)] : [];
    const more = always.filter(({ text }) => !proven.some((one) => one.text === text));
    return [...proven, ...more].map((finding) => ({ promise, ...finding }));
  };
  return PROMISE_NAMES.flatMap(violations);
}
