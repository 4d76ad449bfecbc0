/**
 * One action on all runs that match a filter. The client names the request, so that repeating a
 * call of it is safe.
 */
import {
  BulkKind,
  SchedulerService,
  Undo,
  type BulkResult as WireBulkResult,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { callErrorOfStatus, type DroverCallError } from "./call-error.ts";
import { type Codec, encoded } from "./codec.ts";
import { versions } from "./reruns.ts";
import { type RunFilterSpec, toFilter } from "./run-filter.ts";

/** `erase` deletes runs that have ended, with all that is stored of them; for admins only. */
export type BulkAction = "cancel" | "pause" | "resume" | "retry" | "signal" | "rerun" | "erase";

export interface BulkSpec extends CallControl {
  /** Default: every run to which the action applies. */
  readonly filter?: RunFilterSpec;
  /** For a cancel: what happens to work that was done. Default: it is undone. */
  readonly undo?: "compensate" | "leave";
  /** For a retry and a re-run. Default: the version that the run started with. */
  readonly version?: "same" | "newest";
  /** Name of the signal; required for a signal. */
  readonly signalName?: string;
  /** For a signal: JSON, or a Payload. Default: none. */
  readonly payload?: unknown;
  /** For a re-run: the step, as in `rerunFrom`. Default: from the start. */
  readonly stepId?: string;
  /**
   * For a re-run: the input of all new runs: JSON, or a Payload. Default: each has that of its run.
   */
  readonly input?: unknown;
  /** Required for an erasure. */
  readonly reason?: string;
  /** The result of `countForBulk`: if the number of runs differs now, nothing is done. */
  readonly expectedCount?: number;
  /** The caller's own name for the action. Default: random. */
  readonly requestId?: string;
}

/** The result of one run; with `error` the run was left unchanged. */
export interface BulkResult {
  readonly runId: string;
  readonly error: DroverCallError | null;
  /** For a retry and a re-run. */
  readonly newRunId: string | null;
}

export interface BulkActions {
  /** Number of runs to which a bulk action would apply, at most 10,001. */
  countForBulk(action: BulkAction, options?: BulkSpec): Promise<number>;
  /** Applies the action to all runs that match the filter, oldest first, with a result for each. */
  bulk(action: BulkAction, options?: BulkSpec): AsyncGenerator<BulkResult, void, undefined>;
}

const rpc = SchedulerService.method;
const bulkKinds = {
  cancel: BulkKind.CANCEL,
  pause: BulkKind.PAUSE,
  resume: BulkKind.RESUME,
  retry: BulkKind.RETRY,
  signal: BulkKind.SIGNAL,
  rerun: BulkKind.RERUN,
  erase: BulkKind.ERASE,
};
export const undos = { compensate: Undo.COMPENSATE, leave: Undo.LEAVE };

export function createBulkActions(call: Call, namespace: string, codec: Codec): BulkActions {
  return Object.freeze({
    async countForBulk(action: BulkAction, spec: BulkSpec = {}): Promise<number> {
      const request = { namespace, ...toBulk(action, spec, codec), dryRun: true };
      return (await call(rpc.bulkAction, request, { signal: spec.signal })).count;
    },

    async *bulk(action: BulkAction, spec: BulkSpec = {}) {
      const { requestId = crypto.randomUUID(), expectedCount, signal } = spec;
      const expected = expectedCount === undefined ? {} : { expectedCount };
      const request = { namespace, ...toBulk(action, spec, codec), requestId, ...expected };
      let pageToken = "";
      do {
        const page = await call(rpc.bulkAction, { ...request, pageToken }, { signal });
        yield* page.results.map(readBulk);
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
    },
  });
}

function toBulk(action: BulkAction, spec: BulkSpec, codec: Codec) {
  const { filter = {}, undo = "compensate", version = "same", reason = "" } = spec;
  const { signalName = "", stepId = "" } = spec;
  const payload = encoded(spec.payload, codec);
  const input = encoded(spec.input, codec);
  const fields = { undo: undos[undo], version: versions[version], reason, signalName, stepId };
  const carried = { ...(payload && { payload }), ...(input && { input }) };
  return { filter: toFilter(filter), kind: bulkKinds[action], ...fields, ...carried };
}

function readBulk({ runId, status, newRunId }: WireBulkResult): BulkResult {
  const error = status && status.code !== 0 ? callErrorOfStatus(status) : null;
  return { runId, error, newRunId: newRunId === "" ? null : newRunId };
}
