// The text of single values within a page: random values and digests, payloads, lists that have a
// standard value at each index, the terms of a task, and keys that this version does not know.
//
// The rules have random values and digests in hex, a page has them in base64url, which takes two
// thirds of the space: three digits of hex are 12 bits, and so are two of base64. A value that is
// not hex is stored as it is, behind a colon. Each write of a page has a few of them, so lookup
// tables make the conversion cheap.

import { TIMEOUTS_DEFAULT } from "../plan/plan.ts";
import type { StoredPayload, TaskTerms, UnknownKeys } from "./page.ts";

const HEX = "0123456789abcdef";
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const TWELVE_BITS = Array.from({ length: 1 << 12 }, (_, bits) => bits);

const BASE64_OF = TWELVE_BITS.map((bits) => BASE64.charAt(bits >> 6) + BASE64.charAt(bits & 63));
const HEX_OF = TWELVE_BITS.map((bits) => bits.toString(16).padStart(3, "0"));
const HEX_VALUES = valuesOf(HEX);
const BASE64_VALUES = valuesOf(BASE64);

/** By character code: the value of a digit; -1: no digit. */
function valuesOf(digits: string): Int8Array {
  const values = new Int8Array(128).fill(-1);
  for (let at = 0; at < digits.length; at++) values[digits.charCodeAt(at)] = at;
  return values;
}

/** The value as JSON. */
export function encodeHex(hex: string): string {
  const { length } = hex;
  let text = '"';
  let all = length > 0 && length % 2 === 0 ? 0 : -1;
  for (let at = 0; at < length; at += 3) {
    // Zeros stand for digits that are missing at the end.
    const bits =
      (valueAt(hex, at) << 8) |
      (at + 1 < length ? valueAt(hex, at + 1) << 4 : 0) |
      (at + 2 < length ? valueAt(hex, at + 2) : 0);
    all |= bits;
    text += BASE64_OF[bits];
  }
  if (all < 0) return JSON.stringify(`:${hex}`);
  // For a single digit of hex the second digit of base64 has no information.
  return length % 3 === 1 ? `${text.slice(0, -1)}"` : `${text}"`;
}

/** Less than 0: not hex. */
function valueAt(hex: string, at: number): number {
  return HEX_VALUES[hex.charCodeAt(at)] ?? -1;
}

export function decodeHex(text: string): string {
  if (text.startsWith(":")) return text.slice(1);
  let hex = "";
  for (let at = 0; at < text.length; at += 2) {
    const high = BASE64_VALUES[text.charCodeAt(at)] ?? 0;
    const low = at + 1 < text.length ? (BASE64_VALUES[text.charCodeAt(at + 1)] ?? 0) : 0;
    hex += HEX_OF[(high << 6) | low];
  }
  return hex.slice(0, Math.floor((text.length * 6) / 8) * 2);
}

type Values = readonly (number | null)[];

/** Values at the end that equal the standard are left out. */
export function encodeShort(values: Values, standard: Values): string {
  let end = values.length;
  while (end > 0 && values[end - 1] === standard[end - 1]) end--;
  let text = "";
  for (let at = 0; at < end; at++) text += at === 0 ? values[at] : `,${values[at]}`;
  return `[${text}]`;
}

/** Keys of stored JSON that this version does not know are preserved. */
export function encodeUnknown(unknown: UnknownKeys | undefined): string {
  if (unknown === undefined) return "";
  const text = JSON.stringify(unknown);
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

/** The unknown keys of an object that was read. */
export function unknownOf(
  raw: object,
  known: ReadonlySet<string>,
): { readonly unknown?: UnknownKeys } {
  const found = Object.entries(raw).filter(([key]) => !known.has(key));
  return found.length === 0 ? {} : { unknown: Object.fromEntries(found) };
}

/** JSON text; content type and base64; 0: the payload has a row of its own. */
export type RawPayload = string | readonly [string, string] | 0;

export function encodePayload(payload: StoredPayload): string {
  switch (payload.kind) {
    case "json":
      return JSON.stringify(payload.json);
    case "data":
      return JSON.stringify([payload.contentType, toBase64(payload.data)]);
    case "row":
      return "0";
  }
}

export function decodePayload(raw: RawPayload): StoredPayload {
  if (raw === 0) return IN_A_ROW;
  return typeof raw === "string"
    ? { kind: "json", json: raw }
    : { kind: "data", contentType: raw[0], data: fromBase64(raw[1]) };
}

const IN_A_ROW: StoredPayload = Object.freeze({ kind: "row" });

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/**
 * Lane, slow, is first try, attempt, heartbeat, cancel, stall. Left out at the end: the standard
 * values.
 */
export type RawTerms = readonly [
  ...[lane: number, slow?: number | null, isFirstTry?: 0 | 1],
  ...[attempt?: number, heartbeat?: number, cancel?: number, stall?: number | null],
];

const STANDARD_TERMS = Object.freeze([
  null,
  null,
  1,
  TIMEOUTS_DEFAULT.attemptMs,
  TIMEOUTS_DEFAULT.heartbeatMs,
  TIMEOUTS_DEFAULT.cancelMs,
  TIMEOUTS_DEFAULT.stallMs,
]);

export function encodeTerms(terms: TaskTerms): string {
  const { lane, attemptMs, heartbeatMs, cancelMs, stallMs, slowAfterMs, isFirstTry } = terms;
  return encodeShort(
    [lane, slowAfterMs, isFirstTry ? 1 : 0, attemptMs, heartbeatMs, cancelMs, stallMs],
    STANDARD_TERMS,
  );
}

export function decodeTerms(raw: RawTerms): TaskTerms {
  const [lane, slowAfterMs = null, isFirstTry = 1, ...times] = raw;
  const standard = TIMEOUTS_DEFAULT;
  const [attemptMs = standard.attemptMs, heartbeatMs = standard.heartbeatMs, ...others] = times;
  const [cancelMs = standard.cancelMs, stallMs = standard.stallMs] = others;
  return {
    lane,
    attemptMs,
    heartbeatMs,
    cancelMs,
    stallMs,
    slowAfterMs,
    isFirstTry: isFirstTry === 1,
  };
}
