// The open approvals of a run: the steps that wait for decisions, who has approved, since when they
// wait, and until when.
import { isApprover } from "../events/on-signal.ts";
import type { EpochMs } from "../model/attempt.ts";
import type { Decision } from "../model/history.ts";
import type { Step } from "../model/model.ts";
import type { Plan, PlanStep, PlanWork } from "../plan/plan.ts";

export type ApprovalWork = Extract<PlanWork, { kind: "approval" }>;

export interface OpenApproval {
  /** Number of the step. */
  readonly step: number;
  readonly stepId: string;
  readonly work: ApprovalWork;
  /** The people who have approved, in the order of their decisions. */
  readonly approvedBy: readonly string[];
  readonly since: EpochMs;
  /** When `work.onExpiry` follows. */
  readonly deadlineAt: EpochMs;
}

/** A person who may decide. `name` null: any person with one of the roles. */
export interface Approver {
  readonly name: string | null;
  readonly roles: readonly string[];
}

/** `wakeAt`: the timer of the step. */
export function openApproval(
  { no, id }: Pick<PlanStep, "no" | "id">,
  work: ApprovalWork,
  wakeAt: EpochMs,
  decisions: readonly Decision[],
): OpenApproval {
  const approvedBy = decisions
    .filter(({ step, approved }) => step === no && approved)
    .map(({ approver }) => approver);
  const since = wakeAt - work.withinMs;
  return { step: no, stepId: id, work, approvedBy, since, deadlineAt: wakeAt };
}

/** Those of these steps of one run that wait for approval. `steps`: the run's steps, by number. */
export function openApprovals(
  planned: readonly PlanStep[],
  steps: ReadonlyMap<number, Pick<Step, "forward">>,
  decisions: readonly Decision[],
): readonly OpenApproval[] {
  return planned.flatMap((one) => {
    const forward = steps.get(one.no)?.forward;
    if (one.work.kind !== "approval" || forward?.kind !== "WAITING") return [];
    return [openApproval(one, one.work, forward.wakeAt, decisions)];
  });
}

/** The approval steps of a plan on which the person may decide; null: all approval steps. */
export function approvalSteps(plan: Plan, who: Approver | null): readonly PlanStep[] {
  return plan.steps.filter(
    ({ work }) =>
      work.kind === "approval" &&
      (who === null || isApprover(work, who.name === null ? who.roles : [who.name, ...who.roles])),
  );
}

/**
 * Whether the approval still waits for the person, who is one of its approvers. `requester`: the
 * person who has started the run; null: unknown.
 */
export function waitsForPerson(
  { work, approvedBy }: OpenApproval,
  { name }: Approver,
  requester: string | null,
): boolean {
  if (name === null) return true;
  return !approvedBy.includes(name) && !(work.notRequester && requester === name);
}
