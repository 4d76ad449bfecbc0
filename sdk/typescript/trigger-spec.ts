/** A trigger, as programs write it and in the form of protobuf. Its texts are templates. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type * as wire from "@drover/proto/drover/v1/trigger_pb.ts";
import type { TriggerDefinitionSchema } from "@drover/proto/drover/v1/trigger_pb.ts";
import { type Duration, fromDuration, toDuration } from "./duration.ts";
import { readPayload, toPayload } from "./payload.ts";

/** HMAC-SHA256 over the body, in hex, keyed by the secret. */
export interface HmacSpec {
  /** The header that contains the signature, such as "X-Hub-Signature-256". */
  readonly header: string;
  /** Text before the signature, such as "sha256=". Default: none. */
  readonly prefix?: string;
  /**
   * The header with the time of the signature; TIME.BODY is signed then. Default: no time is
   * required.
   */
  readonly timestampHeader?: string;
  /** Maximum difference of that time from now. Default: 5 minutes. */
  readonly tolerance?: Duration;
}

export interface RunEndSpec {
  readonly workflow: string;
  /** Default: all. */
  readonly states?: readonly ("completed" | "failed" | "compensated" | "cancelled")[];
}

export type TriggerSource =
  | { readonly http: { readonly hmac: HmacSpec } | { readonly bearer: true } }
  | { readonly runEnd: RunEndSpec };

export type TriggerAction =
  | {
      readonly schedule: {
        readonly workflow: string;
        readonly version?: number;
        /** A JSON template. Default: over HTTP the body; at the end of a run none. */
        readonly input?: unknown;
        /**
         * Over HTTP, the key of the run, by which repeats are detected. Default: each call starts a
         * run.
         */
        readonly key?: string;
        readonly labels?: Readonly<Record<string, string>>;
        readonly priority?: number;
      };
    }
  | {
      readonly signal: {
        /** The run, by its key or by its id. */
        readonly runKey?: string;
        readonly runId?: string;
        readonly name: string;
        /** The id of the signal, by which repeats are detected. */
        readonly signalId: string;
        /** A JSON template. Default: the body. */
        readonly payload?: unknown;
      };
    }
  | {
      readonly complete: {
        readonly callbackToken: string;
        /** A JSON template that evaluates to { success: OUTPUT } or { failed: { code, ... } }. */
        readonly outcome: unknown;
      };
    };

export type TriggerSpec = {
  readonly trigger: string;
  /** A CEL condition. Default: always. */
  readonly when?: string;
} & TriggerSource &
  TriggerAction;

type Init = MessageInitShape<typeof TriggerDefinitionSchema>;
type Parts = Exclude<Init, wire.TriggerDefinition>;

export function toTrigger(spec: TriggerSpec): Init {
  const { trigger, when = "" } = spec;
  return { trigger, when, source: toSource(spec), action: toAction(spec) };
}

function toSource(spec: TriggerSource): NonNullable<Parts["source"]> {
  if ("runEnd" in spec) {
    const { workflow, states = [] } = spec.runEnd;
    return { case: "runEnd", value: { workflow, states: [...states] } };
  }
  const { http } = spec;
  if ("bearer" in http) return { case: "http", value: { auth: { case: "bearer", value: {} } } };
  const { header, prefix = "", timestampHeader = "", tolerance } = http.hmac;
  const timed = tolerance === undefined ? {} : { tolerance: toDuration(tolerance) };
  const value = { header, prefix, timestampHeader, ...timed };
  return { case: "http", value: { auth: { case: "hmac", value } } };
}

function toAction(spec: TriggerAction): NonNullable<Parts["action"]> {
  if ("schedule" in spec) {
    const { input, labels, ...rest } = spec.schedule;
    const payload = toPayload(input);
    const value = { ...rest, labels: { ...labels }, ...(payload && { input: payload }) };
    return { case: "schedule", value };
  }
  if ("signal" in spec) {
    const { payload: given, ...rest } = spec.signal;
    const payload = toPayload(given);
    return { case: "signal", value: { ...rest, ...(payload && { payload }) } };
  }
  const { callbackToken, outcome } = spec.complete;
  const payload = toPayload(outcome);
  return { case: "complete", value: { callbackToken, ...(payload && { outcome: payload }) } };
}

/** undefined: it is of a kind that this version does not know. */
export function readTriggerSpec(message: wire.TriggerDefinition): TriggerSpec | undefined {
  const source = readSource(message);
  const action = readAction(message.action);
  if (!source || !action) return undefined;
  const { trigger, when } = message;
  return Object.freeze({ trigger, ...(when === "" ? {} : { when }), ...source, ...action });
}

function readSource({ source }: wire.TriggerDefinition): TriggerSource | undefined {
  if (source.case === "runEnd") {
    const states = source.value.states as RunEndSpec["states"];
    return { runEnd: { workflow: source.value.workflow, ...(states?.length && { states }) } };
  }
  const auth = source.value?.auth;
  if (auth?.case === "bearer") return { http: { bearer: true } };
  if (auth?.case !== "hmac") return undefined;
  const { header, prefix, timestampHeader, tolerance } = auth.value;
  const timed =
    timestampHeader === "" ? {} : { timestampHeader, tolerance: fromDuration(tolerance) };
  return { http: { hmac: { header, prefix, ...timed } } };
}

export function readAction(
  action: wire.TriggerDefinition["action"] | wire.TryTriggerResponse["action"],
): TriggerAction | undefined {
  switch (action.case) {
    case "schedule": {
      const { workflow, version, key, labels, priority } = action.value;
      const input = readPayload(action.value.input);
      const given = { workflow, version, key, labels: { ...labels }, priority };
      return { schedule: { ...given, ...(input === undefined ? {} : { input }) } };
    }
    case "signal": {
      const { runKey, runId, name, signalId } = action.value;
      const payload = readPayload(action.value.payload);
      const run = runId === "" ? { runKey } : { runId };
      return {
        signal: { ...run, name, signalId, ...(payload === undefined ? {} : { payload }) },
      };
    }
    case "complete": {
      const { callbackToken, outcome } = action.value;
      return { complete: { callbackToken, outcome: readPayload(outcome) } };
    }
    default:
      return undefined;
  }
}
