// Performs what a trigger asks for, by the same calls and under the same rules as any client. These
// calls recognize a repeat by the key of a run, the id of a signal or a callback token.
import { createHash } from "node:crypto";
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import {
  CompleteDeferredRequestSchema,
  SignalRequestSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { FailureClass } from "@drover/proto/drover/v1/task_pb.ts";
import { DEDUP_WINDOW_MS } from "../../core/definition/trigger.ts";
import { parseCallbackToken } from "../../dispatch/token.ts";
import { DroverError } from "../../errors.ts";
import type { CallbackOutcome, TriggerRequest } from "../../expressions/trigger-mapping.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { Namespace } from "../../store/store.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { payloadField } from "../calls/payload.ts";
import type { RequestCheck } from "../calls/request-check.ts";
import { createRunCommands } from "../run/run-commands.ts";
import type { RunLookup } from "../run/run-lookup.ts";

interface TriggerActionDeps {
  readonly scheduler: Scheduler;
  readonly namespaces: Namespaces;
  readonly runs: RunLookup;
  readonly check: Pick<RequestCheck, "check">;
}

export interface TriggerActions {
  /** Resolves after the commit. Throws what the scheduler refuses. */
  perform(
    namespace: Namespace,
    trigger: string,
    asked: TriggerRequest,
  ): Promise<{ readonly runId: string }>;
}

type Of<Kind extends TriggerRequest["kind"]> = Extract<TriggerRequest, { kind: Kind }>;

type Deps = TriggerActionDeps & { readonly commands: ReturnType<typeof createRunCommands> };

export function createTriggerActions(options: TriggerActionDeps): TriggerActions {
  const deps: Deps = { ...options, commands: createRunCommands(options) };
  return Object.freeze({
    perform(namespace: Namespace, trigger: string, asked: TriggerRequest) {
      switch (asked.kind) {
        case "schedule":
          return schedule(deps, namespace, trigger, asked);
        case "signal":
          return signal(deps, namespace, asked);
        case "complete":
          return complete(deps, namespace, asked);
      }
    },
  });
}

async function schedule(
  { scheduler }: Deps,
  namespace: Namespace,
  trigger: string,
  asked: Of<"schedule">,
) {
  const { workflow: name, version, input, key, labels, priority } = asked;
  return await scheduler.schedule({
    namespace,
    target: { kind: "named", name, version },
    input,
    key,
    labels,
    priority,
    notify: null,
    startAt: null,
    concurrency: null,
    // Covers the key only: a repeat may be signed or worded differently.
    digest: createHash("sha256").update(`trigger ${trigger} ${key}`).digest("hex"),
    keyRetentionMs: DEDUP_WINDOW_MS,
  });
}

async function signal(deps: Deps, { name: namespace }: Namespace, asked: Of<"signal">) {
  const { run, name, signalId, payload } = asked;
  const ref =
    "key" in run
      ? { case: "key" as const, value: run.key }
      : { case: "runId" as const, value: run.runId };
  const message = create(SignalRequestSchema, {
    namespace,
    run: { ref },
    name,
    signalId,
    ...payloadField("payload", payload),
  });
  const { run: named } = checked(deps, SignalRequestSchema, message);
  const { record } = await deps.runs.find(namespace, named);
  await deps.commands.signal(message);
  return record;
}

async function complete(deps: Deps, namespace: Namespace, asked: Of<"complete">) {
  const { callbackToken, outcome } = asked;
  const token = parseCallbackToken(callbackToken);
  if (token?.namespace !== namespace.name)
    throw new DroverError(
      "TASK_NOT_FOUND",
      `The callback token names no task of the namespace "${namespace.name}": map the one that came with the task.`,
    );
  const message = create(CompleteDeferredRequestSchema, {
    callbackToken,
    outcome: outcomeMessage(outcome),
  });
  const request = checked(deps, CompleteDeferredRequestSchema, message);
  await deps.commands.completeDeferred(request, null);
  return token;
}

/** The message, if it keeps the rules for a call of any client. */
function checked<Desc extends DescMessage>(
  { check }: Deps,
  desc: Desc,
  message: MessageShape<Desc>,
): MessageShape<Desc> {
  check.check(desc, message, null);
  return message;
}

function outcomeMessage(outcome: CallbackOutcome) {
  if (outcome.kind === "success")
    return { case: "success" as const, value: payloadField("output", outcome.output) };
  const { code, message, permanent, noEffect } = outcome;
  const failureClass = permanent ? FailureClass.PERMANENT : FailureClass.TRANSIENT;
  return { case: "failed" as const, value: { code, message, failureClass, noEffect } };
}
