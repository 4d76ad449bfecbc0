/**
 * Starts of runs: a single run is sent with Schedule, concurrent ones together with ScheduleBatch;
 * callers do not see the difference.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import {
  type ScheduleBatchResponse,
  type ScheduleRequest,
  ScheduleRequestSchema,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { callErrorOfStatus, callOutcomeOf, DroverCallError } from "./call-error.ts";
import type { Clock } from "./clock.ts";
import type { Codec } from "./codec.ts";
import { createGathering, type Gathering, type Sent } from "./gathering.ts";
import { checkInput, type ScheduleSpec, toSchedule } from "./schedule-spec.ts";
import { type Within, withinActive, withinNone } from "./tracing.ts";

export interface Scheduled {
  readonly runId: string;
  readonly key: string;
  /** False: an earlier call with this key created it. */
  readonly created: boolean;
}

/**
 * The result of one run of a batch; with `error` it was refused, and the others were not. A run
 * with the code UNAVAILABLE may have started: start it again under its key.
 */
export type BatchResult = Scheduled | { readonly key: string; readonly error: DroverCallError };

export interface Starts {
  /**
   * Starts a run. Concurrent calls share a request, up to 100 runs each, so make many at a time; a
   * single call is sent at once. An input that its `defineWorkflow` does not allow is not sent.
   */
  schedule<In = unknown>(spec: ScheduleSpec<In>, options?: CallControl): Promise<Scheduled>;
  /**
   * Starts up to 500 runs in one call, with one result for each, in the same order. If its
   * `defineWorkflow` does not allow the input of one, none is sent.
   */
  scheduleBatch<In = unknown>(
    specs: readonly ScheduleSpec<In>[],
    options?: CallControl,
  ): Promise<readonly BatchResult[]>;
}

/** A run that waits to be sent. */
interface Start {
  readonly request: ScheduleRequest;
  readonly signal: AbortSignal | undefined;
  readonly within: Within;
  readonly made: (scheduled: Scheduled) => void;
  readonly failed: (reason: unknown) => void;
}

const rpc = SchedulerService.method;
/** Maximum number of runs in one call. */
const runsMax = 100;
/**
 * After this time a start that is sent alone counts as a call under way no more. It may be repeated
 * for long, as its shard does not answer, and would keep back the starts of others.
 */
const yieldsAfterMs = 1_000;
const sent: Sent<Start> = Object.freeze({ kind: "answered", again: [] });

interface State {
  readonly call: Call;
  readonly namespace: string;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly queue: Gathering<Start>;
}

export function createStarts(call: Call, namespace: string, codec: Codec, clock: Clock): Starts {
  const send = (batch: readonly Start[]) => sendBatch(state, batch);
  const queue = createGathering<Start>({ clock, itemsMax: runsMax, sizeMax, send });
  const state: State = { call, namespace, codec, clock, queue };
  return Object.freeze({
    async schedule(spec: ScheduleSpec, control: CallControl = {}): Promise<Scheduled> {
      await checkInput(spec);
      return schedule(state, spec, control);
    },

    async scheduleBatch(
      specs: readonly ScheduleSpec[],
      { signal }: CallControl = {},
    ): Promise<readonly BatchResult[]> {
      await Promise.all(specs.map(checkInput));
      const runs = specs.map((spec) => toSchedule(spec, codec));
      const answer = await call(rpc.scheduleBatch, { namespace, runs }, { signal });
      return runs.map(({ key }, place) => resultAt(place, key, answer));
    },
  });
}

function schedule(
  { namespace, codec, queue }: State,
  spec: ScheduleSpec,
  { signal }: CallControl,
): Promise<Scheduled> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const request = create(ScheduleRequestSchema, { namespace, ...toSchedule(spec, codec) });
    const abort = () => reject(signal?.reason);
    const done = () => signal?.removeEventListener("abort", abort);
    signal?.addEventListener("abort", abort, { once: true });
    queue.add({
      request,
      signal,
      within: withinActive(),
      made(scheduled: Scheduled): void {
        done();
        resolve(scheduled);
      },
      failed(reason: unknown): void {
        done();
        reject(reason);
      },
    });
  });
}

async function sendBatch(state: State, batch: readonly Start[]): Promise<Sent<Start>> {
  const wanted = batch.filter(({ signal }) => !signal?.aborted);
  const [first, ...others] = wanted;
  if (first !== undefined)
    await (others.length === 0 ? sendAndYield(state, first) : sendTogether(state, wanted));
  return sent;
}

function sendAndYield(state: State, start: Start): Promise<void> {
  return new Promise((resolve) => {
    const timer = state.clock.after(yieldsAfterMs, resolve);
    void sendAlone(state, start).then(() => {
      timer.cancel();
      resolve();
    });
  });
}

async function sendAlone({ call }: State, start: Start): Promise<void> {
  const { request, signal, within, made, failed } = start;
  try {
    const { runId, created } = await within(() => call(rpc.schedule, request, { signal }));
    made({ runId, key: request.key, created });
  } catch (error) {
    failed(error);
  }
}

/** A caller's signal does not end the call for the other callers; the client's patience does. */
async function sendTogether(state: State, batch: readonly Start[]): Promise<void> {
  const { call, namespace } = state;
  const runs = batch.map(({ request }) => request);
  try {
    const answer = await withinNone(() => call(rpc.scheduleBatch, { namespace, runs }));
    for (const [place, start] of batch.entries()) {
      const result = resultAt(place, start.request.key, answer);
      if (!("error" in result)) start.made(result);
      else if (callOutcomeOf(result.error) === "definite")
        start.failed(withOwnPaths(result.error, place));
      // An error that may pass is repeated as for any call.
      else void sendAlone(state, start);
    }
  } catch (error) {
    const spoiled = error instanceof DroverCallError && callOutcomeOf(error) === "definite";
    // One of the runs caused the error; each is sent alone to find out which.
    if (spoiled) await Promise.all(batch.map((start) => sendAlone(state, start)));
    else for (const { failed } of batch) failed(error);
  }
}

function resultAt(place: number, key: string, { results }: ScheduleBatchResponse): BatchResult {
  const { status, runId = "", created = false } = results[place] ?? {};
  if (status?.code === 0) return { runId, key, created };
  return { key, error: callErrorOfStatus(status ?? create(StatusSchema, { code: 2 })) };
}

/** The caller of one run does not know about the others: `runs[3].input` becomes `input`. */
function withOwnPaths(error: DroverCallError, place: number): DroverCallError {
  const { code, reason, metadata, retryAfterMs } = error;
  const own = (text: string) => text.replaceAll(`runs[${place}].`, "");
  const fields = error.fields.map(({ path, message }) => ({ path: own(path), message }));
  const message = own(error.message).replace(`runs[${place}]: `, "");
  return new DroverCallError(code, message, {
    reason,
    fields,
    metadata,
    cause: error,
    ...(retryAfterMs !== null && { retryAfterMs }),
  });
}

function sizeMax({ request }: Start): number {
  return toBinary(ScheduleRequestSchema, request).length;
}
