// A client that registers workflows: new versions beside runs of the old ones, sometimes without
// moving the default, sometimes content that is registered already.
import { create } from "@bufbuild/protobuf";
import {
  RegisterWorkflowRequestSchema,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { definitionMessage } from "../../server/api/workflow/convert-definition.ts";
import type { Definition } from "../../server/core/definition/definition.ts";
import type { Chance } from "../../simulator/chance.ts";
import type { Client } from "./client.ts";
import { answerSeen, canariesIn } from "./seen.ts";
import { lastOfFamily } from "./workload-children.ts";
import { randomDefinition } from "./workload-rare.ts";
import { canaryOf, canaryWords } from "./world.ts";

export interface Registered {
  readonly name: string;
  readonly version: number;
  readonly definition: Definition;
}

const NAMES = 3;
const CALL_MS_MAX = 3_000;
const AGAIN_SHARE = 0.15;

function workflowName(canary: string, index: number): string {
  return `${canary}-flow-${index}`;
}

/** The last one is none that is ever registered. */
export function workflowNames(canary: string): readonly string[] {
  return Array.from({ length: NAMES + 1 }, (_, index) => workflowName(canary, index));
}

/** Adds to the list what was acknowledged. */
export async function registerSome(client: Client, registered: Registered[]): Promise<void> {
  const { world, process, namespace } = client;
  const { chance, clock } = process;
  const canary = canaryOf(world, namespace);
  for (let number = 0; !world.faults.calm; number++) {
    const known = registered.length > 0 && chance.happens(AGAIN_SHARE);
    if (known) world.faults.count("registered again");
    const definition = known
      ? chance.pick(registered).definition
      : definitionOf(chance, canary, number % NAMES);
    const version = await register(client, definition);
    if (version !== null) registered.push({ name: definition.workflow, version, definition });
    if (number >= NAMES - 1) await clock.sleep(chance.between(500, 6_000));
  }
}

/** It runs none but those behind it, so that no family grows without an end. */
function definitionOf(chance: Chance, canary: string, index: number): Definition {
  const workflow = workflowName(canary, index);
  if (index === NAMES - 1) return { ...lastOfFamily(chance, canary), workflow };
  return { ...randomDefinition(chance, canary, workflowNames(canary).slice(index + 1)), workflow };
}

/** null: the outcome is unknown. */
export async function register(client: Client, definition: Definition): Promise<number | null> {
  const { world, process, namespace } = client;
  const server = process.chance.pick(world.servers);
  const asked = { rpc: "RegisterWorkflow", namespace, definition } as const;
  const call = world.recorder.call(process.name, server.name, asked);
  const request = create(RegisterWorkflowRequestSchema, {
    namespace,
    source: { case: "definition", value: definitionMessage(definition) },
    keepDefault: process.chance.happens(0.3),
  });
  const method = SchedulerService.method.registerWorkflow;
  const reply = await world.network.unary(process, server, method, request, CALL_MS_MAX);
  const answer = answerSeen(reply, ({ name, version, created }) => ({
    kind: "registered",
    name,
    version,
    created,
  }));
  const canaries = canariesIn(reply.bytes, canaryWords(world));
  world.recorder.answer(process.name, call, answer, canaries);
  return answer.kind === "registered" ? answer.version : null;
}

/** A version that is known to be registered, or the default one of its name. */
export function pickVersion(
  chance: Chance,
  registered: readonly Registered[],
): { readonly name: string; readonly version: number } | null {
  if (registered.length === 0) return null;
  const { name, version } = chance.pick(registered);
  return { name, version: chance.happens(0.4) ? 0 : version };
}
