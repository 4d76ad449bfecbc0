/**
 * What an agent knows of a remote service: three calls, and for each an honest account of how
 * it ended. Nothing is repeated here; whether to try again is for others to decide.
 *
 * The one distinction that matters: `refused` and `busy` mean that this call had no effect,
 * `unknown` means that it may have had one, now or later.
 */

import type { Booking } from "./booking.ts";

export interface Refused {
  readonly kind: "refused";
  readonly code: string;
  readonly message: string;
}
export interface Busy {
  readonly kind: "busy";
  readonly retryAfterMs: number;
  readonly message: string;
}
export interface Unknown {
  readonly kind: "unknown";
  readonly why: "timed-out" | "aborted" | "broken";
  readonly message: string;
}
export type BookResult =
  | { readonly kind: "booked"; readonly bookingId: string }
  | Refused
  | Busy
  | Unknown;
export type FindResult =
  | { readonly kind: "booked"; readonly bookingId: string }
  /** No booking exists under the key. */
  | { readonly kind: "none" }
  | Refused
  | Busy
  | Unknown;
export type CancelResult = { readonly kind: "cancelled" } | Refused | Busy | Unknown;

export interface BookingClient {
  readonly book: (key: string, booking: Booking, signal: AbortSignal) => Promise<BookResult>;
  /** What became of a booking of which no answer came. */
  readonly find: (key: string, signal: AbortSignal) => Promise<FindResult>;
  readonly cancel: (key: string, signal: AbortSignal) => Promise<CancelResult>;
}

export interface BookingClientOptions {
  readonly baseUrl: string;
  /** For one call, to the last byte of its answer. */
  readonly timeoutMs?: number;
}

interface Reply {
  readonly kind: "reply";
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

const TIMEOUT_MS = 2000;
const RETRY_AFTER_MS = 1000;
const RETRY_AFTER_MAX_MS = 60_000;

export function createBookingClient(options: BookingClientOptions): BookingClient {
  const { baseUrl, timeoutMs = TIMEOUT_MS } = options;

  async function call(path: string, init: RequestInit, signal: AbortSignal) {
    const ending = new AbortController();
    const end = () => ending.abort();
    const timer = setTimeout(end, timeoutMs);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    try {
      const response = await fetch(new URL(path, baseUrl), { ...init, signal: ending.signal });
      return await replyOf(response);
    } catch (error) {
      if (signal.aborted) return unknown("aborted", "stopped while the call was under way");
      if (ending.signal.aborted) return unknown("timed-out", `no answer within ${timeoutMs} ms`);
      return broken(error);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }

  async function book(key: string, booking: Booking, signal: AbortSignal): Promise<BookResult> {
    const headers = { "content-type": "application/json", "idempotency-key": key };
    const init = { method: "POST", headers, body: JSON.stringify(booking) };
    const reply = await call("/bookings", init, signal);
    if (reply.kind !== "reply") return reply;
    if (reply.status !== 200 && reply.status !== 201) return withoutSuccess(reply);
    const { booking_id: bookingId } = reply.body;
    if (typeof bookingId === "string") return { kind: "booked", bookingId };
    return unknown("broken", `answer ${reply.status} names no booking_id`);
  }

  async function find(key: string, signal: AbortSignal): Promise<FindResult> {
    const reply = await call(`/bookings/${encodeURIComponent(key)}`, { method: "GET" }, signal);
    if (reply.kind !== "reply") return reply;
    if (reply.status === 404) return { kind: "none" };
    if (reply.status !== 200) return withoutSuccess(reply);
    const { booking_id: bookingId, state } = reply.body;
    if (typeof bookingId !== "string") return unknown("broken", "the answer names no booking_id");
    return state === "booked" ? { kind: "booked", bookingId } : { kind: "none" };
  }

  async function cancel(key: string, signal: AbortSignal): Promise<CancelResult> {
    const path = `/bookings/${encodeURIComponent(key)}`;
    const reply = await call(path, { method: "DELETE" }, signal);
    if (reply.kind !== "reply") return reply;
    return reply.status === 204 ? { kind: "cancelled" } : withoutSuccess(reply);
  }

  return Object.freeze({ book, find, cancel });
}

async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  return {
    kind: "reply",
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    body: objectIn(text),
  };
}

/** An answer without a readable object is read by its status alone. */
function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function withoutSuccess(reply: Reply): Refused | Busy | Unknown {
  const { status, body } = reply;
  const message = typeof body.message === "string" ? body.message : `answered ${status}`;
  if (status === 503 || status === 429) {
    return { kind: "busy", retryAfterMs: retryAfterMsOf(reply.retryAfter), message };
  }
  if (status >= 400 && status < 500) {
    const code = typeof body.code === "string" ? body.code : `http-${status}`;
    return { kind: "refused", code, message };
  }
  // Any other 5xx may come from a server that failed after it had acted.
  return unknown("broken", `answered ${status}: ${message}`);
}

function retryAfterMsOf(header: string | null): number {
  const seconds = /^\d+$/.test(header ?? "") ? Number(header) : undefined;
  if (seconds === undefined) return RETRY_AFTER_MS;
  return Math.min(seconds * 1000, RETRY_AFTER_MAX_MS);
}

function unknown(why: Unknown["why"], message: string): Unknown {
  return { kind: "unknown", why, message };
}

function broken(error: unknown): Busy | Unknown {
  // fetch wraps what happened to the socket into the cause of a "fetch failed".
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const message = cause instanceof Error ? cause.message : String(cause);
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  // No process listens, so nothing was sent: the one break of which the outcome is known.
  if (code === "ECONNREFUSED") return { kind: "busy", retryAfterMs: RETRY_AFTER_MS, message };
  return unknown("broken", message);
}
