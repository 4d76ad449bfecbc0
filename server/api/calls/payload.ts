// Converts payloads between protobuf and the core, and checks their limits.
import { create } from "@bufbuild/protobuf";
import {
  type Payload as PayloadMessage,
  PayloadSchema,
} from "@drover/proto/drover/v1/payload_pb.ts";
import type { Payload } from "../../core/model/payload.ts";
import { type DroverError, errorMessage } from "../../errors.ts";
import { refusal } from "./errors.ts";

const BYTES_TYPE = "application/octet-stream";

/** null: there is no payload. */
export function payloadFrom(message: PayloadMessage | undefined): Payload | null {
  switch (message?.body.case) {
    case "json":
      return { kind: "json", json: message.body.value };
    case "data": {
      const contentType = message.contentType === "" ? BYTES_TYPE : message.contentType;
      return { kind: "data", contentType, data: message.body.value };
    }
    default:
      return null;
  }
}

/** For an optional field of a message: no field if there is no payload. */
export function payloadField<Name extends string>(
  name: Name,
  payload: Payload | null,
): { [key in Name]?: PayloadMessage } {
  if (payload === null) return {};
  return { [name]: payloadMessage(payload) } as { [key in Name]?: PayloadMessage };
}

export function payloadMessage(payload: Payload): PayloadMessage {
  return payload.kind === "json"
    ? create(PayloadSchema, {
        contentType: "application/json",
        body: { case: "json", value: payload.json },
      })
    : create(PayloadSchema, {
        contentType: payload.contentType,
        body: { case: "data", value: payload.data },
      });
}

/** The problem of a payload beyond the validation rules of the proto, or null. */
export function payloadProblem(
  payload: PayloadMessage,
  path: () => string,
  bytesMax: number,
): DroverError | null {
  const size = bodyBytes(payload);
  if (size > bytesMax) {
    const message = `has ${size} bytes and may have ${bytesMax}: keep it in object storage and send its address`;
    const metadata = { size_bytes: String(size), limit_bytes: String(bytesMax) };
    return refusal("PAYLOAD_TOO_LARGE", [{ path: path(), message }], metadata);
  }
  if (payload.body.case !== "json") return null;
  const wrong = jsonProblem(payload.body.value);
  if (wrong === null) return null;
  return refusal("INVALID_REQUEST", [{ path: `${path()}.json`, message: wrong }]);
}

function bodyBytes(message: PayloadMessage): number {
  const { body } = message;
  if (body.case === "json") return Buffer.byteLength(body.value);
  return body.case === "data" ? body.value.length : 0;
}

/** One sentence with the position, or null for a text that parses. */
function jsonProblem(text: string): string | null {
  const error = parseError(text);
  if (error === null) return null;
  const position = brokenAt(text, error);
  const what = text.slice(position, position + 12);
  return position >= text.length
    ? `is no JSON: it ends too early, after ${text.length} characters`
    : `is no JSON: ${JSON.stringify(what.toWellFormed())} at position ${position} is unexpected`;
}

function parseError(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}

/**
 * The runtime reports the position of some mistakes only. For the others, a binary search finds the
 * longest beginning of the text that could still become JSON.
 */
function brokenAt(text: string, error: string): number {
  const match = / at position (\d+)/.exec(error);
  if (match) return Number(match[1]);
  let good = 0;
  let bad = text.length + 1;
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (couldGoOn(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return good;
}

function couldGoOn(beginning: string): boolean {
  const error = parseError(beginning);
  if (error === null || error.startsWith("Unexpected end")) return true;
  const match = / at position (\d+)/.exec(error);
  return match !== null && Number(match[1]) >= beginning.length;
}
