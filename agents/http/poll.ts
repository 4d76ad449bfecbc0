/**
 * The polls of work that a service has accepted with 202: where they go, and what their answers
 * mean. They are pure.
 *
 * The work goes on at the service whether a poll succeeds or not. So a poll that fails is repeated,
 * without counting an attempt; the step's `total` limits the time of all.
 */
import { isJsonObject, type Json } from "@drover/server/expressions/json.ts";
import { type Answer, retryAfterMs } from "./answer.ts";
import type { Exchange, RawAnswer } from "./exchange.ts";
import { readingHeaders } from "./redirects.ts";
import type { PreparedRequest } from "./request.ts";
import {
  type Circumstances,
  concludeByRules,
  concludeSuccess,
  factsWith,
  isSuccessStatus,
  isTrue,
  type RuledConclusion,
  type Rules,
  sentence,
} from "./rules.ts";

/** As it is stored with an attempt. A type, not an interface, so that it is JSON. */
export type Poll = {
  readonly poll: string;
  /** Key of the request that was accepted: a fallback has another one, and begins anew. */
  readonly key: string;
};

export type Found =
  | { readonly kind: "again"; readonly afterMs: number | null; readonly location?: string }
  | RuledConclusion;

/** The poll that an earlier hand-out of the same request has stored; null: there is none. */
export function pollOf(details: Json, key: string): Poll | null {
  if (!isJsonObject(details)) return null;
  const { poll, key: stored } = details;
  return typeof poll === "string" && stored === key ? { poll, key } : null;
}

/** Reads the address with the headers of the first request, so with its secrets. */
export function pollRequest({ host, sent }: PreparedRequest, url: URL): PreparedRequest {
  const headers = readingHeaders(sent.headers, host.idempotencyHeader);
  return { host, sent: { method: "GET", url, headers, body: null } };
}

export function polled(
  exchange: Exclude<Exchange, { kind: "stopped" }>,
  rules: Rules,
  of: Circumstances,
  read: (raw: RawAnswer) => Answer,
): Found {
  if (exchange.kind === "answered") return polledAnswer(read(exchange.answer), rules, of);
  if (exchange.kind === "no-answer" || !exchange.isFinal) return { kind: "again", afterMs: null };
  return { kind: "unknown", code: exchange.code, message: `${of.what}: ${exchange.message}` };
}

function polledAnswer(answer: Answer, rules: Rules, of: Circumstances): Found {
  const ruled = concludeByRules(answer, rules, of);
  if (ruled) return ruled;
  const { status } = answer;
  const again = { kind: "again", afterMs: retryAfterMs(answer, of.nowMs) } as const;
  if ([408, 425, 429].includes(status) || status >= 500) return again;
  if (isSuccessStatus(status, rules.statuses)) {
    const isDone = isTrue(rules.until, factsWith(answer, of.facts));
    if (isDone.kind === "true") return concludeSuccess(answer, rules, of);
    if (isDone.kind === "false") return again;
    return { kind: "unknown", code: "expression-failed", message: isDone.message };
  }
  if (status === 202) {
    const { location } = answer.headers;
    return location === undefined ? again : { ...again, location };
  }
  // It is about the poll, and says nothing about the work.
  return { kind: "unknown", code: `poll-http-${status}`, message: sentence(answer, of) };
}
