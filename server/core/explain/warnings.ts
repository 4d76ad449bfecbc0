// The failures after which a run continued, found from its steps: steps whose `on_failure` is
// continue, and maps that tolerated failed items. The run itself stores only their number.
import type { Outcome } from "../model/attempt.ts";
import { isFailed, itemsFailed, TOO_MANY_FAILED } from "../model/items.ts";
import type { Run, Step } from "../model/model.ts";
import { itemOf } from "../model/step-key.ts";
import type { Plan, PlanStep } from "../plan/plan.ts";
import { ANSWERED } from "../recovery/fail-step.ts";
import type { SeenAttempt } from "./explanation.ts";

interface Warning {
  /** Number of the step. */
  readonly step: number;
  readonly code: string;
  readonly message: string;
}

interface WarnedRun {
  readonly run: Pick<Run, "warnings">;
  readonly steps: ReadonlyMap<number, Step>;
  /** Oldest first. */
  readonly attempts: readonly SeenAttempt[];
}

/** In the order of the definition, at most as many as the run has counted. */
export function warningsOf(plan: Plan, seen: WarnedRun): readonly Warning[] {
  const found = plan.steps.flatMap((planned) => foundOf(planned, seen) ?? []);
  const counted = inTime(found).slice(0, seen.run.warnings);
  return found.filter((one) => counted.includes(one)).map(({ warning }) => warning);
}

interface Found {
  readonly warning: Warning;
  readonly always: boolean;
  /** Index of its last failure among the attempts; -1: it is no longer stored. */
  readonly at: number;
}

/**
 * A step may also fail while its run stops, and then the run does not continue after it. Such a
 * failure is later than all that the run counted, except those of `always` steps.
 */
function inTime(found: readonly Found[]): readonly Found[] {
  return found.toSorted((a, b) => Number(b.always) - Number(a.always) || a.at - b.at);
}

function foundOf(planned: PlanStep, seen: WarnedRun): Found | null {
  const { no, id, always } = planned;
  const step = seen.steps.get(no);
  if (!step || !goesOnAfter(planned, { no, forward: step.forward.kind, items: step.items }))
    return null;
  const at = seen.attempts.findLastIndex(
    (one) => one.step === no && ENDS_A_STEP.has(one.kind) && failureOf(one.outcome) !== null,
  );
  const found = (code: string, message: string): Found => ({
    warning: { step: no, code, message },
    always,
    at,
  });
  if (planned.work.kind === "map" && step.items && step.forward.kind === "SUCCEEDED")
    return found(TOO_MANY_FAILED, itemsFailed(step.items, planned.work));
  const last = seen.attempts[at];
  const failure = last && failureOf(last.outcome);
  if (!failure)
    return found("", `"${id}" failed, and the attempt with the reason is no longer stored`);
  return failure.code === ANSWERED ? null : found(failure.code, failure.message);
}

const ENDS_A_STEP: ReadonlySet<SeenAttempt["kind"]> = new Set(["perform", "verify", "engine"]);

function failureOf(outcome: Outcome): { readonly code: string; readonly message: string } | null {
  return outcome.kind === "failure" || outcome.kind === "unknown" ? outcome : null;
}

/** Whether the run continues after its failure, or after that of its items. */
function goesOnAfter(
  planned: PlanStep | undefined,
  { no, forward, items }: Pick<Step, "no" | "items"> & { readonly forward: string },
): boolean {
  if (!planned || itemOf(no) > 0) return false;
  if (planned.work.kind === "map" && items && items.failed > 0 && forward === "SUCCEEDED")
    return !isFailed(items, planned.work);
  return forward === "FAILED" && planned.onFailure === "continue";
}
