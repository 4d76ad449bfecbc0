/**
 * One request and its answer, on a connection of its own.
 *
 *   not-sent    no byte of the request has left: connecting, or the check of the address, failed
 *   no-answer   it may have been received, and no head of an answer came
 *   answered    the head of an answer came; its body may be cut off or too large
 *   stopped     the task had to stop
 *
 * A connection is never used twice. On one that was kept, a request may be lost because the service
 * closes it at that time, and nobody could say whether the request was received.
 */
import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import { AddressRefused, type Host } from "./hosts.ts";

export interface Sent {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** null: there is none. */
  readonly body: Buffer | null;
}

export interface ExchangeLimits {
  readonly timeoutMs: number;
  readonly connectMs: number;
  readonly bytesMax: number;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What was read of the body. */
  readonly bytes: Buffer;
  /** Why that is not all of the body; null: it is. */
  readonly lacks: "cut" | "too-large" | "encoded" | null;
}

export type Exchange =
  /** `isFinal`: it will not work later by itself. */
  | {
      readonly kind: "not-sent";
      readonly code: string;
      readonly message: string;
      readonly isFinal: boolean;
    }
  | { readonly kind: "no-answer"; readonly code: string; readonly message: string }
  | { readonly kind: "answered"; readonly answer: RawAnswer }
  | { readonly kind: "stopped"; readonly isSent: boolean };

const HEAD_BYTES_MAX = 64 * 1024;

/** The stages of one exchange. */
interface State {
  readonly sent: Sent;
  readonly limits: ExchangeLimits;
  readonly call: http.ClientRequest;
  readonly settle: (exchange: Exchange) => void;
  /** The connection is made: from now on bytes may have been received. */
  isSent: boolean;
  /** The connection is made, and TLS is being agreed on. */
  isAgreeing: boolean;
  /** Ends the reading of a body; null: no head has come. */
  cut: (() => void) | null;
}

/** Never rejects. */
export function exchange(
  sent: Sent,
  host: Host,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<Exchange> {
  const address = sent.url.hostname.replace(/^\[|\]$/g, "");
  const refusal = isIP(address) === 0 ? null : host.refusalOf(address);
  if (refusal !== null) return Promise.resolve(refused(refusal));
  if (signal.aborted) return Promise.resolve({ kind: "stopped", isSent: false });
  return new Promise((resolve) => begin(sent, host, limits, signal, resolve));
}

function begin(
  sent: Sent,
  host: Host,
  limits: ExchangeLimits,
  signal: AbortSignal,
  resolve: (exchange: Exchange) => void,
): void {
  const call = (sent.url.protocol === "https:" ? https : http).request(sent.url, {
    method: sent.method,
    headers: sent.headers,
    // No pool, and so no connection is used twice.
    agent: false,
    lookup: host.lookup,
    maxHeaderSize: HEAD_BYTES_MAX,
    ...host.tls,
  });
  const timers = [
    setTimeout(() => timedOut(state), limits.timeoutMs),
    setTimeout(() => state.isSent || timedOut(state), limits.connectMs),
  ];
  const stop = () => state.settle({ kind: "stopped", isSent: state.isSent });
  signal.addEventListener("abort", stop, { once: true });
  const settle = (found: Exchange): void => {
    for (const timer of timers) clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    call.destroy();
    resolve(found);
  };
  const phase = { isSent: false, isAgreeing: false, cut: null };
  const state: State = { sent, limits, call, settle, ...phase };
  call.on("socket", (socket) => {
    const isTls = sent.url.protocol === "https:";
    socket.once("connect", () => {
      state.isAgreeing = isTls;
      state.isSent ||= !isTls;
    });
    // Not emitted for a certificate that is refused.
    socket.once("secureConnect", () => {
      state.isSent = true;
    });
  });
  call.on("error", (error) => settle(failed(state, error)));
  call.on("response", (response) => read(state, response));
  call.end(sent.body);
}

function timedOut(state: State): void {
  const { limits, isSent, settle, cut } = state;
  if (cut) cut();
  else if (isSent) {
    const message = `no answer within ${limits.timeoutMs} ms`;
    settle({ kind: "no-answer", code: "timeout", message });
  } else settle(notSent("connect-timeout", "no connection was made in time"));
}

function failed({ isSent, isAgreeing }: State, error: Error): Exchange {
  if (!isSent && error instanceof AddressRefused) return refused(error.message);
  const code = "code" in error ? String(error.code) : "";
  const message = error.message === "" ? code : error.message;
  if (isSent) return { kind: "no-answer", code: "connection-lost", message };
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return notSent("name-not-found", message);
  if (code === "ECONNREFUSED") return notSent("connection-refused", message);
  return notSent(isAgreeing ? "tls-failed" : "not-connected", message);
}

function notSent(code: string, message: string): Exchange {
  return { kind: "not-sent", code, message, isFinal: false };
}

function refused(message: string): Exchange {
  return { kind: "not-sent", code: "address-refused", message, isFinal: true };
}

/** Reads the body up to its limit; the rest is never read. */
function read(state: State, response: http.IncomingMessage): void {
  const { settle, limits, sent, call } = state;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const end = (lacks: RawAnswer["lacks"]): void => {
    const { statusCode: status = 0 } = response;
    const headers = headersOf(response);
    settle({ kind: "answered", answer: { status, headers, bytes: Buffer.concat(chunks), lacks } });
  };
  state.cut = () => end("cut");
  call.removeAllListeners("error");
  call.on("error", state.cut);
  response.on("data", (chunk: Buffer) => {
    const room = limits.bytesMax - bytes;
    bytes += chunk.length;
    chunks.push(chunk.subarray(0, room));
    if (bytes > limits.bytesMax) end("too-large");
  });
  response.on("error", state.cut);
  response.on("close", () => end(response.complete ? encodingOf(response, sent) : "cut"));
}

/** The agent asks for no encoding; a body that is encoded nevertheless is not read. */
function encodingOf({ headers }: http.IncomingMessage, { method }: Sent): RawAnswer["lacks"] {
  const { "content-encoding": encoding = "identity" } = headers;
  return encoding === "identity" || method === "HEAD" ? null : "encoded";
}

/** In lower case, each one text; cookies are no part of a result. */
function headersOf({ headers }: http.IncomingMessage): Readonly<Record<string, string>> {
  const texts = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
  return Object.fromEntries(texts);
}
