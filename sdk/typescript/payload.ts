/**
 * Payloads: JSON values and bytes with their media type, in the form that programs use.
 *
 * A received value has the type `unknown`: give `readPayload` a parser (a function, or the `parse`
 * of a schema library) to get a checked type.
 */
import { create, isMessage } from "@bufbuild/protobuf";
import { type Payload, PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";

export type { Payload };

/** Converts a received value into a `T`, or throws. */
export type Parse<T> = (value: unknown) => T;

export function json(value: unknown): Payload {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) {
    throw new TypeError(
      `A payload of type ${typeof value} has no JSON form; leave it out instead.`,
    );
  }
  return create(PayloadSchema, { body: { case: "json", value: text } });
}

export function bytes(data: Uint8Array, contentType = "application/octet-stream"): Payload {
  return create(PayloadSchema, { contentType, body: { case: "data", value: data } });
}

/**
 * A value as a payload: a Payload stays unchanged, `undefined` is none, everything else is JSON.
 */
export function toPayload(value: unknown): Payload | undefined {
  if (value === undefined) return undefined;
  return isMessage(value, PayloadSchema) ? value : json(value);
}

/** The JSON value, the bytes, or `undefined` when there is no payload. */
export function readPayload(payload: Payload | undefined): unknown {
  switch (payload?.body.case) {
    case "json":
      return JSON.parse(payload.body.value);
    case "data":
      return payload.body.value;
    default:
      return undefined;
  }
}

/** Size of its body in bytes. */
export function payloadSize(payload: Payload | undefined): number {
  if (payload?.body.case === "json") return Buffer.byteLength(payload.body.value);
  return payloadSizeMax(payload);
}

/** Maximum size in a message in bytes; cheap to compute, and never too low. */
export function payloadSizeMax(payload: Payload | undefined): number {
  switch (payload?.body.case) {
    case "json":
      return payload.body.value.length * 3;
    case "data":
      return payload.body.value.length;
    default:
      return 0;
  }
}
