/** A trigger in a few words: its source and its action; and the definition that flags describe. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Payload } from "@drover/proto/drover/v1/payload_pb.ts";
import {
  type TriggerDefinition,
  TriggerDefinitionSchema,
  type TryTriggerResponse,
} from "@drover/proto/drover/v1/trigger_pb.ts";
import { usageFailure } from "./failure.ts";
import { readPayload } from "./input.ts";
import { clean } from "./words.ts";

/** The source: `POST, signed in x-hub-signature-256`, `end of build: failed`. */
export function sourceWords({ source }: TriggerDefinition): string {
  if (source.case === "runEnd") {
    const states = source.value.states.length === 0 ? "" : `: ${source.value.states.join(", ")}`;
    return clean(`end of ${source.value.workflow}${states}`);
  }
  const auth = source.value?.auth;
  if (auth?.case === "hmac") return clean(`POST, signed in ${auth.value.header}`);
  return auth?.case === "bearer"
    ? "POST, with a bearer token"
    : "unknown to this version of drover";
}

/** The action: `schedule deploy`, `signal paid`, `complete a task`. */
export function actionWords({ action }: Pick<TriggerDefinition, "action">): string {
  switch (action.case) {
    case "schedule":
      return clean(`schedule ${action.value.workflow}`);
    case "signal":
      return clean(`signal ${action.value.name}`);
    case "complete":
      return "complete a task";
    default:
      return "unknown to this version of drover";
  }
}

/** Templates as they were written. */
export function detailsOf(
  action: TryTriggerResponse["action"],
): readonly (readonly [string, string])[] {
  switch (action.case) {
    case "schedule": {
      const { key, input, labels } = action.value;
      const named = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
      return [
        ["key", clean(key)],
        ["labels", clean(named.join(" "))],
        ["input", jsonWords(input)],
      ];
    }
    case "signal": {
      const { runKey, runId, signalId, payload } = action.value;
      return [
        ["run", clean(runId === "" ? `key:${runKey}` : runId)],
        ["signal id", clean(signalId)],
        ["payload", jsonWords(payload)],
      ];
    }
    case "complete":
      return [
        ["token", clean(action.value.callbackToken)],
        ["outcome", jsonWords(action.value.outcome)],
      ];
    default:
      return [];
  }
}

function jsonWords(payload: Payload | undefined): string {
  return payload?.body.case === "json" ? clean(payload.body.value) : "";
}

export interface DefinitionOptions {
  readonly name?: string;
  readonly hmac?: string;
  readonly prefix?: string;
  readonly timestamp?: string;
  readonly bearer?: boolean;
  readonly endOf?: string;
  readonly state?: readonly string[];
  readonly when?: string;
  readonly schedule?: string;
  readonly input?: string;
  readonly key?: string;
  readonly label?: Readonly<Record<string, string>>;
}

/** A trigger that starts runs, as flags describe it; signals and outcomes need a file. */
export function definitionOf(options: DefinitionOptions): TriggerDefinition {
  const { name: trigger, schedule: workflow, when = "", key = "", label = {} } = options;
  if (trigger === undefined || workflow === undefined)
    throw usageFailure(
      "a trigger without a file needs --name and --schedule",
      "drover trigger put FILE, or --name NAME --bearer --schedule WORKFLOW",
    );
  const input = readPayload(options.input, "--input");
  const value = { workflow, key, labels: { ...label }, ...(input && { input }) };
  const source = sourceOf(options);
  return create(TriggerDefinitionSchema, {
    trigger,
    when,
    source,
    action: { case: "schedule", value },
  });
}

type Source = NonNullable<MessageInitShape<typeof TriggerDefinitionSchema>["source"]>;

function sourceOf({ hmac, prefix, timestamp, bearer, endOf, state }: DefinitionOptions): Source {
  const given = [hmac, bearer, endOf].filter((one) => one !== undefined);
  if (given.length !== 1)
    throw usageFailure(
      "a trigger has exactly one source",
      "give one of --hmac HEADER, --bearer and --end-of WORKFLOW",
    );
  if (endOf !== undefined)
    return { case: "runEnd", value: { workflow: endOf, states: [...(state ?? [])] } };
  if (hmac === undefined) return { case: "http", value: { auth: { case: "bearer", value: {} } } };
  const signed = { header: hmac, prefix: prefix ?? "", timestampHeader: timestamp ?? "" };
  return { case: "http", value: { auth: { case: "hmac", value: signed } } };
}
