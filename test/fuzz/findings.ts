// What was sent and what it came to. An answer that a caller must never get is a finding, and so is
// a fault that the server, its database or its memory showed meanwhile.

/** A call as it can be sent again. */
export interface Sent {
  readonly kind: Kind;
  readonly seed: number;
  readonly round: number;
  readonly index: number;
  /** The RPC, the path, or the part of the program that was called directly. */
  readonly what: string;
  /** How it is sent: bytes over native gRPC, a body over HTTP, raw bytes over TCP, a pure call. */
  readonly how: "grpc" | "stream" | "http" | "tcp" | "direct";
  /** Bytes in base64. */
  readonly base64: string;
  /** The same as text, for people: JSON where the bytes are a message. */
  readonly text: string;
  /** Headers, by HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  /** gRPC's number of the status, or -1 for an answer that is none of gRPC. */
  readonly code: number;
  readonly message: string;
  readonly ms: number;
}

export interface Finding {
  readonly why: string;
  /** The message, or the latest ones if it is not known which of them it was. */
  readonly sent: readonly Sent[];
  /** The ids of the planted world, with the name of each (plant.ts). */
  readonly ids?: Readonly<Record<string, string>>;
}

export const KINDS = [
  "rpc",
  "binary",
  "streams",
  "expressions",
  "yaml",
  "schema",
  "cron",
  "filter",
  "http",
] as const;
export type Kind = (typeof KINDS)[number];

/** UNKNOWN, INTERNAL and DATA_LOSS. */
const FORBIDDEN: ReadonlyMap<number, string> = new Map([
  [2, "UNKNOWN"],
  [13, "INTERNAL"],
  [15, "DATA_LOSS"],
]);
/** No call takes so long by itself; generous, as the machine may be busy. */
const CALL_MS_MAX = 20_000;

/** Why a caller must not get this answer; null: it may. */
export function badAnswer({ code, message, ms }: Answered, waits = false): string | null {
  const name = FORBIDDEN.get(code);
  if (name) return `answered ${name}: ${message}`;
  if (!waits && ms > CALL_MS_MAX) return `took ${Math.round(ms)} ms`;
  return null;
}
