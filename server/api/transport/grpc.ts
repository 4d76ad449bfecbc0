// Native gRPC on grpc-js, for agents. `port.ts` hands over connections through a connection
// injector.
//
// Keepalive and connection age of grpc-js stay off: after a GOAWAY its keepalive (1.14) drops calls
// that are still in flight. So only the drain of the server sends GOAWAY to open calls, and
// session-guard.ts closes old connections when they have no calls. A peer
// that stops responding holds a call for no longer than the wait of a poll.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";
import type { Http2Server } from "node:http2";
import type { Socket } from "node:net";
import { type Message, toBinary } from "@bufbuild/protobuf";
import {
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedHandleCall,
} from "@grpc/grpc-js";
import type { Clock, Random } from "../../clock.ts";
import type { DroverError } from "../../errors.ts";
import type { StandardError } from "../calls/errors.ts";
import type { Call, Mounted } from "../calls/mount.ts";
import { certificateFrom } from "./client-certificate.ts";
import type { ConnectionGuard } from "./connection-guard.ts";
import { grpcTimeoutMs } from "./deadline.ts";
import { type Decoded, decodeBinary } from "./decode.ts";
import { grpcError, ownAnswers } from "./grpc-answers.ts";
import { createSessionGuard, type GuardedStream, type SessionGuard } from "./session-guard.ts";

export interface GrpcTransport {
  accept(socket: Socket): void;
  /** Cuts calls and connections that have passed a limit of time. */
  check(): void;
  /**
   * Sends GOAWAY to the connections that are open now: calls in flight end, and new ones are
   * refused as not processed. Cuts what remains of them after the grace period. May be repeated.
   */
  drain(graceMs: number): void;
  stop(): void;
}

interface GrpcLimits {
  readonly messageBytesMax: number;
  readonly streamsPerConnectionMax: number;
}

interface GrpcDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly guard: ConnectionGuard;
}

/** What the calls of all methods use. */
interface Serving {
  readonly now: () => number;
  readonly sessions: Pick<SessionGuard, "answered">;
}

type AnyCall = Pick<
  ServerUnaryCall<Decoded, Message>,
  "metadata" | "getDeadline" | "getPeer" | "getAuthContext" | "cancelled" | "on"
>;

const TRUE_TIMEOUT = "x-drover-timeout-ms";
/** grpc-js keeps a deadline in 32 bits of milliseconds; a longer one overflows. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;
const STREAM_CREATED = "http2.server.stream.created";

export function createGrpcTransport(
  methods: readonly Mounted[],
  limits: GrpcLimits,
  { clock, random, guard }: GrpcDeps,
): GrpcTransport {
  const now = clock.wallMs;
  const { messageBytesMax, streamsPerConnectionMax } = limits;
  const sessions = createSessionGuard({ clock, random, guard, messageBytesMax });
  const server = new Server({
    // channelz counts every connection and call, and nothing reads its counts.
    "grpc.enable_channelz": 0,
    "grpc.max_receive_message_length": messageBytesMax,
    "grpc.max_send_message_length": -1,
    interceptors: [ownAnswers(messageBytesMax)],
  });
  for (const mounted of methods) addMethod(server, mounted, { now, sessions });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const http2 = http2ServerOf(server);
  http2.updateSettings({
    maxConcurrentStreams: streamsPerConnectionMax,
    maxHeaderListSize: guard.limits.headerBytesMax,
  });
  http2.on("session", sessions.begin);
  refuseDeadStreams(http2, sessions);
  const openEnded = new Set(methods.flatMap((one) => (one.kind === "bidi" ? [pathOf(one)] : [])));
  const onStream = (event: unknown): void => {
    if (!isStreamEvent(event) || !sessions.watches(event.stream.session)) return;
    keepTrueTimeout(event.headers);
    sessions.opened(event.stream, openEnded.has(String(event.headers[":path"])));
  };
  subscribe(STREAM_CREATED, onStream);
  let stopped = false;
  return Object.freeze({
    accept: (socket: Socket) => guard.accept(socket, () => injector.injectConnection(socket)),
    check: sessions.check,
    drain: (graceMs: number) => injector.drain(graceMs),
    stop() {
      if (stopped) return;
      stopped = true;
      unsubscribe(STREAM_CREATED, onStream);
      server.forceShutdown();
    },
  });
}

/**
 * grpc-js has no options for the settings of HTTP/2 and shows no connections, so the server of Node
 * that it uses is taken from its field. Throws if another version of it has none.
 */
function http2ServerOf(server: Server): Http2Server {
  const servers: unknown = Reflect.get(server, "http2Servers");
  const [found]: unknown[] = servers instanceof Map ? [...servers.keys()] : [];
  if (!isHttp2Server(found)) throw new Error("this version of grpc-js hides its HTTP/2 server");
  return found;
}

/**
 * grpc-js answers a call of an unknown method or content type without a look at its stream. If its
 * caller has cancelled it by then, that throws, outside of any call, and ends the process.
 */
function refuseDeadStreams(http2: Http2Server, sessions: SessionGuard): void {
  const handlers = http2.listeners("stream");
  http2.removeAllListeners("stream");
  http2.on("stream", (stream, headers, flags, raw) => {
    if (sessions.mayBegin(stream, raw) && !stream.closed && !stream.destroyed)
      for (const handle of handlers) handle.call(http2, stream, headers, flags);
    else stream.on("error", ignore);
  });
}

/** The end of a stream has an event of its own. */
const ignore = () => undefined;

function isHttp2Server(value: unknown): value is Http2Server {
  return value instanceof EventEmitter && "updateSettings" in value;
}

/**
 * Node publishes each new stream before grpc-js reads its headers: the only place where an
 * excessive timeout can still be read as it was sent. The timeout moves to a header of Drover, so
 * grpc-js sets no timer.
 */
function keepTrueTimeout(headers: Record<string, unknown>): void {
  delete headers[TRUE_TIMEOUT];
  const given = headers["grpc-timeout"];
  if (given === undefined) return;
  const timeoutMs = grpcTimeoutMs(given);
  if (timeoutMs !== null && timeoutMs <= TIMEOUT_MS_MAX) return;
  if (timeoutMs === null) {
    // grpc-js finds a timeout in the midst of other text; of this it finds none, and refuses it.
    headers["grpc-timeout"] = `?${String(given).replace(/\d/g, "")}`;
    return;
  }
  delete headers["grpc-timeout"];
  headers[TRUE_TIMEOUT] = String(timeoutMs);
}

interface StreamEvent {
  readonly headers: Record<string, unknown>;
  readonly stream: GuardedStream;
}

function isStreamEvent(event: unknown): event is StreamEvent {
  if (typeof event !== "object" || event === null) return false;
  if (!("headers" in event && "stream" in event)) return false;
  const { headers, stream } = event;
  if (typeof headers !== "object" || typeof stream !== "object") return false;
  return headers !== null && stream !== null && "rstCode" in stream;
}

function pathOf({ method }: Mounted): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function addMethod(server: Server, mounted: Mounted, serving: Serving): void {
  const { method } = mounted;
  const definition: MethodDefinition<Decoded, Message> = {
    path: pathOf(mounted),
    requestStream: mounted.kind === "bidi",
    responseStream: mounted.kind !== "unary",
    requestSerialize: () => Buffer.alloc(0),
    requestDeserialize: (bytes) => decodeBinary(method.input, bytes),
    responseSerialize(message) {
      const bytes = toBinary(method.output, message);
      // grpc-js calls `.copy`, which a plain Uint8Array does not have.
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    responseDeserialize: () => {
      throw new Error("the server reads no responses");
    },
  };
  server.addService(
    { [method.localName]: definition },
    { [method.localName]: serve(mounted, serving) },
  );
}

function serve(mounted: Mounted, serving: Serving): UntypedHandleCall {
  switch (mounted.kind) {
    case "unary":
      return (call: ServerUnaryCall<Decoded, Message>, answer: sendUnaryData<Message>) => {
        serveUnary(mounted, call, answer, serving);
      };
    case "stream":
      return (call: ServerWritableStream<Decoded, Message>) => {
        void serveStream(mounted, call, serving);
      };
    case "bidi":
      return (call: ServerDuplexStream<Decoded, Message>) => {
        void serveBidi(mounted, call, serving);
      };
  }
}

function serveUnary(
  mounted: Extract<Mounted, { kind: "unary" }>,
  call: ServerUnaryCall<Decoded, Message>,
  answer: sendUnaryData<Message>,
  { now }: Serving,
): void {
  const decoded = call.request;
  if (decoded.kind === "malformed") {
    answer(grpcError(decoded.error));
    return;
  }
  const caller = callerOf(call, now);
  mounted.run(decoded.message, caller.call).then(
    (message) => {
      caller.settle();
      answer(null, message);
    },
    (error: DroverError | StandardError) => {
      caller.settle();
      answer(grpcError(error));
    },
  );
}

async function serveStream(
  mounted: Extract<Mounted, { kind: "stream" }>,
  call: ServerWritableStream<Decoded, Message>,
  { now, sessions }: Serving,
): Promise<void> {
  const decoded = call.request;
  if (decoded.kind === "malformed") {
    call.emit("error", grpcError(decoded.error));
    return;
  }
  const caller = callerOf(call, now);
  await writeAll(mounted.run(decoded.message, caller.call), call, sessions);
  caller.settle();
}

async function serveBidi(
  mounted: Extract<Mounted, { kind: "bidi" }>,
  call: ServerDuplexStream<Decoded, Message>,
  { sessions }: Serving,
): Promise<void> {
  async function* requests(): AsyncGenerator<Message> {
    for await (const decoded of call as AsyncIterable<Decoded>) {
      if (decoded.kind === "malformed") throw decoded.error;
      yield decoded.message;
    }
  }
  await writeAll(mounted.run(requests()), call, sessions);
}

/** Writes answers as fast as the peer accepts them, and stops when it has disconnected. */
async function writeAll(
  answers: AsyncIterable<Message>,
  call: ServerWritableStream<Decoded, Message> | ServerDuplexStream<Decoded, Message>,
  sessions: Serving["sessions"],
): Promise<void> {
  const peer = call.getPeer();
  try {
    for await (const message of answers) {
      if (call.cancelled) return;
      sessions.answered(peer);
      if (!call.write(message)) await drained(call);
    }
    call.end();
  } catch (error) {
    // A peer that has disconnected receives nothing. Every other error comes from a mounted method.
    if (!call.cancelled) call.emit("error", grpcError(error as DroverError));
  }
}

function drained(call: {
  once(event: string, tell: () => void): unknown;
  off(event: string, tell: () => void): unknown;
}): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      call.off("drain", done);
      call.off("cancelled", done);
      resolve();
    };
    call.once("drain", done);
    call.once("cancelled", done);
  });
}

/**
 * `settle`: from now on `cancelled` only means that the call is over; grpc-js emits it after each
 * call.
 */
function callerOf(call: AnyCall, now: () => number): { call: Call; settle: () => void } {
  let controller: AbortController | null = null;
  let settled = false;
  const facts: Call = {
    get signal() {
      if (controller !== null) return controller.signal;
      const made = new AbortController();
      controller = made;
      if (call.cancelled) made.abort();
      else
        call.on("cancelled", () => {
          if (!settled) made.abort();
        });
      return made.signal;
    },
    deadlineMs: deadlineOf(call, now),
    peer: call.getPeer(),
    header: (name) => call.metadata.get(name)[0]?.toString() ?? null,
    certificate: () => certificateFrom(call.getAuthContext().sslPeerCertificate ?? {}),
  };
  return {
    call: facts,
    settle: () => {
      settled = true;
    },
  };
}

function deadlineOf(call: AnyCall, now: () => number): number | null {
  const [trueTimeout] = call.metadata.get(TRUE_TIMEOUT);
  if (trueTimeout !== undefined) return Number(trueTimeout);
  const deadline = call.getDeadline();
  const at = deadline instanceof Date ? deadline.getTime() : deadline;
  return Number.isFinite(at) ? at - now() : null;
}
