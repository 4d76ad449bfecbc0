// The network between callers and servers. Requests and answers travel as bytes, so that nothing is
// shared; each may be lost, repeated, delayed and overtaken. A call ends with its answer, with its
// deadline, or with the crash of its server, whichever its caller learns first.
import {
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type Message,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import { StandardError, toStatus } from "../../server/api/calls/errors.ts";
import type { Call } from "../../server/api/calls/mount.ts";
import { DroverError } from "../../server/errors.ts";
import type { VirtualProcess } from "../../simulator/virtual-process.ts";
import type { VirtualTime } from "../../simulator/virtual-time.ts";
import type { Faults } from "./faults.ts";
import type { HttpCall, HttpReply } from "./http-call.ts";
import { nameIn, OVERLOADED } from "./seen.ts";
import type { ServerProcess } from "./server-process.ts";

export type Reply<M extends Message> =
  | { readonly kind: "ok"; readonly message: M; readonly bytes: Uint8Array }
  | {
      readonly kind: "error";
      readonly code: string;
      readonly reason: string;
      readonly bytes: Uint8Array;
    };

export interface Network {
  unary<M extends DescMethodUnary>(
    caller: VirtualProcess,
    server: ServerProcess,
    method: M,
    request: MessageShape<M["input"]>,
    deadlineMs: number,
  ): Promise<Reply<MessageShape<M["output"]>>>;
  /** null: nothing was received. */
  post(
    caller: VirtualProcess,
    server: ServerProcess,
    message: HttpCall,
    deadlineMs: number,
  ): Promise<HttpReply | null>;
  /** Calls back for each message and resolves at the end of the stream. */
  stream<M extends DescMethodServerStreaming>(
    caller: VirtualProcess,
    server: ServerProcess,
    method: M,
    request: MessageShape<M["input"]>,
    deadlineMs: number,
    onReply: (reply: Reply<MessageShape<M["output"]>>) => void,
  ): Promise<void>;
}

type ErrorReply = Extract<Reply<Message>, { kind: "error" }>;

/** Made once: the stack of an error costs more than the rest of a call. */
const GONE = new Error("the caller has gone");
const NO_BYTES = new Uint8Array();

const broken = (code: "UNAVAILABLE" | "DEADLINE_EXCEEDED"): ErrorReply => ({
  kind: "error",
  code,
  reason: "",
  bytes: NO_BYTES,
});

/** The caller's side of a call: the first answer counts, and later ones are dropped. */
interface Caller {
  readonly process: VirtualProcess;
  onReply(reply: { readonly bytes: Uint8Array } | ErrorReply, last: boolean): void;
  /** When the caller has given up, or has crashed. */
  onCallerGone(callback: () => void): void;
}

interface Way {
  /** Streams: no message of theirs is repeated. */
  readonly isOnce?: boolean;
  readonly notBeforeMs?: number;
}

export function createNetwork(time: VirtualTime, faults: Faults): Network {
  /** Returns when it arrives; null: never. Nothing arrives before `notBeforeMs`. */
  function carry(
    to: string,
    isServer: boolean,
    cutOff: () => boolean,
    arrive: () => void,
    { isOnce = false, notBeforeMs = 0 }: Way = {},
  ): number | null {
    const fate = faults.message(to, isServer, isOnce);
    if (fate.kind === "lost" || cutOff()) return null;
    const arrivesInMs = Math.max(fate.inMs, notBeforeMs - time.now());
    const deliver = (inMs: number) =>
      time.after(inMs, () => {
        if (!cutOff()) arrive();
      });
    deliver(arrivesInMs);
    if (fate.againInMs !== null) deliver(Math.max(fate.againInMs, arrivesInMs));
    return time.now() + arrivesInMs;
  }

  function answer(
    server: ServerProcess,
    caller: Caller,
    reply: () => void,
    way?: Way,
  ): number | null {
    const { process } = caller;
    const cutOff = () => server.cutOff;
    return carry(process.name, false, cutOff, () => void process.post(0, reply), way);
  }

  /** Hands a request to the process that the server runs as when it arrives. */
  function send(
    server: ServerProcess,
    caller: Caller,
    deadlineMs: number,
    way: Way,
    handle: (call: Call) => Promise<void>,
  ): void {
    const arrive = (): void => {
      const process = server.process();
      if (!process) {
        answer(server, caller, () => caller.onReply(broken("UNAVAILABLE"), true));
        return;
      }
      process.post(0, () => {
        const gone = new AbortController();
        const from = { peer: caller.process.name, header: () => null, certificate: () => null };
        const call = { signal: gone.signal, deadlineMs, ...from };
        const forget = process.onCrash(() => {
          // Sometimes the connection is reset, and sometimes no reply comes.
          if (process.chance.happens(0.6))
            answer(server, caller, () => caller.onReply(broken("UNAVAILABLE"), true));
        });
        caller.onCallerGone(
          () => void process.post(process.chance.between(0, 3), () => gone.abort(GONE)),
        );
        void handle(call).finally(forget);
      });
    };
    carry(server.name, true, () => server.cutOff, arrive, way);
  }

  return Object.freeze({
    unary<M extends DescMethodUnary>(
      process: VirtualProcess,
      server: ServerProcess,
      method: M,
      request: MessageShape<M["input"]>,
      deadlineMs: number,
    ): Promise<Reply<MessageShape<M["output"]>>> {
      const bytes = toBinary(method.input, request);
      return new Promise((resolve) => {
        const caller = createCaller(process, deadlineMs, (reply) =>
          resolve(replyOf<M["output"]>(method.output, reply)),
        );
        send(server, caller, deadlineMs, {}, async (call) => {
          const mounted = server.method(method.name);
          if (mounted.kind !== "unary") throw new Error(`${method.name} is no unary method`);
          const reply = await mounted
            .run(fromBinary(method.input, bytes), call)
            .then((message) => ({ bytes: toBinary(method.output, message) }), errorReply);
          if ("kind" in reply && reply.reason === OVERLOADED)
            faults.count("call refused as overloaded");
          answer(server, caller, () => caller.onReply(reply, true));
        });
      });
    },
    post(process, server, message, deadlineMs) {
      return new Promise((resolve) => {
        let answered: HttpReply | null = null;
        const caller = createCaller(process, deadlineMs, (reply) =>
          resolve("kind" in reply ? null : answered),
        );
        send(server, caller, deadlineMs, {}, async () => {
          answered = await server.post(message);
          answer(server, caller, () => caller.onReply({ bytes: NO_BYTES }, true));
        });
      });
    },
    stream<M extends DescMethodServerStreaming>(
      process: VirtualProcess,
      server: ServerProcess,
      method: M,
      request: MessageShape<M["input"]>,
      deadlineMs: number,
      onReply: (reply: Reply<MessageShape<M["output"]>>) => void,
    ): Promise<void> {
      const bytes = toBinary(method.input, request);
      return new Promise((resolve) => {
        const caller = createCaller(process, deadlineMs, (reply, last) => {
          if (reply.bytes.length > 0 || "kind" in reply)
            onReply(replyOf<M["output"]>(method.output, reply));
          if (last) resolve();
        });
        send(server, caller, deadlineMs, { isOnce: true }, async (call) => {
          const mounted = server.method(method.name);
          if (mounted.kind !== "stream") throw new Error(`${method.name} is no stream`);
          const line = createLine((reply, last, notBeforeMs) =>
            answer(server, caller, () => caller.onReply(reply, last), {
              isOnce: true,
              notBeforeMs,
            }),
          );
          try {
            for await (const message of mounted.run(fromBinary(method.input, bytes), call))
              line.send({ bytes: toBinary(method.output, message) }, false);
            line.send({ bytes: NO_BYTES }, true);
          } catch (error) {
            line.send(errorReply(error), true);
          }
        });
      });
    },
  } satisfies Network);
}

/** Messages of one stream stay in order: a late one holds up the rest, a lost one ends it. */
function createLine(transmit: (reply: Sent, last: boolean, notBeforeMs: number) => number | null): {
  send(reply: Sent, last: boolean): void;
} {
  let freeAtMs: number | null = 0;
  return {
    send(reply, last) {
      if (freeAtMs !== null) freeAtMs = transmit(reply, last, freeAtMs);
    },
  };
}

type Sent = { readonly bytes: Uint8Array } | ErrorReply;

function createCaller(
  process: VirtualProcess,
  deadlineMs: number,
  onReply: (reply: Sent, last: boolean) => void,
): Caller {
  let over = false;
  const callbacks: (() => void)[] = [];
  const end = (): void => {
    over = true;
    timer.cancel();
    forget();
  };
  const timer = process.post(deadlineMs, () => {
    if (over) return;
    end();
    for (const callback of callbacks) callback();
    onReply(broken("DEADLINE_EXCEEDED"), true);
  });
  const forget = process.onCrash(() => {
    for (const callback of callbacks) callback();
  });
  return {
    process,
    onReply(reply, last) {
      if (over) return;
      if (last) end();
      onReply(reply, last);
    },
    onCallerGone(callback) {
      if (over) callback();
      else callbacks.push(callback);
    },
  };
}

function replyOf<D extends DescMethodUnary["output"]>(
  desc: D,
  reply: Sent,
): Reply<MessageShape<D>> {
  if ("kind" in reply) return reply;
  return { kind: "ok", message: fromBinary(desc, reply.bytes), bytes: reply.bytes };
}

function errorReply(error: unknown): ErrorReply {
  if (!(error instanceof DroverError || error instanceof StandardError)) throw error;
  const status = toStatus(error);
  const code = nameIn(Code, status.code);
  const reason = error instanceof DroverError ? error.reason : "";
  return { kind: "error", code, reason, bytes: toBinary(StatusSchema, status) };
}
