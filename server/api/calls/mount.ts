// Mounts handlers for every transport. A handler is written once, as a plain function over
// messages:
//
//   request → draining? overloaded? deadline too long? → authentication → rules and limits
//     → handler → answer or error
//
// Promise: only messages and errors that callers may see leave the server. A call is in flight from
// its arrival to the end of its handler, and the drain waits for it.
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
import { Code } from "@connectrpc/connect";
import type { Clock } from "../../clock.ts";
import { DroverError } from "../../errors.ts";
import type { Authenticator, Identity } from "../auth/authenticate.ts";
import type { Caller } from "../auth/caller.ts";
import { fillProven } from "../auth/proven-name.ts";
import type { ClientCertificate } from "../transport/client-certificate.ts";
import type { Drain } from "./drain.ts";
import { type StandardError, visibleError } from "./errors.ts";
import type { FailOvers } from "./fail-overs.ts";
import { DEFAULT_NAMESPACE } from "./namespace-names.ts";
import type { ItemErrors, RequestCheck } from "./request-check.ts";
import { createWaitingCalls, type WaitingCall, type WaitingLimits } from "./waiting-calls.ts";
import { createWorkingCalls } from "./working-calls.ts";

/** What a transport knows about a call. */
export interface Call {
  /** Aborted when the caller has disconnected or its deadline has passed. Created on first use. */
  readonly signal: AbortSignal;
  /** The time left of the caller's deadline when the call arrived; null: it has none. */
  readonly deadlineMs: number | null;
  readonly peer: string;
  /** A header that the caller sent with the request; null: there is none of this name. */
  readonly header: (name: string) => string | null;
  /** The client certificate of the connection, which was verified; null: it has none. */
  readonly certificate: () => ClientCertificate | null;
}

export interface CallContext extends Call {
  /** null: the server requires no tokens. */
  readonly caller: Caller | null;
  /** Items of a batch that are already known to be invalid, with the answer of each. */
  readonly itemErrors: ItemErrors;
  /** There is no room for the call to wait: it is answered with nothing after a pause. */
  readonly pauses: boolean;
}

type UnaryHandler<M extends DescMethod> = (
  request: MessageShape<M["input"]>,
  context: CallContext,
) => Promise<MessageInitShape<M["output"]>>;
type StreamHandler<M extends DescMethod> = (
  request: MessageShape<M["input"]>,
  context: CallContext,
) => AsyncIterable<MessageInitShape<M["output"]>>;
type BidiHandler<M extends DescMethod> = (
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

/** A method as transports see it. It rejects and throws only DroverError and StandardError. */
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
  /** By method, the field with the items of its batch; each of these items has its own answer. */
  readonly itemFields?: Readonly<Record<string, string>>;
  /** Unary methods that wait for something to happen; streams always do. */
  readonly waits?: readonly string[];
  /** Methods that wait, and that are answered with nothing after a pause if there is no room. */
  readonly pauses?: readonly string[];
  /** Methods that the call rate of a namespace does not limit; left out: it limits none. */
  readonly unlimited?: readonly string[];
  /** Served while draining, and not waited for: health and reflection. */
  readonly always?: boolean;
}

/** The part of pino's logger that this folder uses. */
export interface Log {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

interface MountDeps extends WaitingLimits {
  readonly check: RequestCheck;
  readonly drain: Drain;
  readonly log: Log;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Left out: the server requires no tokens. */
  readonly identity?: Pick<Identity, "authenticatorOf"> | undefined;
  readonly callsMax: number;
  /** The part of a namespace in `callsMax`; left out: all have the same. */
  readonly weightOf?: ((namespace: string) => number) | undefined;
  /** Counts a call against the rate of its namespace, or says why not; left out: no rates. */
  readonly admitCall?: ((namespace: string) => DroverError | null) | undefined;
  readonly deadlineMsMax: number;
  /** Left out: calls are not traced. */
  readonly traced?: TracedCalls | undefined;
  /** Left out: there is no database. */
  readonly failOvers?: FailOvers | undefined;
}

/**
 * Called when a call arrives. The function that it returns is called at the call's end, with a
 * stable error or null; null: the call is not traced.
 */
export type TracedCalls = (
  call: Pick<Call, "header"> & { readonly service: string; readonly method: string },
) => CallEnd | null;
type CallEnd = (error: string | null) => void;

export interface Mount {
  service<S extends DescService>(
    service: S,
    handlers: Handlers<S>,
    options?: MountOptions,
  ): readonly Mounted[];
  /** Mounts only the methods that have a handler. */
  some<S extends DescService>(
    service: S,
    handlers: Partial<Handlers<S>>,
    options?: MountOptions,
  ): readonly Mounted[];
  /** Throws DEADLINE_TOO_LONG. A transport that starts its own timers calls it first. */
  checkDeadline(deadlineMs: number | null): void;
}

/** What is known of a call before its handler begins. */
type Authenticated = Pick<CallContext, "caller" | "pauses">;

/** The checks that every mounted call passes. */
interface CallChecks {
  /** Admits a call, or throws. */
  admit(call: Call, request: Message): WaitingCall;
  /** Throws if the caller may not make the call; null: the server requires no tokens. */
  readonly authenticate: Authenticator | null;
  /** Throws if the request is invalid. */
  contextOf(request: Message, call: Call, more: Authenticated): CallContext;
  /**
   * Called when a call starts. Returns a function that maps an error of that call to the error for
   * its caller.
   */
  begin(): (error: unknown) => DroverError | StandardError;
  /** To be called at the end of the call; null: the call is not traced. */
  traced(call: Call): CallEnd | null;
}

export function createMount(deps: MountDeps): Mount {
  const { check, log } = deps;
  const admit = createAdmit(deps);
  const checkDeadline = (deadlineMs: number | null) => refuseAbsurd(deadlineMs, deps.deadlineMsMax);

  function gateOf(method: DescMethod, options: MountOptions): CallChecks {
    const name = `${method.parent.typeName}/${method.name}`;
    const kind = admittedAs(method, options);
    const itemField = options.itemFields?.[method.name] ?? null;
    const isLimited = options.unlimited !== undefined && !options.unlimited.includes(method.name);
    const report = (defect: unknown) =>
      log.error({ err: defect, method: name }, "a call met a defect and was answered INTERNAL");
    return {
      admit: (call, request) => {
        checkDeadline(call.deadlineMs);
        return options.always === true ? UNCOUNTED : admit(call, request, kind);
      },
      authenticate:
        options.always === true ? null : (deps.identity?.authenticatorOf(method) ?? null),
      contextOf(request, call, more) {
        if (isLimited) expectWithinRate(deps, request);
        fillProven(method, request, more.caller);
        return contextWith(call, more, check.check(method.input, request, itemField));
      },
      begin() {
        const seen = deps.failOvers?.begin() ?? ((error: unknown) => error);
        return (error) => visibleError(seen(error), report);
      },
      traced: ({ header }) =>
        deps.traced?.({ service: method.parent.typeName, method: method.name, header }) ?? null,
    };
  }

  function some<S extends DescService>(
    desc: S,
    handlers: Partial<Handlers<S>>,
    options: MountOptions = {},
  ): readonly Mounted[] {
    return desc.methods.flatMap((method) => {
      // The loop over methods loses the types of the handlers; `Handlers<S>` has checked them.
      const handler: unknown = Reflect.get(handlers, method.localName);
      if (handler === undefined) return [];
      check.warm(method.input, create(method.input));
      return mountMethod(method, handler, gateOf(method, options));
    });
  }

  return Object.freeze({ service: some, some, checkDeadline });
}

/** Counts a call in, or throws. */
type Admit = (call: Call, request: Message, kind: AdmittedAs) => WaitingCall;

function createAdmit(deps: MountDeps): Admit {
  const { drain } = deps;
  const waiting = createWaitingCalls(deps, createFullLog(deps));
  const working = createWorkingCalls(deps.callsMax, deps.weightOf ?? (() => 1));
  return (call, request, kind) => {
    if (drain.isDraining)
      throw new DroverError("DRAINING", "This server is about to stop: repeat it on another.");
    if (kind !== "works") {
      const entered = waiting.enter(call.peer, namespaceOf(request), kind === "may-pause");
      const leaveDrain = drain.enter("waiting");
      const leave = (): void => {
        entered.leave();
        leaveDrain();
      };
      return { ...entered, leave };
    }
    const leaveWorking = working.enter(namespaceOf(request));
    const leaveDrain = drain.enter();
    return {
      pauses: false,
      leave() {
        leaveWorking();
        leaveDrain();
      },
    };
  };
}

function expectWithinRate({ admitCall }: MountDeps, request: Message): void {
  const refused = admitCall?.(namespaceOf(request)) ?? null;
  if (refused) throw refused;
}

/** How a call is counted. */
type AdmittedAs = "works" | "waits" | "may-pause";

function admittedAs(method: DescMethod, { waits = [], pauses = [] }: MountOptions): AdmittedAs {
  if (pauses.includes(method.name)) return "may-pause";
  return isStream(method) || waits.includes(method.name) ? "waits" : "works";
}

/** A call that is not counted. */
const UNCOUNTED: WaitingCall = Object.freeze({ pauses: false, leave: () => undefined });

const FULL_LOGGED_EVERY_MS = 60_000;

/** Logs at most one line in FULL_LOGGED_EVERY_MS, however many calls are refused. */
function createFullLog({ log, clock }: Pick<MountDeps, "log" | "clock">): (why: string) => void {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  return (why) => {
    if (clock.monotonicMs() - loggedAtMs < FULL_LOGGED_EVERY_MS) return;
    loggedAtMs = clock.monotonicMs();
    const help = "polls are answered with nothing, and other waits refused: see --waiting-calls";
    log.warn({ event: "waiting.full" }, `${why}: ${help}`);
  };
}

function namespaceOf(request: Message): string {
  const named: unknown = Reflect.get(request, "namespace");
  return typeof named === "string" && named !== "" ? named : DEFAULT_NAMESPACE;
}

function refuseAbsurd(deadlineMs: number | null, limitMs: number): void {
  if (deadlineMs === null || deadlineMs <= limitMs) return;
  const away = Math.round(deadlineMs / 1_000);
  const limit = Math.floor(limitMs / 1_000);
  throw new DroverError(
    "DEADLINE_TOO_LONG",
    `The deadline is ${away} s away and may be at most ${limit} s: set a nearer one, or none.`,
    { metadata: { limit_seconds: String(limit) } },
  );
}

function mountMethod(method: DescMethod, handler: unknown, gate: CallChecks): Mounted {
  if (isUnary(method)) return mountUnary(method, handler as UnaryHandler<DescMethod>, gate);
  if (isStream(method)) return mountStream(method, handler as StreamHandler<DescMethod>, gate);
  if (isBidi(method)) return mountBidi(method, handler as BidiHandler<DescMethod>, gate);
  throw new Error(`${method.name}: streams of requests alone are not mounted`);
}

function mountUnary(
  method: DescMethodUnary,
  handle: UnaryHandler<DescMethod>,
  gate: CallChecks,
): Mounted {
  async function run(request: Message, call: Call): Promise<Message> {
    const ended = gate.traced(call);
    const visible = gate.begin();
    let entered = UNCOUNTED;
    let failed: string | null = null;
    try {
      entered = gate.admit(call, request);
      const found = gate.authenticate?.(call, request) ?? null;
      const caller = found instanceof Promise ? await found : found;
      const context = gate.contextOf(request, call, { caller, pauses: entered.pauses });
      return create(method.output, await handle(request, context));
    } catch (error) {
      const seen = visible(error);
      failed = reasonOf(seen);
      throw seen;
    } finally {
      entered.leave();
      ended?.(failed);
    }
  }
  return { kind: "unary", method, run };
}

function mountStream(
  method: DescMethodServerStreaming,
  handle: StreamHandler<DescMethod>,
  gate: CallChecks,
): Mounted {
  async function* run(request: Message, call: Call): AsyncGenerator<Message> {
    const ended = gate.traced(call);
    const visible = gate.begin();
    let entered = UNCOUNTED;
    let failed: string | null = null;
    let sending = false;
    try {
      entered = gate.admit(call, request);
      const caller = (await gate.authenticate?.(call, request)) ?? null;
      const answers = handle(request, gate.contextOf(request, call, { caller, pauses: false }));
      for await (const answer of answers) {
        // A stream may outlive the token that began it.
        await gate.authenticate?.(call, request);
        const message = create(method.output, answer);
        sending = true;
        yield message;
        sending = false;
      }
    } catch (error) {
      // The transport throws here when its caller disconnected while it was sending: no defect.
      if (sending) throw error;
      const seen = visible(error);
      failed = reasonOf(seen);
      throw seen;
    } finally {
      entered.leave();
      ended?.(failed);
    }
  }
  return { kind: "stream", method, run };
}

function mountBidi(
  method: DescMethodBiDiStreaming,
  handle: BidiHandler<DescMethod>,
  gate: CallChecks,
): Mounted {
  async function* run(requests: AsyncIterable<Message>): AsyncGenerator<Message> {
    const visible = gate.begin();
    try {
      for await (const answer of handle(requests)) yield create(method.output, answer);
    } catch (error) {
      throw visible(error);
    }
  }
  return { kind: "bidi", method, run };
}

function reasonOf(error: DroverError | StandardError): string {
  return error instanceof DroverError ? error.reason : (Code[error.code] ?? "");
}

/** Keeps the signal lazy: most calls never use it. */
function contextWith(
  call: Call,
  { caller, pauses }: Authenticated,
  itemErrors: ItemErrors,
): CallContext {
  return {
    get signal() {
      return call.signal;
    },
    deadlineMs: call.deadlineMs,
    peer: call.peer,
    header: call.header,
    certificate: call.certificate,
    caller,
    itemErrors,
    pauses,
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
