// Reads the counts of an overview: how runs of the last minutes ended, and what supervisors did.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ActivitySchema } from "@drover/proto/drover/v1/overview_pb.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import { nameAt } from "../../core/plan/plan.ts";
import type { InterventionPage } from "../../store/operators.ts";
import {
  type ActivityRows,
  activityOf,
  FAILING_STEPS_MAX,
  firstMinuteOf,
  INTERVENTIONS_SAMPLED,
  RETRIES_SAMPLED,
  retriedSteps,
  WORKFLOWS_NAMED_MAX,
} from "./activity.ts";
import { createPlans, type OperatorCallDeps } from "./agent-list.ts";
import { EVERY_RULE } from "./intervention-list.ts";

const NEWEST: Omit<InterventionPage, "rules" | "from" | "limit"> = {
  runId: null,
  until: null,
  after: null,
};
const NO_RETRY = EVERY_RULE.filter((rule) => rule !== "backoff");

export async function readActivity(
  deps: OperatorCallDeps,
  namespaceId: number,
): Promise<MessageInitShape<typeof ActivitySchema>> {
  const { operators } = deps.store;
  const from = firstMinuteOf(await operators.now());
  return activityOf({
    open: await operators.openRuns(namespaceId),
    substates: await operators.substates(namespaceId),
    counts: await operators.runCounts(namespaceId, from),
    unsuccessful: await operators.unsuccessfulWorkflows(namespaceId, from, WORKFLOWS_NAMED_MAX),
    failing: await operators.failingSteps(namespaceId, from, FAILING_STEPS_MAX + 1),
    interventions: await operators.countInterventions(namespaceId, from),
    sampled: await operators.interventions(namespaceId, {
      ...NEWEST,
      rules: NO_RETRY,
      from,
      limit: INTERVENTIONS_SAMPLED,
    }),
    ...(await retriesOf(deps, namespaceId, from)),
  });
}

/**
 * Every finished retry wait has recorded an intervention of the rule `backoff`. The newest ones are
 * read through an index.
 */
async function retriesOf(
  deps: OperatorCallDeps,
  namespaceId: number,
  from: EpochMs,
): Promise<Pick<ActivityRows, "retriesSampled" | "retriedSteps">> {
  const waits = await deps.store.operators.interventions(namespaceId, {
    ...NEWEST,
    rules: ["backoff"],
    from,
    limit: RETRIES_SAMPLED,
  });
  const planOf = createPlans(deps)();
  const named = retriedSteps(waits).map(async (one) => {
    const { workflow, retries, lastAt, lastRunId } = one;
    const stepId = nameAt(await planOf(one), one.step);
    return { workflow, stepId, retries, lastTime: timestampFromMs(lastAt), lastRunId };
  });
  return { retriesSampled: waits.length, retriedSteps: await Promise.all(named) };
}
