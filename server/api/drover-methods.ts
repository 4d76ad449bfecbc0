// The three services of Drover, each handler mounted once. The methods are served on a port, or
// called without one by a caller in the same process.
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { AGENT_ITEM_FIELDS, createAgentService } from "./agent/agent-service.ts";
import type { Mount, Mounted, MountOptions } from "./calls/mount.ts";
import { createCircuitSettings } from "./operator/circuit-calls.ts";
import { createAnswerCalls } from "./operator/escalation-calls.ts";
import { createOperatorService } from "./operator/operator-service.ts";
import { createPauseCalls } from "./operator/queue-calls.ts";
import { SCHEDULER_ITEM_FIELDS } from "./run/schedule-calls.ts";
import { createRunService, createSchedulerService } from "./run/scheduler-service.ts";

/** The dependencies of the three services together. */
type ServiceDeps = Parameters<typeof createSchedulerService>[0] &
  Parameters<typeof createOperatorService>[0] &
  Parameters<typeof createAgentService>[0];

/** What moves a run that has started, and what stops a schedule: no call rate may hold it up. */
const UNLIMITED = [
  ...["CancelRun", "PauseRun", "ResumeRun", "RetryRun", "RerunFrom", "BulkAction"],
  ...["Signal", "Decide", "CompleteDeferred"],
  ...["PauseSchedule", "ResumeSchedule", "DeleteSchedule"],
];
const OF_SCHEDULER: MountOptions = {
  itemFields: SCHEDULER_ITEM_FIELDS,
  waits: ["WaitRun"],
  unlimited: UNLIMITED,
};
const OF_AGENTS: MountOptions = { itemFields: AGENT_ITEM_FIELDS, pauses: ["PollTask"] };

export function droverMethods(deps: ServiceDeps, mount: Mount): readonly Mounted[] {
  return [
    ...mount.service(SchedulerService, createSchedulerService(deps), OF_SCHEDULER),
    ...mount.service(OperatorService, createOperatorService(deps)),
    ...mount.service(AgentService, createAgentService(deps), OF_AGENTS),
  ];
}

type EngineDeps = Parameters<typeof createRunService>[0] &
  Parameters<typeof createAnswerCalls>[0] &
  Parameters<typeof createCircuitSettings>[0] &
  Parameters<typeof createPauseCalls>[0] &
  Parameters<typeof createAgentService>[0];

/**
 * The methods that need only the engine's half of the store: for a simulation over
 * the memory store.
 */
export function engineMethods(deps: EngineDeps, mount: Mount): readonly Mounted[] {
  const operator = {
    ...createAnswerCalls(deps),
    ...createCircuitSettings(deps),
    // The answers contain no queue: its waiting tasks would need a list, which this store lacks.
    ...createPauseCalls(deps, async () => ({})),
  };
  return [
    ...mount.some(SchedulerService, createRunService(deps), OF_SCHEDULER),
    ...mount.some(OperatorService, operator),
    ...mount.service(AgentService, createAgentService(deps), OF_AGENTS),
  ];
}
