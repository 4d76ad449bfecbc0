// JSON values, and their conversion into expressions and back.
//
//   JSON                      expression                         back
//   whole number to 2^53      int                                number; refused beyond 2^53
//   other number              double                             number; refused when not finite
//   object, array             map, list                          object, array
//                             bytes, timestamp, duration         base64, RFC 3339, "3600s"
import { type CelInput, celList, celMap, isCelList, isCelMap, isCelUint } from "@bufbuild/cel";
import { isMessage, toJson } from "@bufbuild/protobuf";
import { isReflectMessage } from "@bufbuild/protobuf/reflect";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import type { Payload } from "../core/model/payload.ts";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Most levels of a value in either direction; code that recurses over values relies on it. */
export const JSON_DEPTH_MAX = 200;

export function isJsonObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type JsonParse =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly message: string };

export function parseJson(text: string): JsonParse {
  try {
    const value: Json = JSON.parse(text);
    return { ok: true, value };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}

/** undefined: the payload is not JSON. */
export function jsonOfPayload(payload: Payload | null): Json | undefined {
  if (payload === null) return null;
  if (payload.kind !== "json") return undefined;
  const parsed = parseJson(payload.json);
  return parsed.ok ? parsed.value : undefined;
}

/** The size of its text without whitespace, in UTF-8. */
export function bytesOfJson(value: Json): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** Converted payloads by identity: a template uses the same input many times. */
const entered = new WeakMap<object, CelInput>();

export function celOfJson(value: Json): CelInput {
  if (typeof value !== "object" || value === null) return celOf(value, 0);
  const known = entered.get(value);
  if (known !== undefined) return known;
  const made = celOf(value, 0);
  entered.set(value, made);
  return made;
}

function celOf(value: Json, depth: number): CelInput {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth >= JSON_DEPTH_MAX)
    throw new Error(`a value is nested deeper than ${JSON_DEPTH_MAX} levels`);
  if (isList(value)) return celList(value.map((item) => celOf(item, depth + 1)));
  const entries = Object.entries(value);
  return celMap(new Map(entries.map(([key, item]) => [key, celOf(item, depth + 1)])));
}

function isList(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}

export interface Room {
  /** Bytes of JSON that may still be produced. */
  left: number;
}

/** Throws an error in plain words if JSON cannot represent the value or there is no room for it. */
export function jsonOfCel(value: unknown, room: Room, depth = 0): Json {
  if (depth >= JSON_DEPTH_MAX)
    throw new Error(`the result is nested deeper than ${JSON_DEPTH_MAX} levels`);
  if (isCelList(value)) {
    take(room, value.size === 0 ? 2 : 1);
    const items: Json[] = [];
    for (const item of value) items.push(spaced(jsonOfCel(item, room, depth + 1), room));
    return items;
  }
  if (isCelMap(value)) {
    take(room, value.size === 0 ? 2 : 1);
    const entries: [string, Json][] = [];
    for (const [key, item] of value) {
      const name = String(isCelUint(key) ? key.value : key);
      takeText(room, name);
      take(room, 1);
      entries.push([name, spaced(jsonOfCel(item, room, depth + 1), room)]);
    }
    return Object.fromEntries(entries);
  }
  const scalar = jsonOfScalar(value);
  if (typeof scalar === "string") takeText(room, scalar);
  else take(room, String(scalar).length);
  return scalar;
}

/** A value with the character after it: a comma, or the closing bracket. */
function spaced(value: Json, room: Room): Json {
  take(room, 1);
  return value;
}

/** A lower bound of the text's size: escapes and multi-byte characters are counted at the end. */
function takeText(room: Room, text: string): void {
  take(room, text.length + 2);
}

export function take(room: Room, bytes: number): void {
  room.left -= bytes;
  if (room.left < 0) throw new Error("the result is larger than a payload may be");
}

function jsonOfScalar(value: unknown): Json {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "bigint") return wholeNumber(value);
  if (isCelUint(value)) return wholeNumber(value.value);
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw new Error(`the result is ${value}, which JSON cannot carry`);
  }
  if (value instanceof Uint8Array) return base64Encode(value);
  if (isReflectMessage(value)) {
    const { message } = value;
    if (isMessage(message, TimestampSchema)) return toJson(TimestampSchema, message);
    if (isMessage(message, DurationSchema)) return toJson(DurationSchema, message);
  }
  throw new Error("the result is a type and no value: JSON cannot carry it");
}

function wholeNumber(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new Error(`the result is ${value}, which JSON cannot carry exactly: write string(...)`);
}
