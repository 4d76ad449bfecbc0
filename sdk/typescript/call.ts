/** Code that all parts of a client share: one call, repeated as the contract allows. */
import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Run } from "@drover/proto/drover/v1/run_pb.ts";
import { repeat } from "./backoff.ts";
import { DroverCallError } from "./call-error.ts";
import type { Channel } from "./channel.ts";
import { systemClock } from "./clock.ts";
import type { Outage } from "./outage.ts";

export interface CallControl {
  /** Ends the call; the request may have taken effect all the same. */
  readonly signal?: AbortSignal;
}

export interface TryOptions {
  /** Time for one try. Default 10 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export type Call = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  options?: TryOptions,
) => Promise<MessageShape<O>>;

export const tryMs = 10_000;

/**
 * For methods that may be repeated with the same request, which are all methods of the contract.
 */
export function createCall(channel: Channel, patienceMs: number, outage?: Outage): Call {
  return (method, request, { timeoutMs = tryMs, signal } = {}) =>
    repeat(() => channel.unary(method, request, { timeoutMs, signal }), {
      clock: systemClock,
      patienceMs,
      signal,
      outage,
    });
}

/** The server always sends a run where an answer has one. */
export function present(run: Run | undefined): Run {
  if (run !== undefined) return run;
  throw new DroverCallError("INTERNAL", "The server answered without a run.");
}
