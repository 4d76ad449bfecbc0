// Connect, JSON and gRPC-Web over HTTP/1.1, on connect-node: for curl, browsers and the dashboard.
//
// connect-node itself answers requests that it cannot decode, and gives no reason. So when a call
// has failed before it reached its handler, the same handler is called once more with an empty
// body, and the request gate refuses that call with the reason found here. The answer then has the
// form of the caller's protocol.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type {
  UniversalHandler,
  UniversalServerRequest,
  UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import {
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { DroverError } from "../../errors.ts";
import { answerOf, StandardError } from "../calls/errors.ts";
import type { Call, Log, Mount, Mounted } from "../calls/mount.ts";
import { certificateOfSocket } from "./client-certificate.ts";
import { connectTimeoutMs, grpcTimeoutMs } from "./deadline.ts";
import {
  decodeBinary,
  decodeJson,
  JSON_OPTIONS,
  messageTooDeep,
  messageTooLarge,
} from "./decode.ts";
import { createDepthMeter } from "./json-depth.ts";

export interface ConnectTransport {
  /** False: there is no such path here. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
}

/** What is known about a call besides its messages. */
interface CallState {
  reached: boolean;
  readonly peer: string;
  readonly certificate: Call["certificate"];
  readonly refusal: DroverError | null;
}

const NO_CALL: CallState = Object.freeze({
  reached: false,
  peer: "",
  certificate: () => null,
  refusal: null,
});
const PASSAGE = createContextKey<CallState>(NO_CALL);
/**
 * One byte of flags and four of length, before each message of gRPC-Web and of a Connect stream.
 */
const ENVELOPE_HEAD_BYTES = 5;
const CONNECT_TIMEOUT = "connect-timeout-ms";
const GRPC_TIMEOUT = "grpc-timeout";

export function createConnectTransport(
  methods: readonly Mounted[],
  limits: { readonly messageBytesMax: number },
  mount: Pick<Mount, "checkDeadline">,
  log: Log,
): ConnectTransport {
  const router = createConnectRouter({
    grpc: false,
    readMaxBytes: limits.messageBytesMax,
    acceptCompression: [],
    jsonOptions: JSON_OPTIONS,
    requestGate(context) {
      const { refusal } = context.values.get(PASSAGE);
      if (refusal !== null) throw connectError(refusal);
    },
  });
  for (const mounted of methods) addMethod(router, mounted);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));

  return Object.freeze({
    handle(request: IncomingMessage, response: ServerResponse): boolean {
      const handler = handlers.get(request.url?.split("?", 1)[0] ?? "");
      if (!handler) return false;
      const served = answer(handler, request, response, limits.messageBytesMax, mount);
      void served.catch((error: unknown) => {
        // Aborted: the caller disconnected before its answer was complete.
        if (ConnectError.from(error).code !== Code.Aborted)
          log.warn({ err: error, method: handler.method.name }, "an answer could not be written");
        response.destroy();
      });
      return true;
    },
  });
}

async function answer(
  handler: UniversalHandler,
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax: number,
  mount: Pick<Mount, "checkDeadline">,
): Promise<void> {
  const { socket } = request;
  const peer = `${socket.remoteAddress}:${socket.remotePort}`;
  const certificate = () => certificateOfSocket(socket);
  const refusalAtOnce = absurdDeadline(request, mount);
  const passage: CallState = { reached: false, peer, certificate, refusal: refusalAtOnce };
  const asked = askedWith(request, response, passage);
  const body = teeBody(asked, bytesMax);
  const first = await handler({ ...asked, body: body.bytes });
  const answered = passage.reached || passage.refusal !== null;
  const refusal = answered ? null : body.problem(handler.method, asked.header);
  await universalResponseToNodeResponse(
    refusal === null ? first : await refuse(handler, asked, first, { ...passage, refusal }),
    response,
  );
}

/**
 * connect-node starts a timer before it calls any of this code, so an excessive deadline is removed
 * from the headers first.
 */
function absurdDeadline(
  { headers }: IncomingMessage,
  mount: Pick<Mount, "checkDeadline">,
): DroverError | null {
  try {
    mount.checkDeadline(connectTimeoutMs(headers[CONNECT_TIMEOUT]));
    mount.checkDeadline(grpcTimeoutMs(headers[GRPC_TIMEOUT]));
    return null;
  } catch (error) {
    delete headers[CONNECT_TIMEOUT];
    delete headers[GRPC_TIMEOUT];
    if (error instanceof DroverError) return error;
    throw error;
  }
}

function askedWith(request: IncomingMessage, response: ServerResponse, passage: CallState) {
  const values = createContextValues().set(PASSAGE, passage);
  return universalRequestFromNodeRequest(request, response, undefined, values);
}

async function refuse(
  handler: UniversalHandler,
  asked: UniversalServerRequest,
  first: UniversalServerResponse,
  passage: CallState,
): Promise<UniversalServerResponse> {
  await first.body?.[Symbol.asyncIterator]().return?.();
  const contextValues = createContextValues().set(PASSAGE, passage);
  return handler({ ...asked, body: nothing(), contextValues });
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/**
 * Passes the body through and keeps a copy, so that the reason of a decoding error can be given.
 */
function teeBody({ body: source, header: of }: UniversalServerRequest, bytesMax: number) {
  const chunks: Uint8Array[] = [];
  const isJson = (of.get("content-type") ?? "").includes("json");
  const isDeep = isJson ? createDepthMeter() : () => false;
  let size = 0;
  let tooDeep = false;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    if (!isByteStream(source)) return;
    for await (const chunk of source) {
      size += chunk.length;
      tooDeep ||= isDeep(chunk);
      // The rest is read and dropped, so that the sender receives the answer.
      if (tooDeep) continue;
      if (size <= bytesMax + ENVELOPE_HEAD_BYTES) chunks.push(chunk);
      yield chunk;
    }
  }
  function problem(method: DescMethod, header: Headers): DroverError | null {
    const type = header.get("content-type") ?? "";
    const enveloped = !/^application\/(json|proto)\b/.test(type);
    const head = enveloped ? ENVELOPE_HEAD_BYTES : 0;
    const sent = Buffer.concat(chunks);
    const announced = head > 0 && sent.length >= head ? sent.readUInt32BE(1) + head : size;
    const claimed = Number(header.get("content-length"));
    if (Math.max(size, announced, claimed) > bytesMax + head) return messageTooLarge(bytesMax);
    if (tooDeep) return messageTooDeep();
    if (size === 0) return null;
    const body = sent.subarray(head);
    const decoded = (type.includes("json") ? decodeJson : decodeBinary)(method.input, body);
    return decoded.kind === "malformed" ? decoded.error : null;
  }
  return { bytes: bytes(), problem };
}

function isByteStream(body: UniversalServerRequest["body"]): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

function addMethod(router: ConnectRouter, mounted: Mounted): void {
  switch (mounted.kind) {
    case "unary":
      router.rpc(mounted.method, async (request, context) => {
        const answered = mounted.run(request, callOf(context));
        return await untilAborted(answered, context);
      });
      return;
    case "stream":
      router.rpc(mounted.method, async function* (request, context) {
        try {
          yield* mounted.run(request, callOf(context));
        } catch (error) {
          throw connectError(error);
        }
      });
      return;
    case "bidi":
      // HTTP/1.1 has no bidirectional streams: such a path does not exist on this transport.
      return;
  }
}

function callOf(context: HandlerContext): Call {
  const passage = context.values.get(PASSAGE);
  passage.reached = true;
  return {
    signal: context.signal,
    deadlineMs: context.timeoutMs() ?? null,
    peer: passage.peer,
    header: (name) => context.requestHeader.get(name),
    certificate: passage.certificate,
  };
}

/** connect-node does not answer at the deadline by itself. */
async function untilAborted(answered: Promise<Message>, context: HandlerContext): Promise<Message> {
  const { signal } = context;
  let abort = () => {};
  const gone = new Promise<never>((_, reject) => {
    abort = () => reject(ConnectError.from(signal.reason, Code.Canceled));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
  try {
    return await Promise.race([answered, gone]);
  } catch (error) {
    throw connectError(error);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function connectError(error: unknown): ConnectError {
  if (!(error instanceof DroverError || error instanceof StandardError))
    return ConnectError.from(error);
  const { code, message, details } = answerOf(error);
  return new ConnectError(message, code as Code, undefined, [...details]);
}
