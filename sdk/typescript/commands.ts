/**
 * Calls for a run that has begun: cancel, pause, resume, repeat, a signal, a decision, the outcome
 * of a deferred attempt.
 *
 * Repeating each of them is safe: cancel, pause and resume by the state of the run, a signal by its
 * id, a decision by its approver, an outcome by its token.
 */
import type * as wire from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import {
  BulkKind,
  type CancelRunResponse,
  DecisionKind,
  RerunVersion,
  SchedulerService,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Call, type CallControl, present } from "./call.ts";
import { callErrorOfStatus, type DroverCallError } from "./call-error.ts";
import { type Codec, encoded } from "./codec.ts";
import { toFailed } from "./outcomes.ts";
import { toPayload } from "./payload.ts";
import { type RunFilterSpec, toFilter } from "./run-filter.ts";
import { type RunName, toRef } from "./run-name.ts";
import { type Run, readRun } from "./runs.ts";
import type { PermanentError, TransientError } from "./task-errors.ts";

export interface CancelSpec extends CallControl {
  /** What happens to work that was done. Default: it is undone. */
  readonly undo?: "compensate" | "leave";
  readonly reason?: string;
}

export interface ReasonSpec extends CallControl {
  /** Why, for people. */
  readonly reason?: string;
}

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

export type BulkAction = "cancel" | "pause" | "resume" | "retry" | "signal" | "rerun";

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

/** The new run. */
export interface Rerun {
  readonly runId: string;
  /** False: an earlier call with this request id made it. */
  readonly created: boolean;
}

export interface SignalSpec extends CallControl {
  /** JSON, or a Payload: the output of the step that takes the signal. Default: none. */
  readonly payload?: unknown;
  /** The caller's own name for the signal: one id makes one signal only. Default: random. */
  readonly id?: string;
}

export interface Signalled {
  readonly id: string;
  /** A signal of this id was stored before; this one was not needed. */
  readonly repeated: boolean;
}

export interface DecideSpec extends CallControl {
  readonly decision: "approve" | "reject";
  /** Who decides, as the caller states it; the server does not verify it. */
  readonly approver: string;
  /** Roles of the approver, as the caller states them. */
  readonly roles?: readonly string[];
  readonly comment?: string;
  /** The form of the step, filled in; the server reads it, so no codec changes it. */
  readonly form?: unknown;
}

export interface Decided {
  readonly run: Run;
  /** This approver made the same decision before. */
  readonly repeated: boolean;
}

/** Success with the output of the step, or the error that a handler would throw. */
export type DeferredOutcome =
  | { readonly output?: unknown }
  | { readonly error: TransientError | PermanentError };

export interface Commands {
  cancelRun(run: RunName, options?: CancelSpec): Promise<Run>;
  /** No new task is handed out; tasks that agents hold continue. */
  pauseRun(run: RunName, options?: ReasonSpec): Promise<Run>;
  resumeRun(run: RunName, options?: ReasonSpec): Promise<Run>;
  /** Starts a new run, which reuses the steps that succeeded and performs the others. */
  retryRun(run: RunName, options?: RetrySpec): Promise<Rerun>;
  /** Starts a new run, which performs this step and all steps after it again; "": all steps. */
  rerunFrom(run: RunName, stepId: string, options?: RerunSpec): Promise<Rerun>;
  /** Number of runs to which a bulk action would apply, at most 10,001. */
  countForBulk(action: BulkAction, options?: BulkSpec): Promise<number>;
  /** Applies the action to all runs that match the filter, oldest first, with a result for each. */
  bulk(action: BulkAction, options?: BulkSpec): AsyncGenerator<BulkResult, void, undefined>;
  /** Sends an event for a step of the kind `signal`; it is kept until a step takes it. */
  signal(run: RunName, name: string, options?: SignalSpec): Promise<Signalled>;
  decide(run: RunName, stepId: string, decision: DecideSpec): Promise<Decided>;
  /** Reports how an attempt ended, by `task.callbackToken`. */
  completeDeferred(
    callbackToken: string,
    outcome?: DeferredOutcome,
    options?: CallControl,
  ): Promise<{
    /** The same outcome was reported before. */
    readonly repeated: boolean;
  }>;
}

const rpc = SchedulerService.method;
const versions = { same: RerunVersion.SAME, newest: RerunVersion.NEWEST };
const bulkKinds = {
  cancel: BulkKind.CANCEL,
  pause: BulkKind.PAUSE,
  resume: BulkKind.RESUME,
  retry: BulkKind.RETRY,
  signal: BulkKind.SIGNAL,
  rerun: BulkKind.RERUN,
};
const undos = { compensate: Undo.COMPENSATE, leave: Undo.LEAVE };
const decisionKinds = { approve: DecisionKind.APPROVE, reject: DecisionKind.REJECT };

export function createCommands(call: Call, namespace: string, codec: Codec): Commands {
  const readAnswer = ({ run }: Pick<CancelRunResponse, "run">) => readRun(present(run));

  return Object.freeze({
    async cancelRun(name: RunName, spec: CancelSpec = {}): Promise<Run> {
      const { undo = "compensate", reason = "", signal } = spec;
      const request = { namespace, run: toRef(name), undo: undos[undo], reason };
      return readAnswer(await call(rpc.cancelRun, request, { signal }));
    },

    async pauseRun(name: RunName, { reason = "", signal }: ReasonSpec = {}): Promise<Run> {
      const request = { namespace, run: toRef(name), reason };
      return readAnswer(await call(rpc.pauseRun, request, { signal }));
    },

    async resumeRun(name: RunName, { reason = "", signal }: ReasonSpec = {}): Promise<Run> {
      const request = { namespace, run: toRef(name), reason };
      return readAnswer(await call(rpc.resumeRun, request, { signal }));
    },

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

    async signal(run: RunName, name: string, spec: SignalSpec = {}): Promise<Signalled> {
      const { id = crypto.randomUUID(), signal } = spec;
      const payload = encoded(spec.payload, codec);
      const event = { name, signalId: id, ...(payload && { payload }) };
      const request = { namespace, run: toRef(run), ...event };
      const { repeated } = await call(rpc.signal, request, { signal });
      return { id, repeated };
    },

    async decide(run: RunName, stepId: string, decision: DecideSpec): Promise<Decided> {
      // Not encoded, whatever the codec: the server checks it against the schema of the step.
      const form = toPayload(decision.form);
      const request = {
        namespace,
        run: toRef(run),
        stepId,
        approver: decision.approver,
        roles: [...(decision.roles ?? [])],
        decision: decisionKinds[decision.decision],
        comment: decision.comment ?? "",
        ...(form && { form }),
      };
      const answer = await call(rpc.decide, request, { signal: decision.signal });
      return { run: readAnswer(answer), repeated: answer.repeated };
    },

    async completeDeferred(
      callbackToken: string,
      outcome: DeferredOutcome = {},
      { signal }: CallControl = {},
    ): Promise<{ readonly repeated: boolean }> {
      const request = { callbackToken, outcome: toOutcome(outcome, codec) };
      const { repeated } = await call(rpc.completeDeferred, request, { signal });
      return { repeated };
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

function readBulk({ runId, status, newRunId }: wire.BulkResult): BulkResult {
  const error = status && status.code !== 0 ? callErrorOfStatus(status) : null;
  return { runId, error, newRunId: newRunId === "" ? null : newRunId };
}

function toRerun({ version = "same", requestId = crypto.randomUUID() }: RetrySpec) {
  return { requestId, version: versions[version] };
}

function toOutcome(outcome: DeferredOutcome, codec: Codec) {
  if ("error" in outcome) return { case: "failed" as const, value: toFailed(outcome.error) };
  const output = encoded(outcome.output, codec);
  return { case: "success" as const, value: output === undefined ? {} : { output } };
}
