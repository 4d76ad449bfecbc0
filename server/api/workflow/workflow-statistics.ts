// The messages about the runs of workflows that ended in the last 24 hours.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Duration, durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { GetWorkflowResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { WorkflowStatisticsSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import { dayBefore, type WorkflowRuns } from "../../store/activity.ts";
import type { WholeStore } from "../../store/all-shards.ts";
import { tookQuantile } from "../../store/took-buckets.ts";
import { failingStepMessage } from "../operator/activity.ts";

type StatisticsMessage = MessageInitShape<typeof WorkflowStatisticsSchema>;
type Reads = Pick<WholeStore, "operators">;

const FAILING_STEPS_MAX = 50;

/** By the name of the workflow; each of `workflows` has one. */
export async function workflowStatistics(
  { operators }: Reads,
  namespaceId: number,
  workflows: readonly string[],
): Promise<ReadonlyMap<string, StatisticsMessage>> {
  const since = dayBefore(await operators.now());
  const counted = await operators.workflowRuns(namespaceId, workflows, since);
  const byName = new Map(counted.map((one) => [one.workflow, one]));
  return new Map(workflows.map((name) => [name, statisticsMessage(since, byName.get(name))]));
}

/** Of one workflow, with the steps that failed. */
export async function statisticsFields(
  { operators }: Reads,
  namespaceId: number,
  workflow: string,
): Promise<
  Pick<
    MessageInitShape<typeof GetWorkflowResponseSchema>,
    "statistics" | "failingSteps" | "moreFailingSteps"
  >
> {
  const since = dayBefore(await operators.now());
  const [runs, failing] = await Promise.all([
    operators.workflowRuns(namespaceId, [workflow], since),
    operators.failingStepsOf(namespaceId, workflow, since, FAILING_STEPS_MAX + 1),
  ]);
  return {
    statistics: statisticsMessage(since, runs[0]),
    failingSteps: failing.slice(0, FAILING_STEPS_MAX).map(failingStepMessage),
    moreFailingSteps: failing.length > FAILING_STEPS_MAX,
  };
}

/** `runs` undefined: none ended. */
function statisticsMessage(since: EpochMs, runs: WorkflowRuns | undefined): StatisticsMessage {
  const sinceTime = timestampFromMs(since);
  if (runs === undefined) return { sinceTime };
  const { ends, completedTook, lastFailureAt } = runs;
  const p50 = durationOf(tookQuantile(completedTook, 0.5));
  const p95 = durationOf(tookQuantile(completedTook, 0.95));
  return {
    sinceTime,
    completed: ends.COMPLETED,
    failed: ends.FAILED,
    compensated: ends.COMPENSATED,
    cancelled: ends.CANCELLED,
    ...(p50 ? { p50 } : {}),
    ...(p95 ? { p95 } : {}),
    ...(lastFailureAt === null ? {} : { lastFailureTime: timestampFromMs(lastFailureAt) }),
  };
}

function durationOf(ms: number | null): Duration | null {
  return ms === null ? null : durationFromMs(ms);
}
