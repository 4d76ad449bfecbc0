/**
 * What a handler returns when the task is not simply done with an output.
 *
 *   perform   deferred()           accepted by the remote service; the outcome follows by callback
 *   verify    happened(output)     the attempt took effect, and this is the output of the step
 *             didNotHappen()       it did not take effect, so the step may be retried
 *             cannotTell(message)  verify again; after the last try a person is asked
 *   any       again({ after })     not finished at the remote service: hand the task out again then
 *
 * A handler throws errors instead, see task-errors.ts.
 */
import { create } from "@bufbuild/protobuf";
import { FailureClass, type Outcome, OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { type Duration, durationMs, toDuration } from "./duration.ts";
import { toPayload } from "./payload.ts";
import { tidyMessage } from "./tidy-text.ts";

declare const output: unique symbol;

/**
 * Made by the functions in this file; a handler returns it unchanged. `Out` is the type of the
 * output that it has, `never` without one.
 */
export type Answer<Out = unknown> = Outcome & { readonly [output]?: Out };

/** The server accepts no shorter wait. */
const againMsMin = 1;

/**
 * No agent holds the task meanwhile, and no attempt is counted; the step's `total` limits the time.
 */
export function again({ after }: { readonly after: Duration }): Answer<never> {
  const value = { after: toDuration(Math.max(durationMs(after), againMsMin)) };
  return create(OutcomeSchema, { kind: { case: "again", value } });
}

/**
 * The outcome comes by `client.completeDeferred(task.callbackToken, ...)`, within the step's
 * `timeouts.callback`; after that it is unknown. That call may come before this answer.
 */
export function deferred(): Answer<never> {
  return create(OutcomeSchema, { kind: { case: "deferred", value: {} } });
}

/** `output` is what the lost attempt would have returned: JSON, a Payload, or nothing. */
export function happened(): Answer<undefined>;
export function happened<Out>(output: Out): Answer<Out>;
export function happened(output?: unknown): Answer {
  const payload = toPayload(output);
  const value = payload === undefined ? {} : { output: payload };
  return create(OutcomeSchema, { kind: { case: "success", value } });
}

/** Nothing exists at the remote service, neither from this attempt nor from an earlier one. */
export function didNotHappen(): Answer<never> {
  const value = {
    code: "did-not-happen",
    message: "It did not happen.",
    failureClass: FailureClass.TRANSIENT,
    noEffect: true,
  };
  return create(OutcomeSchema, { kind: { case: "failed", value } });
}

/** `message` is one sentence for the person who may be asked. */
export function cannotTell(message: string): Answer<never> {
  const value = { code: "cannot-tell", message: tidyMessage(message) };
  return create(OutcomeSchema, { kind: { case: "unknown", value } });
}
