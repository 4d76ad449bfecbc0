// The text of attempts: within the line of a step (codec.ts), or alone in the attempt log.
import type { AttemptKind, Counted, EpochMs, FailureClass } from "../model/attempt.ts";
import {
  decodeHex,
  decodePayload,
  encodeHex,
  encodePayload,
  encodeUnknown,
  type RawPayload,
  unknownOf,
} from "./field-codec.ts";
import type { PageAttempt, StoredOutcome } from "./page.ts";

export interface RawAttempt {
  /** Kind; left out: perform. */
  readonly k?: AttemptKind;
  /** Fence; left out: 1. */
  readonly f?: number;
  readonly n?: number;
  /** Attempt; left out: the same as the fence. */
  readonly a?: number;
  /** Agent. */
  readonly g?: string;
  /** Session. */
  readonly s?: string;
  /** Secret. */
  readonly x?: string;
  /** Start; left out: the time from which times are counted. */
  readonly b?: number;
  readonly e: number;
  readonly o?: RawOutcome;
  /** Digest. */
  readonly d?: string;
  /** Index of the policy that its try is charged to. Left out: none; -1: it did not count. */
  readonly c?: number;
  readonly p?: string;
  readonly pd?: RawPayload;
}

/** A success is stored as its output: left out if it has none, in an array if that is bytes. */
type RawOutcome =
  | string
  | 0
  | readonly ["success", RawPayload]
  | readonly ["failure", FailureClass, string, string, number | null, 0 | 1]
  | readonly ["unknown", string, string]
  | readonly ["again", number]
  | readonly ["cancelled", 0 | 1]
  | readonly ["deferred" | "released" | "undelivered" | "unsent" | "superseded"];

const KEYS = new Set<string>([
  "k",
  "f",
  "n",
  "a",
  "g",
  "s",
  "x",
  "b",
  "e",
  "o",
  "d",
  "c",
  "p",
  "pd",
] satisfies (keyof RawAttempt)[]);

/** `since`: the time from which its times are counted. */
export function encodeAttempt(of: PageAttempt, since: EpochMs = 0): string {
  const { kind, fence, n, attempt, agentId, session, secret, startedAt, endedAt } = of;
  const { outcome, digest, counted, progress, details } = of;
  let text = `"e":${endedAt - since}`;
  if (startedAt !== since) text += `,"b":${startedAt - since}`;
  if (kind !== "perform") text += `,"k":"${kind}"`;
  if (fence !== 1) text += `,"f":${fence}`;
  if (n !== 0) text += `,"n":${n}`;
  if (attempt !== fence) text += `,"a":${attempt}`;
  const ended = encodeOutcome(outcome);
  if (ended !== null) text += `,"o":${ended}`;
  if (digest !== null) text += `,"d":${encodeHex(digest)}`;
  if (counted?.policy !== null) text += `,"c":${counted?.policy ?? -1}`;
  if (progress !== null) text += `,"p":${JSON.stringify(progress)}`;
  if (details !== null) text += `,"pd":${encodePayload(details)}`;
  text += encodeUnknown(of.unknown);
  // Last, as in the lease that it was (side-codec.ts).
  if (agentId !== null) text += `,"g":${JSON.stringify(agentId)}`;
  if (session !== null) text += `,"s":${encodeHex(session)}`;
  if (secret !== null) text += `,"x":${encodeHex(secret)}`;
  return `{${text}}`;
}

export function decodeAttempt(raw: RawAttempt, since: EpochMs = 0): PageAttempt {
  const { f: fence = 1 } = raw;
  return {
    kind: raw.k ?? "perform",
    fence,
    n: raw.n ?? 0,
    attempt: raw.a ?? fence,
    agentId: raw.g ?? null,
    session: raw.s === undefined ? null : decodeHex(raw.s),
    secret: raw.x === undefined ? null : decodeHex(raw.x),
    startedAt: since + (raw.b ?? 0),
    endedAt: since + raw.e,
    outcome: decodeOutcome(raw.o),
    digest: raw.d === undefined ? null : decodeHex(raw.d),
    counted: countedOf(raw.c),
    progress: raw.p ?? null,
    details: raw.pd === undefined ? null : decodePayload(raw.pd),
    ...unknownOf(raw, KEYS),
  };
}

function countedOf(raw: number | undefined): Counted {
  return raw === -1 ? null : { policy: raw ?? null };
}

function encodeOutcome(outcome: StoredOutcome): string | null {
  switch (outcome.kind) {
    case "success": {
      const output = outcome.output && encodePayload(outcome.output);
      return outcome.output?.kind === "data" ? `["success",${output}]` : output;
    }
    case "failure":
      return JSON.stringify([
        "failure",
        outcome.class,
        outcome.code,
        outcome.message,
        outcome.retryAfterMs,
        outcome.noEffect ? 1 : 0,
      ]);
    case "unknown":
      return JSON.stringify(["unknown", outcome.code, outcome.message]);
    case "again":
      return `["again",${outcome.afterMs}]`;
    case "cancelled":
      return `["cancelled",${outcome.noEffect ? 1 : 0}]`;
    default:
      return `["${outcome.kind}"]`;
  }
}

function decodeOutcome(raw: RawOutcome | undefined): StoredOutcome {
  if (raw === undefined) return { kind: "success", output: null };
  if (typeof raw === "string" || raw === 0) return { kind: "success", output: decodePayload(raw) };
  switch (raw[0]) {
    case "success":
      return { kind: "success", output: decodePayload(raw[1]) };
    case "failure": {
      const [kind, failureClass, code, message, retryAfterMs, noEffect] = raw;
      return { kind, class: failureClass, code, message, retryAfterMs, noEffect: noEffect === 1 };
    }
    case "unknown":
      return { kind: "unknown", code: raw[1], message: raw[2] };
    case "again":
      return { kind: "again", afterMs: raw[1] };
    case "cancelled":
      return { kind: "cancelled", noEffect: raw[1] === 1 };
    default:
      return { kind: raw[0] };
  }
}
