// Turns a Schedule request into the run that is to begin: finds its definition and its plan, and
// says why the run may not begin.
import type { Payload } from "../core/model/payload.ts";
import { DroverError } from "../errors.ts";
import type { AllShards } from "../store/all-shards.ts";
import type { HookRecord } from "../store/outbox.ts";
import type { LanedPlan } from "../store/plans.ts";
import type { Resolved, ScheduleItem } from "./new-run.ts";
import type { ScheduleOptions } from "./schedule.ts";
import type { ScheduleRequest } from "./scheduler.ts";

type FinderOptions = Pick<ScheduleOptions, "plans" | "admitRun" | "runRefusal"> & {
  readonly store: Pick<AllShards, "outbox" | "reads" | "internDefinition" | "workflowVersion">;
};

export type ItemFinder = (request: ScheduleRequest) => Promise<ScheduleItem>;

/** Each name is looked up once per batch, so all its calls get the same result. */
export function createItemFinder(options: FinderOptions): ItemFinder {
  const versions = new Map<string, Promise<Resolved>>();
  const hooks = new Map<number, Promise<readonly HookRecord[]>>();

  function resolved(request: ScheduleRequest): Promise<Resolved> {
    const { target } = request;
    if (target.kind === "inline") return resolve(options, request);
    const name = `${target.name}/${target.version}`;
    const found = versions.get(name) ?? resolve(options, request);
    versions.set(name, found);
    return found;
  }

  /** Refuses a run whose hook does not exist, while its caller can still name another one. */
  async function hookRefusal(request: ScheduleRequest): Promise<DroverError | null> {
    const { namespace, notify } = request;
    if (notify === null) return null;
    const found = hooks.get(namespace.id) ?? options.store.outbox.hooks(namespace.id);
    hooks.set(namespace.id, found);
    if ((await found).some(({ name }) => name === notify.hook)) return null;
    return new DroverError(
      "HOOK_NOT_FOUND",
      `there is no hook "${notify.hook}" in namespace "${namespace.name}": put it first`,
      { metadata: { name: notify.hook } },
    );
  }

  return async (request) => {
    const { key, input, namespace } = request;
    const full = await refusalOfInline(options, request);
    if (full) throw full;
    const found = await resolved(request);
    const wrong = inputRefusal(found.laned, input) ?? (await hookRefusal(request));
    const refusal = wrong ?? (request.triggered ? null : (options.admitRun?.(namespace) ?? null));
    const reserved = key === null ? null : { key, name: `key "${key}"` };
    return { ...found, request, reserved, refusal, rerunOf: null, reused: [] };
  };
}

/**
 * To find an inline definition is to store it. So a run that would be refused is refused before,
 * unless its key may name a run that exists; that query is made only where a limit is reached.
 */
async function refusalOfInline(
  { store, runRefusal }: FinderOptions,
  { key, namespace, target, triggered }: ScheduleRequest,
): Promise<DroverError | null> {
  if (target.kind !== "inline" || triggered) return null;
  const refusal = runRefusal?.(namespace) ?? null;
  if (refusal === null || key === null) return refusal;
  return (await store.reads.findRun(namespace.id, { key })) === null ? refusal : null;
}

/** Finds the definition that the request names, and its plan. */
async function resolve(
  { store, plans }: FinderOptions,
  { namespace, target }: ScheduleRequest,
): Promise<Resolved> {
  if (target.kind === "inline") {
    const id = await store.internDefinition(namespace.id, target.definition);
    return {
      laned: await plans.get(namespace.id, id),
      workflow: target.definition.workflow,
      version: 0,
    };
  }
  const found = await store.workflowVersion(namespace.id, target.name, target.version);
  if (!found) {
    const which = target.version === 0 ? "" : ` version ${target.version}`;
    throw new DroverError(
      "WORKFLOW_NOT_FOUND",
      `there is no workflow "${target.name}"${which} in namespace "${namespace.name}": register it first`,
      { metadata: { workflow: target.name, version: String(target.version) } },
    );
  }
  const laned = await plans.get(namespace.id, found.definitionId);
  return { laned, workflow: target.name, version: found.version };
}

/** INVALID_REQUEST if the input breaks the workflow's schema; null: it does not. */
export function inputRefusal({ evaluator }: LanedPlan, input: Payload | null): DroverError | null {
  const problem = evaluator.inputProblem(input);
  if (problem === null) return null;
  return new DroverError("INVALID_REQUEST", `The input breaks the workflow's schema: ${problem}`, {
    fields: [{ path: "input", message: problem }],
  });
}
