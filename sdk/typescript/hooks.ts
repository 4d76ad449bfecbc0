/** Webhooks: HTTP requests that report events of the namespace, and the state of their delivery. */

import type * as wire from "@drover/proto/drover/v1/hook_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { readTime } from "./runs.ts";

/** Events that a hook may receive; `run-ended` is for every run. */
export type HookEvent =
  | "escalation-opened"
  | "escalation-reminder"
  | "escalation-closed"
  | "run-ended"
  | "approval-requested";

export interface HookSpec extends CallControl {
  /** http or https, without user or fragment. */
  readonly url: string;
  /** Default: only the ends of runs that name the hook (`notify`). */
  readonly events?: readonly HookEvent[];
  /** Key that signs its webhooks, 16 to 256 characters. Default: the current secret stays. */
  readonly secret?: string;
}

export interface Hook {
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  /** SHA-256, hex; the server never returns the secret itself. */
  readonly secretDigest: string;
  readonly createdTime: Date | null;
  readonly changedTime: Date | null;
}

export interface ListDeliveriesSpec extends CallControl {
  /** Webhooks of this hook only. Default: all. */
  readonly hook?: string;
  /** Default: all. */
  readonly states?: readonly ("pending" | "delivered" | "given-up")[];
  /** Default 50, at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

/** One webhook and the state of its delivery. */
export interface Delivery {
  /** By this id a receiver detects repeats: its header Drover-Event-Id. */
  readonly id: string;
  readonly hook: string;
  /** Empty: the hook's own URL. */
  readonly url: string;
  readonly kind: string;
  /** Number of events of one cause that it reports; run and escalation are the first of them. */
  readonly count: number;
  readonly runId: string;
  /** Empty: the webhook is about the run or an approval. */
  readonly escalationId: string;
  readonly state: string;
  readonly tries: number;
  /** Why the last try failed; empty: no try failed. */
  readonly error: string;
  readonly createdTime: Date | null;
  readonly endedTime: Date | null;
  readonly nextTryTime: Date | null;
}

export interface DeliveryPage {
  /** Newest first. */
  readonly deliveries: readonly Delivery[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface Hooks {
  /** Creates a hook, or changes the hook of this name. */
  put(name: string, hook: HookSpec): Promise<{ readonly created: boolean }>;
  list(options?: CallControl): Promise<readonly Hook[]>;
  /** Pending webhooks of the hook are given up. */
  delete(name: string, options?: CallControl): Promise<{ readonly deleted: boolean }>;
  deliveries(options?: ListDeliveriesSpec): Promise<DeliveryPage>;
}

const rpc = OperatorService.method;

export function createHooks(call: Call, namespace: string): Hooks {
  return Object.freeze({
    async put(name: string, spec: HookSpec): Promise<{ readonly created: boolean }> {
      const { url, events = [], secret = "", signal } = spec;
      const request = { namespace, name, url, events: [...events], secret };
      const { created } = await call(rpc.putHook, request, { signal });
      return { created };
    },

    async list({ signal }: CallControl = {}): Promise<readonly Hook[]> {
      const { hooks } = await call(rpc.listHooks, { namespace }, { signal });
      return hooks.map(readHook);
    },

    async delete(
      name: string,
      { signal }: CallControl = {},
    ): Promise<{ readonly deleted: boolean }> {
      const { deleted } = await call(rpc.deleteHook, { namespace, name }, { signal });
      return { deleted };
    },

    async deliveries(spec: ListDeliveriesSpec = {}): Promise<DeliveryPage> {
      const { hook = "", states = [], pageSize = 0, pageToken = "", signal } = spec;
      const request = { namespace, hook, states: [...states], pageSize, pageToken };
      const answer = await call(rpc.listDeliveries, request, { signal });
      const deliveries = answer.deliveries.map(readDelivery);
      return { deliveries, nextPageToken: answer.nextPageToken };
    },
  });
}

function readHook({ name, url, events, secretDigest, ...hook }: wire.Hook): Hook {
  return Object.freeze({
    name,
    url,
    events,
    secretDigest,
    createdTime: readTime(hook.createdTime),
    changedTime: readTime(hook.changedTime),
  });
}

function readDelivery(delivery: wire.Delivery): Delivery {
  const { id, hook, url, kind, count, runId, escalationId, state, tries, error } = delivery;
  return Object.freeze({
    id,
    hook,
    url,
    kind,
    count,
    runId,
    escalationId,
    state,
    tries,
    error,
    createdTime: readTime(delivery.createdTime),
    endedTime: readTime(delivery.endedTime),
    nextTryTime: readTime(delivery.nextTryTime),
  });
}
