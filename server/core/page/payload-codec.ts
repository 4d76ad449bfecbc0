// The text of payloads within a page: JSON as the agent sent it, bytes in base64.
import type { StoredPayload } from "./page.ts";

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
