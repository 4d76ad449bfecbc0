// Converts a map step between protobuf and the core.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Gate,
  GateSchema,
  type MapStep,
  type MapStepSchema,
  type Waves,
  WavesSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { GateDefinition, MapWork, WavesDefinition } from "../../core/definition/definition.ts";
import { payloadFrom, payloadMessage } from "../calls/payload.ts";
import { retryFrom, retryMessage, timeoutsFrom, timeoutsMessage } from "./convert-retry.ts";
import { durationField, given, msOf } from "./definition-values.ts";

/** The message has passed the validation rules of the proto. */
export function mapFrom(message: MapStep): MapWork {
  const { tolerated } = message;
  return {
    kind: "map",
    over: message.over,
    task: message.task,
    ...given("queue", message.queue || undefined),
    ...given("concurrency", message.concurrency),
    ...(tolerated.case === "tolerate" ? { tolerate: tolerated.value } : {}),
    ...(tolerated.case === "toleratePercent" ? { toleratePercent: tolerated.value } : {}),
    ...given("waves", message.waves && wavesFrom(message.waves)),
  };
}

function wavesFrom({ amount, pause, gate }: Waves): WavesDefinition {
  return {
    ...(amount.case === "size" ? { size: amount.value } : {}),
    ...(amount.case === "percent" ? { percent: amount.value } : {}),
    ...given("pauseMs", msOf(pause)),
    ...given("gate", gate && gateFrom(gate)),
  };
}

function gateFrom(message: Gate): GateDefinition {
  return {
    task: message.task,
    ...given("queue", message.queue || undefined),
    ...given("input", payloadFrom(message.input) ?? undefined),
    ...given("retry", retryFrom(message.retry)),
    ...given("timeouts", message.timeouts && timeoutsFrom(message.timeouts)),
  };
}

export function mapMessage(work: MapWork): MessageInitShape<typeof MapStepSchema> {
  const { over, task, queue = "", tolerate, toleratePercent, waves } = work;
  return {
    over,
    task,
    queue,
    ...given("concurrency", work.concurrency),
    ...(tolerate === undefined
      ? {}
      : { tolerated: { case: "tolerate", value: tolerate } as const }),
    ...(toleratePercent === undefined
      ? {}
      : { tolerated: { case: "toleratePercent", value: toleratePercent } as const }),
    ...given("waves", waves && wavesMessage(waves)),
  };
}

function wavesMessage({ size, percent, pauseMs, gate }: WavesDefinition): Waves {
  return create(WavesSchema, {
    ...(size === undefined ? {} : { amount: { case: "size", value: size } as const }),
    ...(percent === undefined ? {} : { amount: { case: "percent", value: percent } as const }),
    ...given("pause", durationField(pauseMs)),
    ...given("gate", gate && gateMessage(gate)),
  });
}

function gateMessage(gate: GateDefinition): Gate {
  return create(GateSchema, {
    task: gate.task,
    queue: gate.queue ?? "",
    retry: gate.retry?.map(retryMessage) ?? [],
    ...given("input", gate.input && payloadMessage(gate.input)),
    ...given("timeouts", gate.timeouts && timeoutsMessage(gate.timeouts)),
  });
}
