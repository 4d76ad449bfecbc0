// Reads the body of a plain HTTP call, up to a limit.
import type { IncomingMessage } from "node:http";

export type Body =
  | { readonly kind: "read"; readonly bytes: Uint8Array }
  | { readonly kind: "too-large" }
  /** The caller disconnected before the body was complete. */
  | { readonly kind: "gone" };

/**
 * At most this much of a body that is too large is read and dropped, so that its sender receives an
 * answer.
 */
const SKIPPED_BYTES_MAX = 4 * 1024 * 1024;

/** Keeps no more than `bytesMax`, and never rejects. */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const announced = Number(request.headers["content-length"]);
    if (announced > SKIPPED_BYTES_MAX) return { kind: "too-large" };
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) throw new Error("a request was read as text");
      size += chunk.length;
      if (size <= bytesMax) chunks.push(chunk);
      else chunks.length = 0;
      if (size > SKIPPED_BYTES_MAX) break;
    }
  } catch {
    return { kind: "gone" };
  }
  return size > bytesMax ? { kind: "too-large" } : { kind: "read", bytes: Buffer.concat(chunks) };
}
