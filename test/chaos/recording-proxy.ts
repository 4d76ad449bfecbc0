// A gRPC proxy that stands before the servers and writes down every call that passes: one place and
// one clock for agents and clients of every language. To the checker it is the caller: a call is
// recorded before it goes to the server, an answer when it has come from it.
//
//   a connection of the caller → one connection to a server, in turn; both end together
//   a call: received whole → recorded → sent → its answer recorded → passed on
//
// It can also lose answers after the server has given them, and send calls once more, later.
import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { fromBinary } from "@bufbuild/protobuf";
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import type { Chance } from "../../simulator/chance.ts";
import type { Answer } from "../simulation/history.ts";
import type { Recorder } from "../simulation/recorder.ts";
import { answerSeen, canariesIn, nameIn, reasonOf } from "../simulation/seen.ts";
import { type RecordedCall, recordedMethod } from "./recorded-calls.ts";

export interface Upstream {
  /** The name of the server. */
  readonly server: string;
  readonly address: string;
}

export interface Misfortune {
  /** The share of the answers that are lost on their way back. */
  lossShare: number;
  /** The share of the calls that come once more, at a server by chance. */
  replayShare: number;
}

export interface RecordingProxyOptions {
  /** The name of the caller in the history. */
  readonly caller: string;
  readonly upstreams: readonly Upstream[];
  readonly recorder: Recorder;
  readonly canaries: readonly string[];
  readonly chance: Chance;
  readonly misfortune: Misfortune;
}

export interface RecordingProxy {
  /** host:port, for the caller. */
  readonly address: string;
  stop(): Promise<void>;
}

let replays = 0;
const REPLAY_MS_MAX = 3_000;
/** A server that does not answer a ping for so long is left, as the SDKs leave one. */
const PING_EVERY_MS = 4_000;
const {
  HTTP2_HEADER_PATH,
  HTTP2_HEADER_STATUS,
  NGHTTP2_CANCEL,
  NGHTTP2_INTERNAL_ERROR,
  NGHTTP2_NO_ERROR,
} = constants;

export async function startRecordingProxy(options: RecordingProxyOptions): Promise<RecordingProxy> {
  const { upstreams, chance } = options;
  const sessions = new Set<ServerHttp2Session>();
  let turn = chance.between(0, upstreams.length - 1);
  const server = createServer();
  server.on("session", (session) => {
    turn += 1;
    const upstream = upstreams[turn % upstreams.length];
    if (!upstream) throw new Error("a recording proxy needs a server");
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    join(session, upstream, options);
  });
  server.on("sessionError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return Object.freeze({
    address: `127.0.0.1:${address.port}`,
    async stop() {
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, "close");
    },
  });
}

/** Connects the caller's connection with one to the server. */
function join(session: ServerHttp2Session, upstream: Upstream, options: RecordingProxyOptions) {
  const client = connectTo(upstream);
  const ping = setInterval(() => {
    if (client.destroyed || client.connecting) return;
    const late = setTimeout(() => client.destroy(), 2 * PING_EVERY_MS);
    client.ping((error) => {
      clearTimeout(late);
      if (error) client.destroy();
    });
  }, PING_EVERY_MS);
  const connecting = setTimeout(() => {
    if (client.connecting) client.destroy();
  }, PING_EVERY_MS);
  client.on("goaway", (code) => {
    if (!session.destroyed) session.goaway(code);
    session.close();
  });
  client.on("close", () => {
    clearInterval(ping);
    clearTimeout(connecting);
    session.destroy();
  });
  session.on("error", () => undefined);
  session.on("close", () => client.destroy());
  session.on("stream", (stream, headers) => {
    void passOn({ stream, headers, client, upstream, options });
  });
}

function connectTo({ address }: Upstream): ClientHttp2Session {
  const client = connect(`http://${address}`);
  client.on("error", () => undefined);
  return client;
}

interface Passing {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly client: ClientHttp2Session;
  readonly upstream: Upstream;
  readonly options: RecordingProxyOptions;
}

async function passOn({ stream, headers, client, upstream, options }: Passing): Promise<void> {
  stream.on("error", () => undefined);
  const body = await bytesOf(stream);
  if (body === null || client.destroyed) {
    stream.close(NGHTTP2_INTERNAL_ERROR);
    return;
  }
  const path = String(headers[HTTP2_HEADER_PATH]);
  const method = recordedMethod(path);
  const [message] = messagesIn(body);
  const recorded = message && method ? method.read(message) : null;
  const { recorder, caller, chance, misfortune } = options;
  const call = recorded ? recorder.call(caller, upstream.server, recorded.request) : 0;
  const again = message && method && chance.happens(misfortune.replayShare);
  if (again) void replayLater(path, method.replay(message), headers, options);
  const loses = recorded !== null && chance.happens(misfortune.lossShare);
  const request = client.request({ ...withoutEncoding(headers) });
  request.on("error", () => undefined);
  stream.on("close", () => request.close(NGHTTP2_CANCEL));
  request.end(body);
  const note = noteAnswer(recorded, call, options);
  if (method?.isStream) passStream(stream, request, note);
  else {
    const answer = await answerOf(request);
    if (stream.destroyed || loses || !answer) note({ kind: "lost" });
    else note({ kind: "answer", ...answer });
    if (stream.destroyed) return;
    if (!answer || loses) stream.close(NGHTTP2_INTERNAL_ERROR);
    else sendAnswer(stream, answer);
  }
}

/** The server may compress for whom accepts that; here the bytes are read. */
function withoutEncoding(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { "grpc-accept-encoding": _, ...rest } = headers;
  return rest;
}

interface WireAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** null: all is in the headers. */
  readonly trailers: IncomingHttpHeaders | null;
}

/** null: the stream has ended without an answer. */
function answerOf(request: ClientHttp2Stream): Promise<WireAnswer | null> {
  return new Promise((resolve) => {
    let headers: IncomingHttpHeaders | null = null;
    let trailers: IncomingHttpHeaders | null = null;
    const chunks: Buffer[] = [];
    request.on("response", (received) => {
      headers = received;
    });
    request.on("trailers", (received) => {
      trailers = received;
    });
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("close", () => {
      const isWhole =
        request.rstCode === NGHTTP2_NO_ERROR &&
        headers !== null &&
        (trailers !== null || headers["grpc-status"] !== undefined);
      resolve(isWhole && headers ? { headers, body: Buffer.concat(chunks), trailers } : null);
    });
  });
}

function sendAnswer(stream: ServerHttp2Stream, { headers, body, trailers }: WireAnswer): void {
  if (!trailers) {
    stream.respond({ ...headers }, { endStream: true });
    return;
  }
  stream.respond({ ...headers }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ ...trailers }));
  stream.end(body);
}

type Noted =
  | ({ readonly kind: "answer" } & WireAnswer)
  | { readonly kind: "message"; readonly bytes: Uint8Array }
  | { readonly kind: "lost" };

/** Writes down what came back. */
function noteAnswer(
  recorded: RecordedCall | null,
  call: number,
  { recorder, caller, canaries }: RecordingProxyOptions,
): (noted: Noted) => void {
  if (!recorded) return () => undefined;
  const ok = (bytes: Uint8Array): void =>
    recorder.answer(caller, call, recorded.answer(bytes), canariesIn(bytes, canaries));
  return (noted) => {
    if (noted.kind === "lost")
      recorder.answer(caller, call, { kind: "unknown", code: "UNAVAILABLE" }, []);
    else if (noted.kind === "message") ok(noted.bytes);
    else {
      const error = errorIn(noted.trailers ?? noted.headers);
      const [message = new Uint8Array()] = messagesIn(noted.body);
      if (!error) ok(message);
      else recorder.answer(caller, call, error.answer, canariesIn(error.bytes, canaries));
    }
  };
}

function errorIn(
  trailers: IncomingHttpHeaders,
): { readonly answer: Answer; readonly bytes: Uint8Array } | null {
  const code = Number(trailers["grpc-status"] ?? Code.UNKNOWN);
  if (code === Code.OK) return null;
  const details = Buffer.from(String(trailers["grpc-status-details-bin"] ?? ""), "base64");
  const reason = reasonOf(fromBinary(StatusSchema, details));
  const bytes = Buffer.concat([details, Buffer.from(String(trailers["grpc-message"] ?? ""))]);
  const error = { kind: "error", code: nameIn(Code, code), reason, bytes } as const;
  return { bytes, answer: answerSeen(error, () => ({ kind: "unknown", code: "OK" })) };
}

/** Each message is written down and passed on as it comes. */
function passStream(
  stream: ServerHttp2Stream,
  request: ClientHttp2Stream,
  note: (noted: Noted) => void,
): void {
  let rest: Buffer = Buffer.alloc(0);
  let trailers: IncomingHttpHeaders = {};
  request.on("response", (headers) => {
    if (stream.destroyed) return;
    const isOver = headers["grpc-status"] !== undefined;
    stream.respond({ [HTTP2_HEADER_STATUS]: 200, ...headers }, { waitForTrailers: !isOver });
    if (isOver) stream.end();
  });
  stream.on("wantTrailers", () => stream.sendTrailers({ ...trailers }));
  request.on("trailers", (received) => {
    trailers = received;
  });
  request.on("data", (chunk: Buffer) => {
    if (stream.destroyed) return;
    rest = Buffer.concat([rest, chunk]);
    const whole = messagesIn(rest);
    rest = rest.subarray(whole.reduce((total, one) => total + HEAD_BYTES + one.length, 0));
    for (const bytes of whole) note({ kind: "message", bytes });
    stream.write(chunk);
  });
  request.on("close", () => {
    if (stream.destroyed) return;
    if (request.rstCode === NGHTTP2_NO_ERROR) stream.end();
    else stream.close(NGHTTP2_INTERNAL_ERROR);
  });
}

/**
 * As from a client that sends everything twice. In the history it is a call of a process of its
 * own: the caller knows more by then than its answer has, such as the version of a run.
 */
async function replayLater(
  path: string,
  message: Uint8Array | null,
  headers: IncomingHttpHeaders,
  options: RecordingProxyOptions,
): Promise<void> {
  const { recorder, chance, upstreams } = options;
  replays += 1;
  const caller = `${options.caller}-again-${replays}`;
  const recorded = message ? recordedMethod(path)?.read(message) : null;
  if (!message || !recorded) return;
  await new Promise((resolve) => setTimeout(resolve, chance.between(0, REPLAY_MS_MAX)));
  const upstream = chance.pick(upstreams);
  const client = connectTo(upstream);
  const overdue = setTimeout(() => client.destroy(), REPLAY_MS_MAX);
  const call = recorder.call(caller, upstream.server, recorded.request);
  const request = client.request({ ...withoutEncoding(headers) });
  request.on("error", () => undefined);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  request.end(Buffer.concat([head, message]));
  const answer = await answerOf(request);
  clearTimeout(overdue);
  client.destroy();
  const note = noteAnswer(recorded, call, { ...options, caller });
  note(answer ? { kind: "answer", ...answer } : { kind: "lost" });
}

/** Of a message of gRPC: whether it is compressed, and its length. */
const HEAD_BYTES = 5;

/** The whole messages at the beginning of the bytes. */
function messagesIn(bytes: Buffer): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  let rest = bytes;
  while (rest.length >= HEAD_BYTES && rest.length >= HEAD_BYTES + rest.readUInt32BE(1)) {
    if (rest[0] !== 0) throw new Error("a compressed message came through the recording proxy");
    const end = HEAD_BYTES + rest.readUInt32BE(1);
    found.push(rest.subarray(HEAD_BYTES, end));
    rest = rest.subarray(end);
  }
  return found;
}

/** null: the caller has given it up. */
function bytesOf(stream: ServerHttp2Stream): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => resolve(stream.aborted ? null : Buffer.concat(chunks)));
    stream.on("close", () => resolve(null));
  });
}
