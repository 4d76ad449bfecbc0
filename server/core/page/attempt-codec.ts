// Attempts within the line of a step (codec.ts).
import type { AttemptKind, FailureClass } from "../attempt.ts";
import type { PageAttempt, StoredOutcome } from "./page.ts";
import { decodePayload, encodePayload, type RawPayload } from "./payload-codec.ts";
import { encodeUnknown, unknownOf } from "./unknown-keys.ts";

export interface RawAttempt {
  readonly k: AttemptKind;
  readonly f: number;
  readonly n?: number;
  readonly a: number;
  /** Agent. */
  readonly g?: string;
  /** Session. */
  readonly s?: string;
  /** Secret. */
  readonly x?: string;
  readonly b: number;
  readonly e: number;
  readonly o: RawOutcome;
  /** Digest. */
  readonly d?: string;
  /** The policy that its try is charged to; -1: none. Left out: it did not count. */
  readonly c?: number;
  readonly p?: string;
  readonly pd?: RawPayload;
}

type RawOutcome =
  | readonly ["success", RawPayload?]
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

export function encodeAttempt(of: PageAttempt): string {
  const { kind, fence, n, attempt, agentId, session, secret, startedAt, endedAt } = of;
  const { outcome, digest, counted, progress, details } = of;
  let text = `{"k":"${kind}","f":${fence}`;
  if (n !== 0) text += `,"n":${n}`;
  text += `,"a":${attempt}`;
  if (agentId !== null) text += `,"g":${JSON.stringify(agentId)}`;
  if (session !== null) text += `,"s":"${session}"`;
  if (secret !== null) text += `,"x":"${secret}"`;
  text += `,"b":${startedAt},"e":${endedAt},"o":${encodeOutcome(outcome)}`;
  if (digest !== null) text += `,"d":"${digest}"`;
  if (counted !== null) text += `,"c":${counted.policy ?? -1}`;
  if (progress !== null) text += `,"p":${JSON.stringify(progress)}`;
  if (details !== null) text += `,"pd":${encodePayload(details)}`;
  return `${text}${encodeUnknown(of.unknown)}}`;
}

export function decodeAttempt(raw: RawAttempt): PageAttempt {
  return {
    kind: raw.k,
    fence: raw.f,
    n: raw.n ?? 0,
    attempt: raw.a,
    agentId: raw.g ?? null,
    session: raw.s ?? null,
    secret: raw.x ?? null,
    startedAt: raw.b,
    endedAt: raw.e,
    outcome: decodeOutcome(raw.o),
    digest: raw.d ?? null,
    counted: raw.c === undefined ? null : { policy: raw.c === -1 ? null : raw.c },
    progress: raw.p ?? null,
    details: raw.pd === undefined ? null : decodePayload(raw.pd),
    ...unknownOf(raw, KEYS),
  };
}

function encodeOutcome(outcome: StoredOutcome): string {
  switch (outcome.kind) {
    case "success":
      return outcome.output === null
        ? '["success"]'
        : `["success",${encodePayload(outcome.output)}]`;
    case "failure":
      return JSON.stringify([
        ...["failure", outcome.class, outcome.code, outcome.message],
        ...[outcome.retryAfterMs, outcome.noEffect ? 1 : 0],
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

function decodeOutcome(raw: RawOutcome): StoredOutcome {
  switch (raw[0]) {
    case "success":
      return { kind: "success", output: raw[1] === undefined ? null : decodePayload(raw[1]) };
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
