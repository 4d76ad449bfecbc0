// A server that tests attack, a good client beside the attack, and what a hostile peer is made of.
// Its calls go over gRPC and over JSON, and one poll of it is parked all the while. One world at a
// time: `start` makes it, and it ends with its test.
import { readFileSync } from "node:fs";
import http2, { type ClientHttp2Session, type IncomingHttpHeaders } from "node:http2";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import type { Refusal } from "../../../server/api/transport/connection-guard.ts";
import { systemClock } from "../../../server/clock.ts";
import type { TlsConfig } from "../../../server/tls-config.ts";
import { createCertificates } from "../../support/certificates.ts";
import { until } from "../../support/until.ts";
import { type GrpcClient, grpcClient, postJson } from "./rpc-clients.ts";
import { AGENT, aborted, RUN_ID, startWorld, type World, type WorldOptions } from "./rpc-world.ts";

export const { getRun } = SchedulerService.method;
const { pollTask } = AgentService.method;
export const run = { ref: { case: "runId" as const, value: RUN_ID } };
export const PATH = `/${SchedulerService.typeName}/GetRun`;
/** Another address than the good client's. */
export const ELSEWHERE = "127.0.0.2";

interface Secure {
  readonly tls: TlsConfig;
  readonly ca: Buffer;
}

export let world: World;
/** null: it speaks plain text. */
let ca: Buffer | null = null;
let good: GrpcClient;
let poll: { readonly done: Promise<{ code: number }>; cancel(): void };
export const sockets: Socket[] = [];
const sessions: ClientHttp2Session[] = [];

/** Ends the world of a test, if it has one. */
let stop = async () => {};

/** A clock that a test moves forward, beside the time that passes. */
export function movedClock() {
  let moved = 0;
  const monotonicMs = () => systemClock.monotonicMs() + moved;
  const move = (ms: number) => {
    moved += ms;
  };
  return { clock: { ...systemClock, monotonicMs }, move };
}

/** `secure`: the server speaks TLS, and the good client calls over gRPC alone. */
export async function start(
  options: WorldOptions = {},
  secure: Secure | null = null,
): Promise<void> {
  ca = secure?.ca ?? null;
  world = await startWorld({
    ...options,
    config: { ...options.config, ...(secure && { tls: secure.tls }) },
    transportLimits: { checkEveryMs: 20, ...options.transportLimits },
  });
  world.dispatcher.poll = async (_, { over }) => {
    await aborted(over);
    return { tasks: [], waitedMs: 0 };
  };
  good = grpcClient(world.port, "127.0.0.1", { ca });
  stop = async () => {
    stop = async () => {};
    poll.cancel();
    good.close();
    await world.close();
  };
  poll = good.open(pollTask, { agent: AGENT, pollSeq: 1n, wait: durationFromMs(60_000) });
  await served();
}

export async function served(): Promise<void> {
  expect((await good.unary(getRun, { run })).code).toBe(0);
  if (ca !== null) return;
  expect((await postJson(world.port, getRun, { run: { runId: RUN_ID } })).http).toBe(200);
}

/** The good client calls until the attack is over, and once more. */
export async function beside(attack: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = attack.finally(() => {
    isOver = true;
  });
  while (!isOver) await served();
  await over;
  await served();
  const ended = await Promise.race([poll.done, Promise.resolve(null)]);
  expect(ended).toBeNull();
}

/** A connection, encrypted where the server speaks TLS. */
export function open(from = ELSEWHERE): Socket {
  const to = { port: world.port, host: "127.0.0.1", localAddress: from };
  const socket =
    ca === null ? connect(to) : connectTls({ socket: connect(to), ca, ALPNProtocols: ["h2"] });
  sockets.push(socket);
  socket.on("error", () => undefined);
  return socket;
}

/** Also after an error of the connection, which is what some attacks end in. */
export async function closed(socket: Duplex): Promise<void> {
  if (socket.closed) return;
  await new Promise<void>((resolve) => void socket.once("close", () => resolve()));
}

export function session(options: http2.ClientSessionOptions = {}): ClientHttp2Session {
  const made = http2.connect(`http://127.0.0.1:${world.port}`, {
    ...options,
    createConnection: () => open(),
  });
  made.on("error", () => undefined);
  sessions.push(made);
  return made;
}

export interface RawAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly code: number;
  readonly rst: number;
}

export interface RawCall {
  readonly headers?: http2.OutgoingHttpHeaders;
  readonly body?: Uint8Array;
  /** The caller never says that its request is over. */
  readonly neverEnds?: boolean;
  readonly path?: string;
}

/** One call by hand; -1: it was answered without a status of gRPC. */
export async function rawCall(
  { headers = {}, body = Buffer.alloc(0), neverEnds = false, path = PATH }: RawCall,
  on = session(),
): Promise<RawAnswer> {
  const stream = on.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  let seen: IncomingHttpHeaders = {};
  stream.on("response", (given) => {
    seen = { ...seen, ...given };
  });
  stream.on("trailers", (given) => {
    seen = { ...seen, ...given };
  });
  stream.on("error", () => undefined);
  stream.resume();
  if (neverEnds) stream.write(body);
  else stream.end(body);
  await closed(stream);
  return { headers: seen, code: Number(seen["grpc-status"] ?? -1), rst: stream.rstCode };
}

/** Everything that comes until the server closes the connection. */
export async function answerOn(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (part) => {
    text += part;
  });
  await closed(socket);
  return text;
}

export async function refused(reason: Refusal): Promise<void> {
  await until(`refused for ${reason}`, () => (world.refused.includes(reason) ? reason : null));
}

export let secure: Secure;

/** For the top of a file of tests. Files share this module, so each registers its own hooks. */
export function useHostileWorld(): void {
  const certificates = createCertificates();
  beforeAll(async () => {
    const authority = await certificates.authority("ours");
    const issued = await authority.issue({ name: "server" });
    secure = {
      tls: { ...issued, clientCaFile: null, requireClientCert: false },
      ca: readFileSync(authority.certFile),
    };
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const session of sessions.splice(0)) session.destroy();
    await stop();
  });
  afterAll(() => certificates.remove());
}

/** An empty message in its frame. */
export const EMPTY = Buffer.alloc(5);
/** A message in its frame; the flag says whether it is compressed. */
export function framed(message: Uint8Array, flag = 0, length = message.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

export const INVALID = 3;
