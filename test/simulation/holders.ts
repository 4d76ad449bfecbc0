// People of one namespace who pause a queue, a workflow or the namespace for a while, cordon an
// agent or open a circuit. After the heal they take all of it back.
import { create } from "@bufbuild/protobuf";
import {
  CircuitSetting,
  CordonAgentRequestSchema,
  SetCircuitRequestSchema,
  UncordonAgentRequestSchema,
} from "@drover/proto/drover/v1/circuit_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import {
  PauseNamespaceRequestSchema,
  PauseQueueRequestSchema,
  PauseWorkflowRequestSchema,
  ResumeNamespaceRequestSchema,
  ResumeQueueRequestSchema,
  ResumeWorkflowRequestSchema,
} from "@drover/proto/drover/v1/queue_pb.ts";
import type { Client } from "./client.ts";
import type { FaultKind } from "./faults.ts";
import type { Request } from "./history.ts";
import type { Held } from "./history-facts.ts";
import { untilAnswered } from "./people.ts";
import { workflowNames } from "./registrar.ts";
import { QUEUES, TASKS, UNDO_TASK } from "./workload.ts";
import { canaryOf } from "./world.ts";

const COUNTED: Readonly<Record<Held["what"], FaultKind>> = {
  queue: "held a queue",
  workflow: "held a workflow",
  namespace: "held a namespace",
  agent: "cordoned an agent",
  circuit: "opened a circuit",
};
/** In the others ready work is to be handed out at once. */
const HOLDING_SHARE = 0.4;

export async function holdSome(client: Client): Promise<void> {
  const { world, process, namespace } = client;
  const { chance, clock } = process;
  if (!chance.happens(HOLDING_SHARE)) return;
  const held: Held[] = [];
  const names = workflowNames(canaryOf(world, namespace)).slice(0, -1);
  while (!world.faults.calm) {
    await clock.sleep(chance.between(500, 4_000));
    if (world.faults.calm) break;
    const what = chance.pick<Held>([
      ...QUEUES.map((name) => ({ what: "queue" as const, name })),
      ...names.map((name) => ({ what: "workflow" as const, name })),
      { what: "namespace", name: namespace },
      ...[1, 2].map((no) => ({ what: "agent" as const, name: `agent-${no}-of-${namespace}` })),
      { what: "circuit", name: `${chance.pick(QUEUES)}/${chance.pick(TASKS)}` },
      { what: "circuit", name: `${chance.pick(QUEUES)}/${UNDO_TASK}` },
    ]);
    held.push(what);
    world.faults.count(COUNTED[what.what]);
    // The other servers learn of cordons and circuits within a second.
    const isAppliedLate = what.what === "agent" || what.what === "circuit";
    const [least, most] = isAppliedLate ? [1_000, 8_000] : [100, 2_500];
    void holdFor(client, what, chance.between(least, most));
  }
  // A pause may still be in flight.
  for (;;) {
    for (const what of held) await letGo(client, what);
    await clock.sleep(2_000);
  }
}

async function holdFor(client: Client, held: Held, ms: number): Promise<void> {
  await hold(client, held);
  await client.process.clock.sleep(ms);
  await letGo(client, held);
}

const done = { kind: "done", run: null, repeated: false } as const;
const ok = () => done;
const reason = "chance";

function hold(client: Client, held: Held): Promise<void> {
  const { namespace } = client;
  const asked = { rpc: "Hold", namespace, held } as const;
  const { pauseQueue, pauseWorkflow, pauseNamespace, cordonAgent } = OperatorService.method;
  const common = { namespace, reason };
  if (held.what === "queue") {
    const request = create(PauseQueueRequestSchema, { ...common, queue: held.name });
    return untilAnswered(client, { method: pauseQueue, request, asked, ok });
  }
  if (held.what === "workflow") {
    const request = create(PauseWorkflowRequestSchema, { ...common, workflow: held.name });
    return untilAnswered(client, { method: pauseWorkflow, request, asked, ok });
  }
  if (held.what === "agent") {
    const agent = { namespace, of: { case: "agentId" as const, value: held.name } };
    const request = create(CordonAgentRequestSchema, { ...agent, by: "chance", why: reason });
    return untilAnswered(client, { method: cordonAgent, request, asked, ok });
  }
  if (held.what === "circuit") return setCircuit(client, asked, CircuitSetting.OPEN);
  const request = create(PauseNamespaceRequestSchema, common);
  return untilAnswered(client, { method: pauseNamespace, request, asked, ok });
}

function setCircuit(
  client: Client,
  asked: Extract<Request, { rpc: "Hold" | "LetGo" }>,
  setting: CircuitSetting,
): Promise<void> {
  const { namespace } = client;
  const [queue = "", task = ""] = asked.held.name.split("/");
  const change = { setting, by: "chance", why: reason };
  const request = create(SetCircuitRequestSchema, { namespace, queue, task, ...change });
  return untilAnswered(client, { method: OperatorService.method.setCircuit, request, asked, ok });
}

function letGo(client: Client, held: Held): Promise<void> {
  const { namespace } = client;
  const asked = { rpc: "LetGo", namespace, held } as const;
  const { resumeQueue, resumeWorkflow, resumeNamespace, uncordonAgent } = OperatorService.method;
  if (held.what === "queue") {
    const request = create(ResumeQueueRequestSchema, { namespace, queue: held.name });
    return untilAnswered(client, { method: resumeQueue, request, asked, ok });
  }
  if (held.what === "workflow") {
    const request = create(ResumeWorkflowRequestSchema, { namespace, workflow: held.name });
    return untilAnswered(client, { method: resumeWorkflow, request, asked, ok });
  }
  if (held.what === "agent") {
    const of = { case: "agentId" as const, value: held.name };
    const request = create(UncordonAgentRequestSchema, { namespace, of });
    return untilAnswered(client, { method: uncordonAgent, request, asked, ok });
  }
  if (held.what === "circuit") return setCircuit(client, asked, CircuitSetting.UNSPECIFIED);
  const request = create(ResumeNamespaceRequestSchema, { namespace });
  return untilAnswered(client, { method: resumeNamespace, request, asked, ok });
}
