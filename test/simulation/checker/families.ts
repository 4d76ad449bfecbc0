// Runs that a step of another run has started: parts of G1, G5 and G16.
import { isDeepStrictEqual } from "node:util";
import { planOf, planStepAt } from "../../../server/core/plan/plan.ts";
import {
  allHandOuts,
  callsTo,
  type Facts,
  fateOf,
  type HandOut,
  type RunFacts,
  stepName,
} from "./facts.ts";
import { latestAct, outagesOf } from "./lateness.ts";
import { isOfRun } from "./undos.ts";
import type { Finding } from "./violation.ts";

/** Whether the run whose step began it may have asked it to stop. */
export function stoppedFromAbove({ runs }: Facts, { run }: RunFacts): boolean {
  const parent = run.parent && runs.get(run.parent.runId);
  if (!run.parent || !parent) return false;
  const { state, reason, interventions } = parent.run;
  const isStopping = state !== "RUNNING" && state !== "PAUSED" && reason !== "DONE";
  const no = parent.plan.steps.find(({ id }) => id === run.parent?.stepId)?.no;
  return isStopping || interventions.some(({ rule, step }) => rule === "total" && step === no);
}

/**
 * A part of G5. A child is one that its parent's step asked for, of the workflow that it names; it
 * has ended before its parent ends, and before anything of its parent is undone; and it is the only
 * one of its step at a time.
 */
export function* childrenStayWithin(facts: Facts): Iterable<Finding> {
  const { transactionMs } = facts.bounds;
  for (const child of facts.runs.values()) {
    const { runId, parent: declared, endedAt, createdAt } = child.run;
    if (!declared) continue;
    const parent = facts.runs.get(declared.runId);
    const step = parent?.plan.steps.find(({ id }) => id === declared.stepId);
    if (!parent || step?.work.kind !== "run") {
      yield { runId, text: `run ${runId} is stored as a child of no step that could begin it` };
      continue;
    }
    const of = `run ${runId}, a child of ${stepName(parent, step.no)},`;
    if (!runsWhatIsNamed(facts, child, step.work.strategies))
      yield { runId, text: `${of} runs none of the workflows that its step names` };
    const until = endedAt ?? Number.POSITIVE_INFINITY;
    const parentUntil = parent.run.endedAt ?? Number.POSITIVE_INFINITY;
    if (until > parentUntil + transactionMs)
      yield { runId, text: `${of} was open after its parent had ended at ${parentUntil}` };
    const undo = allHandOuts(parent).find(
      (one) =>
        one.task === "compensate" && one.startedAt + transactionMs < until && isOfRun(parent, one),
    );
    if (undo && !step.always) {
      const text = `${of} was open while its parent was undone, at ${undo.startedAt}`;
      yield { runId, text };
    }
    const beside = siblings(facts, child).find(({ run }) => {
      const from = Math.max(run.createdAt, createdAt);
      return Math.min(run.endedAt ?? until, until) > from + transactionMs;
    });
    if (beside) yield { runId, text: `${of} ran beside run ${beside.run.runId} of the same step` };
  }
}

function siblings({ runs }: Facts, { run }: RunFacts): readonly RunFacts[] {
  return [...runs.values()].filter(
    ({ run: other }) =>
      other.runId !== run.runId &&
      other.parent?.runId === run.parent?.runId &&
      other.parent?.stepId === run.parent?.stepId,
  );
}

/** By the content of any version that a caller asked to register under the name. */
function runsWhatIsNamed(
  facts: Facts,
  { run, plan }: RunFacts,
  ways: readonly { readonly workflow: string }[],
): boolean {
  const names = new Set(ways.map(({ workflow }) => workflow));
  return callsTo(facts, "RegisterWorkflow").some(
    ({ request: { namespace, definition } }) =>
      namespace === run.namespace &&
      names.has(definition.workflow) &&
      isDeepStrictEqual(planOf(definition), plan),
  );
}

/**
 * A part of G16. When an accepted cancel of a run has been passed on, each child that its steps run
 * is asked to stop too: soon after nothing of it goes forward but its `always` steps. One with a
 * pivot may be past it, and then no cancel that undoes stops it.
 */
export function* cancelsReachChildren(facts: Facts): Iterable<Finding> {
  const outages = outagesOf(facts);
  const cancelledAt = new Map<string, number>();
  for (const cancel of callsTo(facts, "CancelRun")) {
    const [received] = cancel.answers;
    const { runId } = cancel.request;
    if (!received || fateOf(cancel).kind !== "accepted") continue;
    cancelledAt.set(runId, Math.min(received.at, cancelledAt.get(runId) ?? received.at));
  }
  for (const child of facts.runs.values()) {
    const { runId } = child.run;
    if (mayGoOn(facts, child)) continue;
    for (const [depth, above] of child.above.entries()) {
      const at = cancelledAt.get(above);
      if (at === undefined) continue;
      // Each generation is notified by the one before.
      let until = at;
      for (let generation = 0; generation <= depth; generation++)
        until = latestAct(outages, facts.bounds, until);
      const late = allHandOuts(child).find(
        (handOut) => isForward(child, handOut) && handOut.startedAt > until,
      );
      if (!late) continue;
      const text = `fence ${late.fence} of ${stepName(child, late.step)} was handed out at ${late.startedAt}, though the cancel of run ${above} above it was acknowledged at ${at}`;
      yield { runId, text };
    }
  }
}

/** Past a pivot, of itself or of one above it, or started by a step that runs last. */
function mayGoOn({ runs }: Facts, child: RunFacts): boolean {
  const family = [child, ...child.above.flatMap((id) => runs.get(id) ?? [])];
  return family.some(({ plan, run }) => {
    const parent = run.parent && runs.get(run.parent.runId);
    const step = parent?.plan.steps.find(({ id }) => id === run.parent?.stepId);
    return plan.steps.some(({ pivot }) => pivot) || (step?.always ?? false);
  });
}

export function isForward(
  { plan }: RunFacts,
  { task, step }: Pick<HandOut, "task" | "step">,
): boolean {
  return task === "perform" && !planStepAt(plan, step)?.always;
}
