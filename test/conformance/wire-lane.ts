/**
 * One method of the contract on the wire: its calls as they were recorded, and as a scenario
 * controls them.
 *
 *   arrived -> sent to a server -> answered by it -> passed on | failed | given up by the agent
 *
 * A call that no scenario waits for is sent to the server of its lane, and its answer passed on.
 */
import { clone, create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema, RetryInfoSchema } from "@drover/proto/google/rpc/error_details_pb.ts";
import { type Status, StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import { toDuration } from "../../sdk/typescript/duration.ts";

/** A call as one of the two protocols brought it. */
export interface RawCall {
  /** The time that the caller gave; null: no end. */
  readonly timeoutMs: number | null;
  /** The header; "": there is none. */
  readonly authorization: string;
  /** Resolves when the caller has given the call up. */
  readonly gone: Promise<void>;
  read<T extends DescMessage>(schema: T): MessageShape<T>;
  /** Resolves with an error's answer too. */
  send(address: string): Promise<RawReply>;
  answer<T extends DescMessage>(schema: T, message: MessageShape<T>): void;
  fail(failure: Failure): void;
}

export interface RawReply {
  /** 0, or the gRPC code of the error. */
  readonly code: number;
  read<T extends DescMessage>(schema: T): MessageShape<T>;
  pass(): void;
}

/**
 * `away`: UNAVAILABLE without details, as a broken connection gives it; it is unknown whether the
 * call took effect. `full`: RESOURCE_EXHAUSTED, as an overloaded server answers; nothing was
 * changed. `unknown-token`: UNAUTHENTICATED, as a server answers to a token that has expired.
 * `denied` and `no-route`: what a client makes of a proxy's 403 and 404, PERMISSION_DENIED and
 * UNIMPLEMENTED.
 */
export type Failure = "away" | "full" | "unknown-token" | "denied" | "no-route";

export const failures: Readonly<Record<Failure, Status>> = Object.freeze({
  away: status(14, "", undefined),
  full: status(8, "OVERLOADED", 50),
  "unknown-token": status(16, "TOKEN_REQUIRED", undefined),
  denied: status(7, "", undefined),
  "no-route": status(12, "", undefined),
});

function status(code: number, reason: string, retryMs: number | undefined): Status {
  const details = [
    ...(reason === ""
      ? []
      : [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason, domain: "drover" }))]),
    ...(retryMs === undefined
      ? []
      : [anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: toDuration(retryMs) }))]),
  ];
  return create(StatusSchema, { code, message: "failed by the suite", details });
}

/** A call as it was recorded. */
export interface Call<I extends DescMessage, O extends DescMessage> {
  /** Its number among all calls, from 1. */
  readonly no: number;
  /** The address at which it arrived: 0 that of the wire, then those beside it. */
  readonly way: number;
  readonly request: MessageShape<I>;
  readonly timeoutMs: number | null;
  readonly authorization: string;
  /** What the server answered; null: nothing yet, or an error. */
  response(): MessageShape<O> | null;
  /** How many calls had arrived when its answer was passed on; null: it was not. */
  passedAt(): number | null;
}

/** A call that a scenario controls. */
export interface Parked<I extends DescMessage, O extends DescMessage> extends Call<I, O> {
  /** Sends it to a server and waits for the answer; the agent gets nothing yet. */
  send(): Promise<MessageShape<O>>;
  /** Passes the server's answer on, changed if you like; sends the call first if need be. */
  pass(change?: (response: MessageShape<O>) => void): Promise<void>;
  /** The agent gets this instead of an answer. */
  fail(failure: Failure): void;
  readonly gone: Promise<void>;
}

export interface Lane<I extends DescMessage, O extends DescMessage> {
  readonly calls: readonly Call<I, O>[];
  /** Sends its calls to this server from now on. */
  route(address: string): void;
  /** Takes the next call that fits. */
  next(fits?: (request: MessageShape<I>) => boolean): Promise<Parked<I, O>>;
  /** Does this with each call that no scenario waits for, until the returned function is called. */
  each(act: (call: Parked<I, O>) => void): () => void;
  arrive(raw: RawCall, way: number): void;
}

interface Waiter<I extends DescMessage, O extends DescMessage> {
  readonly fits: (request: MessageShape<I>) => boolean;
  readonly take: (call: Parked<I, O>) => void;
}

export interface LaneOptions<I extends DescMessage, O extends DescMessage> {
  readonly input: I;
  readonly output: O;
  readonly address: string;
  /** Counts calls over all lanes. */
  readonly count: { arrived: number };
}

export function createLane<I extends DescMessage, O extends DescMessage>(
  options: LaneOptions<I, O>,
): Lane<I, O> {
  const { input, output, count } = options;
  const calls: Call<I, O>[] = [];
  let { address } = options;
  let waiters: readonly Waiter<I, O>[] = [];
  let handler: ((call: Parked<I, O>) => void) | null = null;

  function park(raw: RawCall, way: number): Parked<I, O> {
    let reply: Promise<RawReply> | null = null;
    let response: MessageShape<O> | null = null;
    let passedAt: number | null = null;

    async function sent(): Promise<RawReply> {
      reply ??= raw.send(address);
      const got = await reply;
      if (got.code === 0) response ??= got.read(output);
      return got;
    }

    return Object.freeze({
      no: count.arrived,
      way,
      request: raw.read(input),
      timeoutMs: raw.timeoutMs,
      authorization: raw.authorization,
      gone: raw.gone,
      response: () => response,
      passedAt: () => passedAt,
      async send(): Promise<MessageShape<O>> {
        const { code } = await sent();
        if (response === null) throw new Error(`the server refused the call with code ${code}`);
        return response;
      },
      async pass(change?: (response: MessageShape<O>) => void): Promise<void> {
        const got = await sent();
        if (change !== undefined && response !== null) {
          response = clone(output, response);
          change(response);
          raw.answer(output, response);
        } else got.pass();
        passedAt = count.arrived;
      },
      fail: raw.fail,
    });
  }

  return Object.freeze({
    calls,
    route(to: string): void {
      address = to;
    },
    next: (fits: (request: MessageShape<I>) => boolean = () => true) =>
      new Promise<Parked<I, O>>((take) => {
        waiters = [...waiters, { fits, take }];
      }),
    each(act: (call: Parked<I, O>) => void): () => void {
      handler = act;
      return () => {
        handler = null;
      };
    },
    arrive(raw: RawCall, way: number): void {
      count.arrived += 1;
      const call = park(raw, way);
      calls.push(call);
      const waiter = waiters.find(({ fits }) => fits(call.request));
      if (waiter !== undefined) {
        waiters = waiters.filter((other) => other !== waiter);
        waiter.take(call);
      } else if (handler !== null) handler(call);
      else void call.pass();
    },
  });
}
