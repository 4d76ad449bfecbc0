// Payloads: JSON text, or bytes with their content type. The rules do not interpret them.

export type Payload =
  | { readonly kind: "json"; readonly json: string }
  | { readonly kind: "data"; readonly contentType: string; readonly data: Uint8Array };

/** Size in bytes as limits count it: the body alone, UTF-8 for JSON. */
export function payloadBytes(payload: Payload): number {
  return payload.kind === "json"
    ? new TextEncoder().encode(payload.json).length
    : payload.data.length;
}
