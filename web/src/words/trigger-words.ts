// A trigger in words: its event, its action, and the templates of the action.
import type { Payload } from "@drover/proto/drover/v1/payload_pb.ts";
import type { TriggerDefinition } from "@drover/proto/drover/v1/trigger_pb.ts";

type Source = Pick<TriggerDefinition, "source">;
type Action = Pick<TriggerDefinition, "action">;

/** `call over HTTP, signed in x-hub-signature-256`, `end of a run of build: failed` */
export function eventWords({ source }: Source): string {
  if (source.case === "runEnd") {
    const states = source.value.states.length === 0 ? "" : `: ${source.value.states.join(", ")}`;
    return `end of a run of ${source.value.workflow}${states}`;
  }
  const auth = source.value?.auth;
  if (auth?.case === "hmac") return `call over HTTP, signed in ${auth.value.header}`;
  return auth?.case === "bearer" ? "call over HTTP, with a bearer token" : "unknown";
}

/** `start a run of deploy`, `signal paid`, `complete a task` */
export function actionWords({ action }: Action): string {
  switch (action.case) {
    case "schedule":
      return `start a run of ${action.value.workflow}`;
    case "signal":
      return `signal ${action.value.name}`;
    case "complete":
      return "complete a task";
    default:
      return "unknown";
  }
}

/** The templates of the action, as they were written, with their names. */
export function templatesOf({ action }: Action): readonly (readonly [string, string])[] {
  switch (action.case) {
    case "schedule": {
      const { key, input, labels } = action.value;
      const named = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
      return [
        ["Key of the run", key],
        ["Labels", named.join(" ")],
        ["Input", jsonOf(input)],
      ];
    }
    case "signal": {
      const { runKey, runId, signalId, payload } = action.value;
      return [
        ["Key of the run", runKey],
        ["Id of the run", runId],
        ["Id of the signal", signalId],
        ["Payload", jsonOf(payload)],
      ];
    }
    case "complete":
      return [
        ["Callback token", action.value.callbackToken],
        ["Outcome", jsonOf(action.value.outcome)],
      ];
    default:
      return [];
  }
}

function jsonOf(payload: Payload | undefined): string {
  return payload?.body.case === "json" ? payload.body.value : "";
}
