// Runs an ended run again, as a new run that is linked to it: from the steps that failed, or from
// any step, with the outputs of the steps that it reuses (core/recovery/reuse.ts). The old run is
// read without a lock, since it changes no more.

import type { Facts } from "../core/model/facts.ts";
import { isEnded } from "../core/model/model.ts";
import type { Payload } from "../core/model/payload.ts";
import { leavesEffect } from "../core/model/strategy.ts";
import { type From, type ReusedStep, stepsToReuse } from "../core/recovery/reuse.ts";
import { DroverError, type Reason } from "../errors.ts";
import type { AllShards } from "../store/all-shards.ts";
import type { LanedPlan, Plans } from "../store/plans.ts";
import type { RunDefinition, RunDetail } from "../store/reads.ts";
import type { RunId } from "../store/store.ts";
import { inputRefusal } from "./item-finder.ts";
import type { Scheduled, ScheduleItem } from "./new-run.ts";
import type { Admit } from "./rate-limit.ts";
import type { Again, RerunRequest } from "./scheduler.ts";

interface RerunOptions {
  readonly store: AllShards;
  readonly plans: Plans;
  readonly submit: (item: ScheduleItem) => Promise<Scheduled>;
  readonly admitRun: Admit;
}

/** No caller can give this key to a run: such keys have no control characters. */
const keyOf = ({ runId, requestId }: RerunRequest): string => `\u0001rerun ${runId} ${requestId}`;

export async function rerun(options: RerunOptions, request: RerunRequest): Promise<Scheduled> {
  const { store, plans } = options;
  const { namespace, runId } = request;
  const readIn = store.incarnation();
  const detail = await store.reads.runDetail(runId, {
    attempts: false,
    interventions: false,
    escalations: false,
  });
  if (detail?.run.namespaceId !== namespace.id)
    throw new DroverError("RUN_NOT_FOUND", `There is no run "${runId}": it has been removed.`);
  refuseOpen(detail);
  const old = await plans.get(namespace.id, detail.run.definitionId);
  const target = await targetOf(options, request, detail.run);
  const from = fromOf(request, target.laned);
  const reused = await reusedSteps(store, { detail, old, laned: target.laned, from });
  refuseUndone(detail, reused);
  refuseMaps(detail, target.laned, reused);
  refuseNothingToDo(detail, target.laned, reused, from);
  const { key: _, ...run } = detail.run;
  const key = keyOf(request);
  // A repeat is not limited again: repeats of one page would leave no room for the rest of the
  // page.
  const existing = await store.reads.findRun(namespace.id, { key });
  const input = request.input === null ? run.input : request.input.payload;
  return options.submit({
    ...target,
    request: {
      namespace,
      target: { kind: "named", name: run.workflow, version: target.version },
      input,
      key: null,
      priority: run.priority,
      labels: run.labels,
      notify: null,
      startAt: null,
      concurrency: run.concurrency,
      digest: request.digest,
      readIn,
    },
    reserved: { key, name: `request "${request.requestId}"` },
    refusal: inputRefusal(target.laned, input) ?? (existing ? null : options.admitRun(namespace)),
    rerunOf: { runId, from: request.from.kind === "failed" ? null : request.from.stepId },
    reused,
    audit: request.audit ?? null,
  });
}

/** Why runs of these definitions cannot be run again, as far as no run has to be read for it. */
export async function rerunRefusal(
  options: Pick<RerunOptions, "store" | "plans">,
  asked: Again,
  runs: readonly RunDefinition[],
): Promise<DroverError | null> {
  const byWorkflow = new Map(runs.map((run) => [run.workflow, run]));
  const targets = asked.version === "same" ? runs : [...byWorkflow.values()];
  const refusals = await Promise.all(targets.map((run) => unfit(options, asked, run)));
  return refusals.find((refusal) => refusal !== null) ?? null;
}

async function unfit(
  options: Pick<RerunOptions, "store" | "plans">,
  asked: Again,
  run: RunDefinition,
): Promise<DroverError | null> {
  try {
    const { laned } = await targetOf(options, asked, run);
    fromOf(asked, laned);
    return asked.input && inputRefusal(laned, asked.input.payload);
  } catch (error) {
    if (error instanceof DroverError && UNFIT.has(error.reason)) return error;
    throw error;
  }
}

const UNFIT: ReadonlySet<Reason> = new Set(["STEP_NOT_FOUND", "WORKFLOW_NOT_FOUND"]);

function refuseOpen({ run, state }: RunDetail): void {
  if (isEnded(state)) return;
  const next =
    state.kind === "ESCALATED"
      ? "answer its escalations instead"
      : "wait until it has ended, or cancel it first";
  throw stateError(run.runId, state.kind, `it has not ended (${state.kind}): ${next}`);
}

/** The reused steps would rely on effects that were undone. */
function refuseUndone({ run, state }: RunDetail, reused: readonly ReusedStep[]): void {
  if (state.kind !== "COMPENSATED" || reused.length === 0) return;
  throw stateError(
    run.runId,
    state.kind,
    "its effects were undone, so there is nothing to go on from: re-run it from the start",
  );
}

/** A new run has no rows of a reused map's items, so it could not undo what they have done. */
function refuseMaps(
  { run, state }: RunDetail,
  { plan }: LanedPlan,
  reused: readonly ReusedStep[],
): void {
  const map = reused
    .filter(({ as }) => as === "SUCCEEDED")
    .map(({ no }) => plan.steps[no])
    .find((step) => step?.work.kind === "map" && step.work.item.compensate !== null);
  if (!map) return;
  throw stateError(
    run.runId,
    state.kind,
    `it would keep the map "${map.id}", whose items can be undone, and a new run does not keep items yet: re-run it from "${map.id}", or from the start`,
  );
}

function refuseNothingToDo(
  { run, state }: RunDetail,
  { plan }: LanedPlan,
  reused: readonly ReusedStep[],
  from: From,
): void {
  const steps = plan.steps.filter(({ always }) => !always).length;
  if (from.kind !== "failed" || reused.length < steps) return;
  throw stateError(
    run.runId,
    state.kind,
    "no step of it has failed: re-run it from a step, or from the start",
  );
}

function stateError(runId: RunId, state: string, why: string): DroverError {
  return new DroverError("RUN_STATE", `The run ${runId} cannot be done again: ${why}.`, {
    metadata: { run_id: runId, state },
  });
}

async function targetOf(
  { store, plans }: Pick<RerunOptions, "store" | "plans">,
  { namespace, version: wanted }: Again,
  { workflow, version, definitionId }: RunDefinition,
): Promise<Pick<ScheduleItem, "laned" | "workflow" | "version">> {
  if (wanted === "same")
    return { laned: await plans.get(namespace.id, definitionId), workflow, version };
  const found = await store.workflowVersion(namespace.id, workflow, "newest");
  if (!found)
    throw new DroverError(
      "WORKFLOW_NOT_FOUND",
      `There is no workflow "${workflow}" to take the newest version of: register it, or keep the version.`,
      { metadata: { workflow } },
    );
  const laned = await plans.get(namespace.id, found.definitionId);
  return { laned, workflow, version: found.version };
}

function fromOf({ from }: Again, { plan }: LanedPlan): From {
  if (from.kind === "failed") return from;
  if (from.stepId === "") return { kind: "start" };
  const step = plan.steps.find(({ id }) => id === from.stepId);
  if (step) return { kind: "step", no: step.no };
  const known = plan.steps.map(({ id }) => id).slice(0, 20);
  throw new DroverError(
    "STEP_NOT_FOUND",
    `The workflow "${plan.workflow}" has no step "${from.stepId}": its steps are ${known.join(", ")}.`,
    { metadata: { step_id: from.stepId } },
  );
}

interface Both {
  readonly detail: RunDetail;
  readonly old: LanedPlan;
  readonly laned: LanedPlan;
  readonly from: From;
}

async function reusedSteps(
  store: AllShards,
  { detail, old, laned, from }: Both,
): Promise<readonly ReusedStep[]> {
  const { runId } = detail.run;
  const { steps } = detail;
  const ended = { plan: old.plan, steps };
  if (from.kind === "start" || steps.size === 0) return [];
  const facts = (await store.facts([{ runId, steps: [...steps.keys()] }])).get(runId);
  if (!facts) throw new Error(`run ${runId} has ended and has no facts`);
  const changed = new Map(
    (await store.reads.changedInputs(runId)).map(({ step, strategy, input }) => [
      `${step}/${strategy}`,
      input,
    ]),
  );
  return [...stepsToReuse(ended, laned.plan, from)].map(([no, was]): ReusedStep => {
    const step = steps.get(was);
    const output = facts.steps.get(was)?.output ?? null;
    if (!step) throw new Error(`step ${was} of run ${runId} is kept and has no row`);
    const as = step.forward.kind === "SKIPPED" ? "SKIPPED" : "SUCCEEDED";
    const work = laned.plan.steps[no]?.work;
    const planned = work && "strategies" in work ? work.strategies.length : 1;
    const inputs = new Map(
      step.strategies.flatMap((strategy, index): [number, Payload | null][] => {
        if (!leavesEffect(strategy)) return [];
        const given = strategy.changed ? changed.get(`${was}/${index}`) : undefined;
        if (given !== undefined) return [[index, given]];
        return [[index, inputOf(old, was, strategy.planned, facts)]];
      }),
    );
    return {
      no,
      as,
      strategies: step.strategies.map((strategy, index) => ({
        planned: strategy.planned < planned ? strategy.planned : 0,
        changed: inputs.has(index),
        effectStatus: strategy.effectStatus,
      })),
      fence: step.fence,
      output,
      inputs,
      of: detail.reused.get(was) ?? runId,
    };
  });
}

function inputOf(
  { evaluator }: LanedPlan,
  no: number,
  planned: number,
  facts: Facts,
): Payload | null {
  const evaluated = evaluator.input(no, planned, facts);
  // A person may have declared the step succeeded although it had no input.
  return evaluated.kind === "value" ? evaluated.value : null;
}
