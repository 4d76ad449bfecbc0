/** Triggers, which start or continue runs, and what they refused. */
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type * as wire from "@drover/proto/drover/v1/trigger_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { toPayload } from "./payload.ts";
import { type RunName, toRef } from "./run-name.ts";
import { readTime } from "./runs.ts";
import {
  readAction,
  readTriggerSpec,
  type TriggerAction,
  type TriggerSpec,
  toTrigger,
} from "./trigger-spec.ts";

export interface Trigger {
  readonly name: string;
  /** undefined: it is of a kind that this version does not know. */
  readonly definition: TriggerSpec | undefined;
  /** Its path on every server; empty: it is not a trigger over HTTP. */
  readonly path: string;
  /** SHA-256, hex; the server never returns the secret itself. Empty: it has none. */
  readonly secretDigest: string;
  readonly createdTime: Date | null;
  readonly changedTime: Date | null;
}

/** Calls or run ends that a trigger refused for one reason. */
export interface Refusal {
  readonly trigger: string;
  readonly reason: string;
  readonly message: string;
  /**
   * At the end of a run: the run of the last refusal; empty: the refusal was of a call over HTTP.
   */
  readonly runId: string;
  readonly count: number;
  readonly firstTime: Date | null;
  readonly lastTime: Date | null;
}

export interface TrySpec extends CallControl {
  /** The body of the call, in JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** For a trigger at the end of a run: a run that has ended. */
  readonly run?: RunName;
}

/** null: `when` is false, and the trigger would do nothing. */
export type Tried = TriggerAction | null;

export interface Triggers {
  /**
   * Creates a trigger, or changes the trigger of its name: a definition, or its text in YAML or
   * JSON. Without a secret it keeps its current one.
   */
  put(
    trigger: TriggerSpec | string,
    options?: CallControl & { readonly secret?: string },
  ): Promise<{ readonly created: boolean; readonly trigger: Trigger }>;
  get(name: string, options?: CallControl): Promise<Trigger>;
  list(options?: CallControl): Promise<readonly Trigger[]>;
  delete(name: string, options?: CallControl): Promise<{ readonly deleted: boolean }>;
  /** What was refused, by reason, the newest first. Of all triggers unless one is named. */
  refusals(
    options?: CallControl & { readonly trigger?: string; readonly limit?: number },
  ): Promise<readonly Refusal[]>;
  /** What the trigger would do, without doing it: a stored one, by its name, or a definition. */
  try(trigger: string | TriggerSpec, spec?: TrySpec): Promise<Tried>;
}

const rpc = OperatorService.method;

export function createTriggers(call: Call, namespace: string): Triggers {
  return Object.freeze({
    async put(
      trigger: TriggerSpec | string,
      { secret = "", signal }: CallControl & { readonly secret?: string } = {},
    ) {
      const source =
        typeof trigger === "string"
          ? { case: "text" as const, value: trigger }
          : { case: "definition" as const, value: toTrigger(trigger) };
      const answer = await call(rpc.putTrigger, { namespace, source, secret }, { signal });
      return { created: answer.created, trigger: readTrigger(answer.trigger) };
    },

    async get(name: string, { signal }: CallControl = {}): Promise<Trigger> {
      const { trigger } = await call(rpc.getTrigger, { namespace, name }, { signal });
      return readTrigger(trigger);
    },

    async list({ signal }: CallControl = {}): Promise<readonly Trigger[]> {
      const { triggers } = await call(rpc.listTriggers, { namespace }, { signal });
      return triggers.map(readTrigger);
    },

    async delete(name: string, { signal }: CallControl = {}) {
      const { deleted } = await call(rpc.deleteTrigger, { namespace, name }, { signal });
      return { deleted };
    },

    async refusals({
      trigger = "",
      limit = 0,
      signal,
    }: CallControl & { readonly trigger?: string; readonly limit?: number } = {}) {
      const request = { namespace, trigger, pageSize: limit };
      const { refusals } = await call(rpc.listRefusals, request, { signal });
      return refusals.map(readRefusal);
    },

    async try(trigger: string | TriggerSpec, spec: TrySpec = {}): Promise<Tried> {
      const { headers = {}, query = {}, run, signal } = spec;
      const body = toPayload(spec.body);
      const of =
        typeof trigger === "string"
          ? { case: "name" as const, value: trigger }
          : { case: "definition" as const, value: toTrigger(trigger) };
      const about = run === undefined ? {} : { run: toRef(run) };
      const sent = { headers: { ...headers }, query: { ...query }, ...(body && { body }) };
      const answer = await call(rpc.tryTrigger, { namespace, of, ...sent, ...about }, { signal });
      return answer.passes ? (readAction(answer.action) ?? null) : null;
    },
  });
}

function readTrigger(trigger: wire.Trigger | undefined): Trigger {
  if (!trigger) throw new Error("The server answered without the trigger.");
  const { definition, path, secretDigest, ...times } = trigger;
  return Object.freeze({
    name: definition?.trigger ?? "",
    definition: definition && readTriggerSpec(definition),
    path,
    secretDigest,
    createdTime: readTime(times.createdTime),
    changedTime: readTime(times.changedTime),
  });
}

function readRefusal(refusal: wire.Refusal): Refusal {
  const { trigger, reason, message, runId, count, firstTime, lastTime } = refusal;
  return Object.freeze({
    trigger,
    reason,
    message,
    runId,
    count: Number(count),
    firstTime: readTime(firstTime),
    lastTime: readTime(lastTime),
  });
}
