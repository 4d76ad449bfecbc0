/**
 * Calls that change a run: cancel, pause, resume, a signal, a decision, the outcome of a deferred
 * attempt; with them re-runs and bulk actions.
 *
 * Repeating each of them is safe: cancel, pause and resume by the state of the run, a signal by its
 * id, a decision by its approver, an outcome by its token.
 */
import {
  type CancelRunResponse,
  DecisionKind,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type BulkActions, createBulkActions, undos } from "./bulk-actions.ts";
import { type Call, type CallControl, present } from "./call.ts";
import { type Codec, encoded } from "./codec.ts";
import { toFailed } from "./outcomes.ts";
import { toPayload } from "./payload.ts";
import { createReruns, type Reruns } from "./reruns.ts";
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

export interface Commands extends Reruns, BulkActions {
  cancelRun(run: RunName, options?: CancelSpec): Promise<Run>;
  /** No new task is handed out; tasks that agents hold continue. */
  pauseRun(run: RunName, options?: ReasonSpec): Promise<Run>;
  resumeRun(run: RunName, options?: ReasonSpec): Promise<Run>;
  /** Sends an event for a step of the kind `signal`; it is kept until a step takes it. */
  signal(run: RunName, name: string, options?: SignalSpec): Promise<Signalled>;
  decide(run: RunName, stepId: string, spec: DecideSpec): Promise<Decided>;
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

    async signal(run: RunName, name: string, spec: SignalSpec = {}): Promise<Signalled> {
      const { id = crypto.randomUUID(), signal } = spec;
      const payload = encoded(spec.payload, codec);
      const event = { name, signalId: id, ...(payload && { payload }) };
      const request = { namespace, run: toRef(run), ...event };
      const { repeated } = await call(rpc.signal, request, { signal });
      return { id, repeated };
    },

    async decide(run: RunName, stepId: string, spec: DecideSpec): Promise<Decided> {
      // Not encoded, whatever the codec: the server checks it against the schema of the step.
      const form = toPayload(spec.form);
      const request = {
        namespace,
        run: toRef(run),
        stepId,
        approver: spec.approver,
        roles: [...(spec.roles ?? [])],
        decision: decisionKinds[spec.decision],
        comment: spec.comment ?? "",
        ...(form && { form }),
      };
      const answer = await call(rpc.decide, request, { signal: spec.signal });
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

    ...createReruns(call, namespace, codec),
    ...createBulkActions(call, namespace, codec),
  });
}

function toOutcome(outcome: DeferredOutcome, codec: Codec) {
  if ("error" in outcome) return { case: "failed" as const, value: toFailed(outcome.error) };
  const output = encoded(outcome.output, codec);
  return { case: "success" as const, value: output === undefined ? {} : { output } };
}
