// The three services of Drover, each handler mounted once: behind a port for the world, and without
// one for whoever calls a server within his own process.
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { AGENT_ITEM_FIELDS, createAgentService } from "./agent-service.ts";
import type { Mount, Mounted } from "./mount.ts";
import { createOperatorService } from "./operator-service.ts";
import { SCHEDULER_ITEM_FIELDS } from "./schedule-calls.ts";
import { createSchedulerService } from "./scheduler-service.ts";

/** What the three need together. */
export type ServiceDeps = Parameters<typeof createSchedulerService>[0] &
  Parameters<typeof createOperatorService>[0] &
  Parameters<typeof createAgentService>[0];

export function droverMethods(deps: ServiceDeps, mount: Mount): readonly Mounted[] {
  return [
    ...mount.service(SchedulerService, createSchedulerService(deps), {
      itemFields: SCHEDULER_ITEM_FIELDS,
      waits: ["WaitRun"],
    }),
    ...mount.service(OperatorService, createOperatorService(deps)),
    ...mount.service(AgentService, createAgentService(deps), {
      itemFields: AGENT_ITEM_FIELDS,
      pauses: ["PollTask"],
    }),
  ];
}
