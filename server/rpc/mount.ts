// Handlers are written once, as plain functions over messages, and mounted here for every transport:
//
//   request → draining? overloaded? deadline absurd? → rules and limits → handler → answer or error
//
// Promise: what leaves is a message or an error that callers may see; a call is in flight from its
// arrival to the end of its handler, and the drain waits for it.
import {
  create,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { DroverError } from "../errors.ts";
import type { Drain } from "./drain.ts";
import { visibleError } from "./errors.ts";
import type { ItemErrors, RequestCheck } from "./request-check.ts";

/** What a transport knows about a call. */
export interface Call {
  /** Aborted when the caller has gone or its deadline has passed. Made on first use. */
  readonly signal: AbortSignal;
  /** What was left of the caller's deadline when the call arrived; null: it has none. */
  readonly deadlineMs: number | null;
  readonly peer: string;
}

export interface CallContext extends Call {
  /** Items of a batch that were found wrong already, with the answer of each. */
  readonly itemErrors: ItemErrors;
}

export type UnaryHandler<M extends DescMethod> = (
  request: MessageShape<M["input"]>,
  context: CallContext,
) => Promise<MessageInitShape<M["output"]>>;
export type StreamHandler<M extends DescMethod> = (
  request: MessageShape<M["input"]>,
  context: CallContext,
) => AsyncIterable<MessageInitShape<M["output"]>>;
export type BidiHandler<M extends DescMethod> = (
  requests: AsyncIterable<MessageShape<M["input"]>>,
) => AsyncIterable<MessageInitShape<M["output"]>>;

export type Handler<M> = M extends DescMethodUnary
  ? UnaryHandler<M>
  : M extends DescMethodServerStreaming
    ? StreamHandler<M>
    : M extends DescMethodBiDiStreaming
      ? BidiHandler<M>
      : never;
export type Handlers<S extends DescService> = {
  readonly [Name in keyof S["method"]]: Handler<S["method"][Name]>;
};

/** A method as transports see it. Rejects and throws DroverError and StandardError alone. */
export type Mounted =
  | {
      readonly kind: "unary";
      readonly method: DescMethodUnary;
      readonly run: (request: Message, call: Call) => Promise<Message>;
    }
  | {
      readonly kind: "stream";
      readonly method: DescMethodServerStreaming;
      readonly run: (request: Message, call: Call) => AsyncIterable<Message>;
    }
  | {
      readonly kind: "bidi";
      readonly method: DescMethodBiDiStreaming;
      readonly run: (requests: AsyncIterable<Message>) => AsyncIterable<Message>;
    };

export interface MountOptions {
  /** Methods whose batch has answers of its own for each item, and the name of that field. */
  readonly itemFields?: Readonly<Record<string, string>>;
  /** Served while draining, and not waited for: health and reflection. */
  readonly always?: boolean;
}

/** What this side says to a log, as pino takes it. */
export interface Log {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

export interface MountDeps {
  readonly check: RequestCheck;
  readonly drain: Drain;
  readonly log: Log;
  readonly callsMax: number;
  readonly deadlineMsMax: number;
}

export interface Mount {
  service<S extends DescService>(
    service: S,
    handlers: Handlers<S>,
    options?: MountOptions,
  ): readonly Mounted[];
  /** Throws DEADLINE_TOO_LONG. Transports that start a timer of their own ask it first. */
  checkDeadline(deadlineMs: number | null): void;
}

export function createMount(deps: MountDeps): Mount {
  const { check, drain, log } = deps;

  function checkDeadline(deadlineMs: number | null): void {
    if (deadlineMs === null || deadlineMs <= deps.deadlineMsMax) return;
    const limit = Math.floor(deps.deadlineMsMax / 1_000);
    throw new DroverError(
      "DEADLINE_TOO_LONG",
      `The deadline of the call is ${Math.round(deadlineMs / 1_000)} s away and may be at most ${limit} s: set a nearer one, or none for WatchRun.`,
      { metadata: { limit_seconds: String(limit) } },
    );
  }

  /** Lets a call in, or throws. */
  function admit(call: Call, always: boolean): () => void {
    checkDeadline(call.deadlineMs);
    if (always) return () => {};
    if (drain.begun)
      throw new DroverError("DRAINING", "This server is about to stop: repeat it on another.");
    if (drain.inFlight >= deps.callsMax)
      throw new DroverError(
        "OVERLOADED",
        `This server has ${deps.callsMax} calls in hand and takes no more: repeat it after the delay, or on another.`,
      );
    return drain.enter();
  }

  function service<S extends DescService>(
    desc: S,
    handlers: Handlers<S>,
    options: MountOptions = {},
  ): readonly Mounted[] {
    return desc.methods.map((method) => {
      // The loop over methods loses which handler belongs to which; `Handlers<S>` has checked it.
      const handler = Reflect.get(handlers, method.localName) as unknown;
      return mountMethod(method, handler, options);
    });
  }

  function mountMethod(method: DescMethod, handler: unknown, options: MountOptions): Mounted {
    if (isUnary(method)) return mountUnary(method, handler as UnaryHandler<DescMethod>, options);
    if (isStream(method)) return mountStream(method, handler as StreamHandler<DescMethod>, options);
    if (isBidi(method)) return mountBidi(method, handler as BidiHandler<DescMethod>);
    throw new Error(`${method.name}: streams of requests alone are not mounted`);
  }

  function checked(method: DescMethod, options: MountOptions) {
    const itemField = options.itemFields?.[method.name] ?? null;
    check.warm(method.input, create(method.input));
    return (request: Message, call: Call): CallContext =>
      contextWith(call, check.check(method.input, request, itemField));
  }

  function mountUnary(
    method: DescMethodUnary,
    handle: UnaryHandler<DescMethod>,
    options: MountOptions,
  ): Mounted {
    const contextOf = checked(method, options);
    async function run(request: Message, call: Call): Promise<Message> {
      let leave = () => {};
      try {
        leave = admit(call, options.always === true);
        return create(method.output, await handle(request, contextOf(request, call)));
      } catch (error) {
        throw visible(method, error);
      } finally {
        leave();
      }
    }
    return { kind: "unary", method, run };
  }

  function mountStream(
    method: DescMethodServerStreaming,
    handle: StreamHandler<DescMethod>,
    options: MountOptions,
  ): Mounted {
    const contextOf = checked(method, options);
    async function* run(request: Message, call: Call): AsyncGenerator<Message> {
      let leave = () => {};
      try {
        leave = admit(call, options.always === true);
        const answers = handle(request, contextOf(request, call));
        for await (const answer of answers) yield create(method.output, answer);
      } catch (error) {
        throw visible(method, error);
      } finally {
        leave();
      }
    }
    return { kind: "stream", method, run };
  }

  function mountBidi(method: DescMethodBiDiStreaming, handle: BidiHandler<DescMethod>): Mounted {
    async function* run(requests: AsyncIterable<Message>): AsyncGenerator<Message> {
      try {
        for await (const answer of handle(requests)) yield create(method.output, answer);
      } catch (error) {
        throw visible(method, error);
      }
    }
    return { kind: "bidi", method, run };
  }

  function visible(method: DescMethod, error: unknown) {
    return visibleError(error, (defect) =>
      log.error(
        { err: defect, method: `${method.parent.typeName}/${method.name}` },
        "a call met a defect and was answered INTERNAL",
      ),
    );
  }

  return Object.freeze({ service, checkDeadline });
}

/** Keeps the signal lazy: most calls never ask for it. */
function contextWith(call: Call, itemErrors: ItemErrors): CallContext {
  return {
    get signal() {
      return call.signal;
    },
    deadlineMs: call.deadlineMs,
    peer: call.peer,
    itemErrors,
  };
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isStream(method: DescMethod): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}

function isBidi(method: DescMethod): method is DescMethodBiDiStreaming {
  return method.methodKind === "bidi_streaming";
}
