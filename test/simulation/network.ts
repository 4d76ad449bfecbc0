// The wires between callers and servers. Requests and answers travel as bytes, so that nothing is
// shared; each may be lost, repeated, delayed and overtaken. A call ends with its answer, with its
// deadline, or with the crash of its server, whichever its caller hears of first.
import {
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type Message,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import { DroverError } from "../../server/errors.ts";
import { StandardError, statusBytes, toStatus } from "../../server/rpc/errors.ts";
import type { Call } from "../../server/rpc/mount.ts";
import type { Faults } from "./faults.ts";
import type { ServerProcess } from "./server-process.ts";
import type { SimProcess } from "./sim-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

export type Reply<M extends Message> =
  | { readonly kind: "ok"; readonly message: M; readonly bytes: Uint8Array }
  | {
      readonly kind: "error";
      readonly code: keyof typeof Code;
      readonly reason: string;
      readonly bytes: Uint8Array;
    };

export interface Network {
  unary<M extends DescMethodUnary>(
    caller: SimProcess,
    server: ServerProcess,
    method: M,
    request: MessageShape<M["input"]>,
    deadlineMs: number,
  ): Promise<Reply<MessageShape<M["output"]>>>;
  /** Calls back for each message and resolves at the end of the stream. */
  stream<M extends DescMethodServerStreaming>(
    caller: SimProcess,
    server: ServerProcess,
    method: M,
    request: MessageShape<M["input"]>,
    deadlineMs: number,
    heard: (reply: Reply<MessageShape<M["output"]>>) => void,
  ): Promise<void>;
}

type ErrorReply = Extract<Reply<Message>, { kind: "error" }>;

const NO_BYTES = new Uint8Array();

const broken = (code: keyof typeof Code): ErrorReply => ({
  kind: "error",
  code,
  reason: "",
  bytes: NO_BYTES,
});

/** What a call is to its caller: what arrives first counts, and what comes later finds nobody. */
interface Caller {
  readonly process: SimProcess;
  hear(reply: { readonly bytes: Uint8Array } | ErrorReply, last: boolean): void;
  /** When the caller has given up, or has gone. */
  onGone(tell: () => void): void;
}

export function createNetwork(time: VirtualTime, faults: Faults): Network {
  function carry(to: string, isServer: boolean, cutOff: () => boolean, arrive: () => void): boolean {
    const fate = faults.message(to, isServer);
    if (fate.kind === "lost" || cutOff()) return false;
    const deliver = (inMs: number) =>
      time.after(inMs, () => {
        if (!cutOff()) arrive();
      });
    deliver(fate.inMs);
    if (fate.againInMs !== null) deliver(fate.againInMs);
    return true;
  }

  function answer(server: ServerProcess, caller: Caller, reply: () => void): boolean {
    return carry(caller.process.name, false, () => server.cutOff, () =>
      void caller.process.post(0, reply),
    );
  }

  /** Hands a request to whatever process the server is at its arrival. */
  function send(
    server: ServerProcess,
    caller: Caller,
    deadlineMs: number,
    handle: (call: Call, process: SimProcess) => Promise<void>,
  ): void {
    carry(server.name, true, () => server.cutOff, () => {
      const process = server.process();
      if (!process) {
        answer(server, caller, () => caller.hear(broken("UNAVAILABLE"), true));
        return;
      }
      process.post(0, () => {
        const gone = new AbortController();
        const call = { signal: gone.signal, deadlineMs, peer: caller.process.name };
        const forget = process.onCrash(() => {
          // Sometimes the connection is reset, and sometimes nobody says anything.
          if (process.chance.happens(0.6))
            answer(server, caller, () => caller.hear(broken("UNAVAILABLE"), true));
        });
        caller.onGone(() => void process.post(process.chance.between(0, 3), () => gone.abort()));
        void handle(call, process).finally(forget);
      });
    });
  }

  return Object.freeze({
    unary(process, server, method, request, deadlineMs) {
      const bytes = toBinary(method.input, request);
      return new Promise((resolve) => {
        const caller = createCaller(process, deadlineMs, (reply) =>
          resolve(replyOf(method.output, reply)),
        );
        send(server, caller, deadlineMs, async (call) => {
          const mounted = server.method(method.name);
          if (mounted.kind !== "unary") throw new Error(`${method.name} is no unary method`);
          const reply = await mounted.run(fromBinary(method.input, bytes), call).then(
            (message) => ({ bytes: toBinary(method.output, message) }),
            errorReply,
          );
          answer(server, caller, () => caller.hear(reply, true));
        });
      });
    },
    stream(process, server, method, request, deadlineMs, heard) {
      const bytes = toBinary(method.input, request);
      return new Promise((resolve) => {
        const caller = createCaller(process, deadlineMs, (reply, last) => {
          if (reply.bytes.length > 0 || "kind" in reply) heard(replyOf(method.output, reply));
          if (last) resolve();
        });
        send(server, caller, deadlineMs, async (call, serving) => {
          const mounted = server.method(method.name);
          if (mounted.kind !== "stream") throw new Error(`${method.name} is no stream`);
          const line = createLine(serving, (reply, last) =>
            answer(server, caller, () => caller.hear(reply, last)),
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

/** Messages of one stream keep their order: one that is lost or late holds up or ends the rest. */
function createLine(
  serving: SimProcess,
  transmit: (reply: Sent, last: boolean) => boolean,
): { send(reply: Sent, last: boolean): void } {
  const APART_MS = 70;
  let isBroken = false;
  let freeAtMs = 0;
  return {
    send(reply, last) {
      if (isBroken) return;
      const now = serving.clock.monotonicMs();
      const inMs = Math.max(0, freeAtMs - now);
      freeAtMs = now + inMs + APART_MS;
      serving.post(inMs, () => {
        if (!isBroken && !transmit(reply, last)) isBroken = true;
      });
    },
  };
}

type Sent = { readonly bytes: Uint8Array } | ErrorReply;

function createCaller(
  process: SimProcess,
  deadlineMs: number,
  hear: (reply: Sent, last: boolean) => void,
): Caller {
  let over = false;
  const tellers: (() => void)[] = [];
  const end = (): void => {
    over = true;
    timer.cancel();
    forget();
    for (const tell of tellers) tell();
  };
  const timer = process.post(deadlineMs, () => {
    if (over) return;
    end();
    hear(broken("DEADLINE_EXCEEDED"), true);
  });
  const forget = process.onCrash(() => {
    for (const tell of tellers) tell();
  });
  return {
    process,
    hear(reply, last) {
      if (over) return;
      if (last) end();
      hear(reply, last);
    },
    onGone(tell) {
      if (over) tell();
      else tellers.push(tell);
    },
  };
}

function replyOf<D extends DescMethodUnary["output"]>(desc: D, reply: Sent): Reply<MessageShape<D>> {
  if ("kind" in reply) return reply;
  return { kind: "ok", message: fromBinary(desc, reply.bytes), bytes: reply.bytes };
}

function errorReply(error: unknown): ErrorReply {
  if (!(error instanceof DroverError || error instanceof StandardError)) throw error;
  const code = Code[toStatus(error).code];
  const reason = error instanceof DroverError ? error.reason : "";
  return {
    kind: "error",
    code: code as keyof typeof Code,
    reason,
    bytes: statusBytes(error),
  };
}
