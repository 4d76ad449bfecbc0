/**
 * The server as the command line uses it: one client, and watches that survive broken streams.
 *
 * Connect over HTTP/1.1: it needs no port of its own, and passes every proxy that browsers pass.
 */
import { once } from "node:events";
import http, { type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Client,
  Code,
  ConnectError,
  createClient,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { WatchOverviewResponse } from "@drover/proto/drover/v1/overview_pb.ts";
import {
  type RunRef,
  SchedulerService,
  type WatchRunResponse,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { usageFailure } from "./failure.ts";
import { isFinal } from "./run-words.ts";
import { transportToOneOf } from "./several-servers.ts";
import { type TlsFiles, tlsFilesOf } from "./tls-files.ts";

export type Scheduler = Client<typeof SchedulerService>;
export type Operator = Client<typeof OperatorService>;

/** What every command needs that calls a server. */
export interface Connection {
  readonly scheduler: Scheduler;
  readonly operator: Operator;
  readonly namespace: string;
}

const callMsMax = 10_000;

export interface ConnectionOptions {
  /** host:port, http://host:port or https://host:port; several with commas. */
  readonly address: string;
  readonly namespace: string;
  /** Sent with each call; undefined: no token. */
  readonly token: string | undefined;
  /** Sends the token to another machine in plain text. Default false. */
  readonly plaintextToken?: boolean;
  /** For https://; left out: the authorities of the system, and no client certificate. */
  readonly tls?: TlsFiles;
}

const apiToken = /^drover_[\w-]{43}$/;
const jwt = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Whether the call may prove who calls, by a JWT or a client certificate. */
export function mayProveName({ token, tls }: ConnectionOptions): boolean {
  return token === undefined ? tls?.clientCertFile !== undefined : jwt.test(token);
}

/**
 * The name that the environment gives; "": none. A server refuses another name than the proved one,
 * so a JWT is sent without; beside a certificate, which not every server maps, the name of the
 * account is left out.
 */
export function userName(options: ConnectionOptions): string {
  const { DROVER_USER: stated = "", USER: account = "" } = process.env;
  if (!mayProveName(options)) return stated || account;
  return options.token === undefined ? stated : "";
}

/** `by` is who calls, for the audit; "": not said. */
export function createConnection(
  options: ConnectionOptions,
  by: string = userName(options),
): Connection {
  const { address, namespace, token, plaintextToken = false, tls = {} } = options;
  const urls = baseUrlsOf(address);
  if (token !== undefined) for (const url of urls) checkToken(token, url, plaintextToken);
  const open = (baseUrl: string): Transport =>
    createConnectTransport({
      baseUrl,
      httpVersion: "1.1",
      nodeOptions: tlsFilesOf(tls),
      defaultTimeoutMs: callMsMax,
      interceptors: [naming(by), ...(token === undefined ? [] : [showing(token)])],
    });
  const [first, ...others] = urls;
  const transport =
    others.length === 0
      ? open(first)
      : transportToOneOf({ choose: () => serverOf({ address, tls }), open });
  return Object.freeze({
    scheduler: createClient(SchedulerService, transport),
    operator: createClient(OperatorService, transport),
    namespace,
  });
}

/** Reports what is wrong with a token without printing the token. */
function checkToken(token: string, baseUrl: string, plaintextToken: boolean): void {
  if (!apiToken.test(token) && !jwt.test(token))
    throw usageFailure(
      "the value of --token or DROVER_TOKEN is not an API token (drover_ and 43 characters) or a JWT",
      "drover token create NAME --role ROLE prints one",
    );
  const { protocol, hostname, host } = new URL(baseUrl);
  if (plaintextToken || protocol === "https:" || /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname))
    return;
  throw usageFailure(
    `the token would be sent to ${host} unencrypted`,
    `--address https://${host} for a server with TLS, or --plaintext-token if the network is trusted`,
  );
}

function showing(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}

/** Percent-encoded: a header has no other characters. A name in the request itself counts first. */
function naming(by: string): Interceptor {
  return (next) => (request) => {
    if (by !== "") request.header.set("drover-by", encodeURIComponent(by));
    return next(request);
  };
}

/** Of each address. */
export function baseUrlsOf(address: string): readonly [string, ...string[]] {
  const [first = "", ...others] = address.split(",").map((one) => one.trim());
  return [baseUrlOf(first), ...others.map(baseUrlOf)];
}

function baseUrlOf(address: string): string {
  const given = /^https?:\/\//.test(address) ? address : `http://${address}`;
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || url.hostname === "" || url.pathname !== "/" || url.search || url.username)
    throw usageFailure(`"${address}" is not an address of a server`, "--address 127.0.0.1:7420");
  return url.origin;
}

interface PageText {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A page of the server that is no call, such as /healthz. */
export async function readPage(
  { address, tls = {} }: ConnectionOptions,
  path: string,
  signal: AbortSignal,
): Promise<PageText> {
  const response = await get(new URL(path, await serverOf({ address, tls })), tls, signal);
  return { headers: response.headers, body: await text(response) };
}

async function get(url: URL, tls: TlsFiles, signal: AbortSignal): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? https.get : http.get;
  const sent = request(url, { ...tlsFilesOf(tls), signal });
  const [response]: IncomingMessage[] = await once(sent, "response");
  if (response === undefined) throw new Error(`${url} has not answered`);
  return response;
}

/** Time for a server to show that it is there. */
const readyMs = 2_000;

/**
 * The server to call: of several, the one that is the first to answer that it is ready. If none is,
 * one that answers at all, or the first.
 */
async function serverOf({ address, tls = {} }: Pick<ConnectionOptions, "address" | "tls">) {
  const urls = baseUrlsOf(address);
  if (urls.length === 1) return urls[0];
  const chosen = new AbortController();
  const signal = AbortSignal.any([chosen.signal, AbortSignal.timeout(readyMs)]);
  const asked = urls.map(async (url) => {
    const response = await get(new URL("/readyz", url), tls, signal);
    response.resume();
    return { url, isReady: response.statusCode === 200 };
  });
  const ready = asked.map(async (one) => {
    const { url, isReady } = await one;
    return isReady ? url : Promise.reject(new Error(`${url} is not ready`));
  });
  try {
    return await Promise.any(ready);
  } catch {
    const [answered] = (await Promise.allSettled(asked)).filter(
      (one) => one.status === "fulfilled",
    );
    return answered?.value.url ?? urls[0];
  } finally {
    chosen.abort();
  }
}

const runTriesMax = 10;
const firstPauseMs = 100;
const pauseMsMax = 5_000;

/**
 * The states of a run until its final one, each newer than the one before. A stream that breaks, or
 * ends because its server drains, is resumed after its last state; only the first connection must
 * succeed.
 */
export async function* statesOf(
  { scheduler, namespace }: Connection,
  run: RunRef,
): AsyncGenerator<WatchRunResponse> {
  let after = "";
  let afterVersion = 0n;
  // An older server knows no cursor, and uses the version.
  const open = () => scheduler.watchRun({ namespace, run, after, afterVersion }, { timeoutMs: 0 });
  for await (const state of goingOn(open, runTriesMax)) {
    after = state.cursor;
    afterVersion = state.run?.version ?? afterVersion;
    yield state;
    if (state.run && isFinal(state.run.state)) return;
  }
}

/**
 * Overviews of a namespace for as long as the caller iterates. If the server is away, the stream is
 * retried without end, and `onLost` is called before each retry.
 */
export async function* overviewsOf(
  { operator, namespace }: Connection,
  onLost: () => void,
): AsyncGenerator<WatchOverviewResponse> {
  let after = "";
  const open = () => operator.watchOverview({ namespace, after }, { timeoutMs: 0 });
  for await (const state of goingOn(open, Number.POSITIVE_INFINITY, onLost)) {
    after = state.cursor;
    yield state;
  }
}

/** Opens the stream again each time that it ends. The first connection must succeed. */
async function* goingOn<T>(
  open: () => AsyncIterable<T>,
  triesMax: number,
  onLost: () => void = () => undefined,
): AsyncGenerator<T> {
  let connected = false;
  for (let tries = 0; ; tries++) {
    try {
      for await (const state of open()) {
        connected = true;
        tries = 0;
        yield state;
      }
    } catch (error) {
      if (!connected || tries >= triesMax || !isRetryable(error)) throw error;
    }
    onLost();
    await delay(Math.min(firstPauseMs * 2 ** tries, pauseMsMax));
  }
}

/** Whether a watch may be retried after this error; a watch changes nothing. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof ConnectError)) return false;
  return [Code.Unavailable, Code.Aborted, Code.Internal, Code.Unknown, Code.ResourceExhausted].some(
    (code) => code === error.code,
  );
}
