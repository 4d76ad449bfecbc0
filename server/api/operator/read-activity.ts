// Reads the counts of an overview: how runs of the last minutes ended, and what supervisors did.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ActivitySchema } from "@drover/proto/drover/v1/overview_pb.ts";
import type { InterventionPage } from "../../store/operators.ts";
import {
  activityOf,
  FAILING_STEPS_MAX,
  firstMinuteOf,
  INTERVENTIONS_SAMPLED,
  WORKFLOWS_NAMED_MAX,
} from "./activity.ts";
import type { OperatorCallDeps } from "./agent-list.ts";
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
  });
}
