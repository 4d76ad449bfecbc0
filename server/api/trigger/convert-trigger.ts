// Converts triggers between protobuf and the core, and the request that a trigger would make, as
// people see it.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  HmacAuth,
  RefusalSchema,
  TriggerDefinition as TriggerMessage,
  TriggerSchema,
  TryTriggerResponseSchema,
} from "@drover/proto/drover/v1/trigger_pb.ts";
import {
  SIGNATURE_TOLERANCE_MS,
  type TriggerAction,
  type TriggerAuth,
  type TriggerDefinition,
  type TriggerSource,
} from "../../core/definition/trigger.ts";
import type { EndKind } from "../../core/model/model.ts";
import type { CallbackOutcome, TriggerRequest } from "../../expressions/trigger-mapping.ts";
import type { RefusalRecord, TriggerRecord } from "../../store/triggers.ts";
import { payloadField, payloadFrom, payloadMessage } from "../calls/payload.ts";

const END_STATES: readonly EndKind[] = ["COMPLETED", "FAILED", "COMPENSATED", "CANCELLED"];

/** The message has passed the validation rules of the proto. */
export function triggerFrom(message: TriggerMessage): TriggerDefinition {
  const { trigger: name, when } = message;
  return { name, source: sourceFrom(message), when, action: actionFrom(message) };
}

function sourceFrom({ source }: TriggerMessage): TriggerSource {
  if (source.case === "runEnd") {
    const { workflow, states } = source.value;
    const known = END_STATES.filter((state) => states.includes(state.toLowerCase()));
    return { kind: "run-end", workflow, states: known };
  }
  const auth = source.value?.auth;
  if (auth?.case === undefined) throw new Error("a trigger without a source has passed the rules");
  return { kind: "http", auth: auth.case === "bearer" ? { kind: "bearer" } : hmacFrom(auth.value) };
}

function hmacFrom({ header, prefix, timestampHeader, tolerance }: HmacAuth): TriggerAuth {
  return {
    kind: "hmac",
    header: header.toLowerCase(),
    prefix,
    timestampHeader: timestampHeader === "" ? null : timestampHeader.toLowerCase(),
    toleranceMs: tolerance ? durationMs(tolerance) : SIGNATURE_TOLERANCE_MS,
  };
}

function actionFrom({ action }: TriggerMessage): TriggerAction {
  switch (action.case) {
    case "schedule": {
      const { workflow, version, input, key, labels, priority } = action.value;
      const asked = { workflow, version, key, labels: { ...labels }, priority };
      return { kind: "schedule", ...asked, input: payloadFrom(input) };
    }
    case "signal": {
      const { runKey, runId, name, signalId, payload } = action.value;
      return { kind: "signal", runKey, runId, name, signalId, payload: payloadFrom(payload) };
    }
    case "complete": {
      const outcome = payloadFrom(action.value.outcome);
      if (!outcome) throw new Error("an action without an outcome has passed the rules");
      return { kind: "complete", callbackToken: action.value.callbackToken, outcome };
    }
    default:
      throw new Error("a trigger without an action has passed the rules");
  }
}

export function triggerMessage(
  { definition, secretDigest, createdAt, changedAt }: TriggerRecord,
  namespace: string,
): MessageInitShape<typeof TriggerSchema> {
  const { name, source, when, action } = definition;
  return {
    definition: {
      trigger: name,
      source: sourceMessage(source),
      when,
      action: actionMessage(action),
    },
    secretDigest: secretDigest ?? "",
    createdTime: timestampFromMs(createdAt),
    changedTime: timestampFromMs(changedAt),
    path: source.kind === "http" ? `/hooks/${namespace}/${name}` : "",
  };
}

type DefinitionInit = Exclude<
  NonNullable<MessageInitShape<typeof TriggerSchema>["definition"]>,
  TriggerMessage
>;

function sourceMessage(source: TriggerSource): NonNullable<DefinitionInit["source"]> {
  if (source.kind === "run-end") {
    const states = source.states.map((state) => state.toLowerCase());
    return { case: "runEnd", value: { workflow: source.workflow, states } };
  }
  const { auth } = source;
  if (auth.kind === "bearer")
    return { case: "http", value: { auth: { case: "bearer", value: {} } } };
  const { header, prefix, timestampHeader, toleranceMs } = auth;
  const timed =
    timestampHeader === null ? {} : { timestampHeader, tolerance: durationFromMs(toleranceMs) };
  return {
    case: "http",
    value: { auth: { case: "hmac", value: { header, prefix, ...timed } } },
  };
}

function actionMessage(action: TriggerAction): NonNullable<DefinitionInit["action"]> {
  switch (action.kind) {
    case "schedule": {
      const { kind, input, labels, ...asked } = action;
      return {
        case: kind,
        value: { ...asked, labels: { ...labels }, ...payloadField("input", input) },
      };
    }
    case "signal": {
      const { kind, payload, ...asked } = action;
      return { case: kind, value: { ...asked, ...payloadField("payload", payload) } };
    }
    case "complete": {
      const { kind, callbackToken, outcome } = action;
      return { case: kind, value: { callbackToken, outcome: payloadMessage(outcome) } };
    }
  }
}

/**
 * What the trigger would ask of the scheduler, in the form of an action whose texts are rendered.
 */
export function askedMessage(
  asked: TriggerRequest,
): NonNullable<MessageInitShape<typeof TryTriggerResponseSchema>["action"]> {
  switch (asked.kind) {
    case "schedule": {
      const { kind, key, input, labels, ...rest } = asked;
      const value = {
        ...rest,
        key: key ?? "",
        labels: { ...labels },
        ...payloadField("input", input),
      };
      return { case: kind, value };
    }
    case "signal": {
      const { kind, run, name, signalId, payload } = asked;
      const of = "key" in run ? { runKey: run.key } : { runId: run.runId };
      const value = { ...of, name, signalId, ...payloadField("payload", payload) };
      return { case: kind, value };
    }
    case "complete": {
      const { kind, callbackToken, outcome } = asked;
      const json = JSON.stringify(outcomeJson(outcome));
      return {
        case: kind,
        value: { callbackToken, outcome: payloadMessage({ kind: "json", json }) },
      };
    }
  }
}

function outcomeJson(outcome: CallbackOutcome): object {
  if (outcome.kind === "failed") {
    const { code, message, permanent, noEffect: no_effect } = outcome;
    return { failed: { code, message, permanent, no_effect } };
  }
  const { output } = outcome;
  return { success: output?.kind === "json" ? JSON.parse(output.json) : null };
}

export function refusalMessage(record: RefusalRecord): MessageInitShape<typeof RefusalSchema> {
  const { trigger, reason, message, runId, count, firstAt, lastAt } = record;
  return {
    trigger,
    reason,
    message,
    runId: runId ?? "",
    count: BigInt(count),
    firstTime: timestampFromMs(firstAt),
    lastTime: timestampFromMs(lastAt),
  };
}
