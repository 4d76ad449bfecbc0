// Converts retry policies and times of a definition between protobuf and the core.
import { create } from "@bufbuild/protobuf";
import {
  type RetryPolicy as RetryMessage,
  RetryPolicySchema,
  type Timeouts as TimeoutsMessage,
  TimeoutsSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { RetryPolicy, Timeouts } from "../../core/definition/definition.ts";
import { durationField, given, msOf } from "./definition-values.ts";

/** An empty list means: not set, the default policy. */
export function retryFrom(messages: readonly RetryMessage[]): Partial<RetryPolicy>[] | undefined {
  if (messages.length === 0) return undefined;
  return messages.map((message) => ({
    ...given("on", message.on.length > 0 ? [...message.on] : undefined),
    ...given("attempts", message.attempts),
    ...given("initialMs", msOf(message.initial)),
    ...given("factor", message.factor),
    ...given("maxMs", msOf(message.max)),
    ...given("jitter", message.jitter),
  }));
}

export function timeoutsFrom(message: TimeoutsMessage): Partial<Timeouts> {
  return {
    ...given("pickupMs", msOf(message.pickup)),
    ...given("attemptMs", msOf(message.attempt)),
    ...given("heartbeatMs", msOf(message.heartbeat)),
    ...given("stallMs", msOf(message.stall)),
    ...given("totalMs", msOf(message.total)),
    ...given("cancelMs", msOf(message.cancel)),
    ...given("settleMs", msOf(message.settle)),
    ...given("callbackMs", msOf(message.callback)),
  };
}

export function retryMessage(policy: Partial<RetryPolicy>): RetryMessage {
  return create(RetryPolicySchema, {
    on: [...(policy.on ?? [])],
    ...given("attempts", policy.attempts),
    ...given("initial", durationField(policy.initialMs)),
    ...given("factor", policy.factor),
    ...given("max", durationField(policy.maxMs)),
    ...given("jitter", policy.jitter),
  });
}

export function timeoutsMessage(timeouts: Partial<Timeouts>): TimeoutsMessage {
  return create(TimeoutsSchema, {
    ...given("pickup", durationField(timeouts.pickupMs)),
    ...given("attempt", durationField(timeouts.attemptMs)),
    ...given("heartbeat", durationField(timeouts.heartbeatMs)),
    ...given("stall", durationField(timeouts.stallMs ?? undefined)),
    ...given("total", durationField(timeouts.totalMs)),
    ...given("cancel", durationField(timeouts.cancelMs)),
    ...given("settle", durationField(timeouts.settleMs)),
    ...given("callback", durationField(timeouts.callbackMs)),
  });
}
