/**
 * One request with the redirects that the step allows. They are followed within the same origin
 * alone, since another one has not been allowed and must not get headers that hold secrets.
 */
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { activeTraceHeaders } from "../tracing.ts";
import { type Exchange, type ExchangeLimits, exchange, type Sent } from "./exchange.ts";
import type { PreparedRequest } from "./request.ts";
import { isSafe } from "./request.ts";

export interface Followed {
  readonly exchange: Exchange;
  /** The URL of the last request. */
  readonly url: URL;
  /** An earlier request may have taken effect, and the last one only asks for its result. */
  readonly isAfterEffect: boolean;
}

export async function follow(
  { sent, host }: PreparedRequest,
  redirectsMax: number,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<Followed> {
  let request = sent;
  let isAfterEffect = false;
  for (let left = redirectsMax; ; left--) {
    const found = await traced(request, (headers) => {
      const whole = { ...request, headers: { ...request.headers, ...headers } };
      return exchange(whole, host, limits, signal);
    });
    const next = left > 0 && found.kind === "answered" ? nextOf(request, found.answer) : null;
    if (next === null) return { exchange: found, url: request.url, isAfterEffect };
    isAfterEffect ||= isSafe(next.method) && !isSafe(request.method);
    request = next;
  }
}

/** The request to which a redirect leads; null: it is none, or it is not followed. */
function nextOf(
  request: Sent,
  { status, headers }: { status: number; headers: Readonly<Record<string, string>> },
): Sent | null {
  const { location } = headers;
  if (location === undefined || !URL.canParse(location, request.url.href)) return null;
  const url = new URL(location, request.url);
  if (url.origin !== request.url.origin || url.username !== "" || url.password !== "") return null;
  url.hash = "";
  if (status === 307 || status === 308) return { ...request, url };
  const isGet = isSafe(request.method);
  if (isGet && (status === 301 || status === 302)) return { ...request, url };
  if (status !== 303) return null;
  const method = request.method === "HEAD" ? "HEAD" : "GET";
  return { method, url, body: null, headers: readingHeaders(request.headers) };
}

/** Headers of a request that only reads: without those of a body, and without the key. */
export function readingHeaders(
  headers: Readonly<Record<string, string>>,
  idempotencyHeader = "",
): Readonly<Record<string, string>> {
  const left = new Set(["content-type", "content-length", idempotencyHeader.toLowerCase()]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !left.has(name)));
}

/** In a span of its own, whose position goes with the request. */
function traced(
  { method, url }: Sent,
  work: (headers: Readonly<Record<string, string>>) => Promise<Exchange>,
): Promise<Exchange> {
  const attributes = {
    "http.request.method": method,
    "server.address": url.hostname,
    "url.full": `${url.origin}${url.pathname}`,
  };
  const options = { kind: SpanKind.CLIENT, attributes };
  return trace.getTracer("@drover/agents").startActiveSpan(method, options, async (span) => {
    const found = await work(activeTraceHeaders());
    if (found.kind === "answered")
      span.setAttribute("http.response.status_code", found.answer.status);
    else {
      const type = "code" in found ? found.code : found.kind;
      span.setAttribute("error.type", type);
      span.setStatus({ code: SpanStatusCode.ERROR, message: type });
    }
    span.end();
    return found;
  });
}
