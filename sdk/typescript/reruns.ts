/**
 * New runs made of a run: a retry, which reuses what succeeded, and a re-run from a step. Repeating
 * either call is safe: one request id makes one new run only.
 */
import { RerunVersion, SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { type Codec, encoded } from "./codec.ts";
import { type RunName, toRef } from "./run-name.ts";

export interface RetrySpec extends CallControl {
  /** Default: the version that the run started with. */
  readonly version?: "same" | "newest";
  /** The caller's own name for the request: one id makes one new run only. Default: random. */
  readonly requestId?: string;
}

export interface RerunSpec extends RetrySpec {
  /** JSON, or a Payload. Default: the input of the run. */
  readonly input?: unknown;
}

/** The new run. */
export interface Rerun {
  readonly runId: string;
  /** False: an earlier call with this request id made it. */
  readonly created: boolean;
}

export interface Reruns {
  /** Starts a new run, which reuses the steps that succeeded and performs the others. */
  retryRun(run: RunName, options?: RetrySpec): Promise<Rerun>;
  /** Starts a new run, which performs this step and all steps after it again; "": all steps. */
  rerunFrom(run: RunName, stepId: string, options?: RerunSpec): Promise<Rerun>;
}

const rpc = SchedulerService.method;
export const versions = { same: RerunVersion.SAME, newest: RerunVersion.NEWEST };

export function createReruns(call: Call, namespace: string, codec: Codec): Reruns {
  return Object.freeze({
    async retryRun(name: RunName, spec: RetrySpec = {}): Promise<Rerun> {
      const request = { namespace, run: toRef(name), ...toRerun(spec) };
      const { runId, created } = await call(rpc.retryRun, request, { signal: spec.signal });
      return { runId, created };
    },

    async rerunFrom(name: RunName, stepId: string, spec: RerunSpec = {}): Promise<Rerun> {
      const input = encoded(spec.input, codec);
      const asked = { stepId, ...toRerun(spec), ...(input && { input }) };
      const request = { namespace, run: toRef(name), ...asked };
      const { runId, created } = await call(rpc.rerunFrom, request, { signal: spec.signal });
      return { runId, created };
    },
  });
}

function toRerun({ version = "same", requestId = crypto.randomUUID() }: RetrySpec) {
  return { requestId, version: versions[version] };
}
