/**
 * What callers and people have to say to a run that has begun: stop, hold, go on, an event, a
 * decision, the outcome of an attempt that was deferred.
 *
 * Repeating each of them is safe: cancel, pause and resume by the run's state, a signal by its id,
 * a decision by its approver, an outcome by its token.
 */
import {
  type CancelRunResponse,
  SchedulerService,
  Undo,
  Verdict,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Call, type CallControl, present } from "./call.ts";
import { toFailed } from "./outcomes.ts";
import { toPayload } from "./payload.ts";
import { type RunName, toRef } from "./run-name.ts";
import { type Run, readRun } from "./runs.ts";
import type { PermanentError, TransientError } from "./task-errors.ts";

export interface CancelSpec extends CallControl {
  /** What becomes of work that was done. Default: it is undone. */
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
  /** The caller's own name for the signal: the same id is one signal only. Default: random. */
  readonly id?: string;
}

export interface Signalled {
  readonly id: string;
  /** A signal of this id was kept before; this one was not needed. */
  readonly repeated: boolean;
}

export interface DecideSpec extends CallControl {
  readonly verdict: "approve" | "reject";
  /** Who decides, as you state it; nothing verifies it. */
  readonly approver: string;
  /** Roles of the approver, as you state them. */
  readonly roles?: readonly string[];
  readonly comment?: string;
  /** What the step's form asks for. */
  readonly form?: unknown;
}

export interface Decided {
  readonly run: Run;
  /** The same had been decided by this approver before. */
  readonly repeated: boolean;
}

/** Done, with the output of the step, or failed, as a handler would throw it. */
export type DeferredOutcome =
  | { readonly output?: unknown }
  | { readonly error: TransientError | PermanentError };

export interface Commands {
  cancelRun(run: RunName, options?: CancelSpec): Promise<Run>;
  /** Nothing new is handed out; what is with an agent goes on. */
  pauseRun(run: RunName, options?: ReasonSpec): Promise<Run>;
  resumeRun(run: RunName, options?: ReasonSpec): Promise<Run>;
  /** An event for a step of the kind `signal`; kept until one takes it. */
  signal(run: RunName, name: string, options?: SignalSpec): Promise<Signalled>;
  decide(run: RunName, stepId: string, decision: DecideSpec): Promise<Decided>;
  /** How an attempt ended, by `task.callbackToken`. */
  completeDeferred(
    callbackToken: string,
    outcome?: DeferredOutcome,
    options?: CallControl,
  ): Promise<{
    /** The same outcome had been reported before. */
    readonly repeated: boolean;
  }>;
}

const rpc = SchedulerService.method;
const undos = { compensate: Undo.COMPENSATE, leave: Undo.LEAVE };
const verdicts = { approve: Verdict.APPROVE, reject: Verdict.REJECT };

export function createCommands(call: Call, namespace: string): Commands {
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
      const payload = toPayload(spec.payload);
      const event = { name, signalId: id, ...(payload && { payload }) };
      const request = { namespace, run: toRef(run), ...event };
      const { repeated } = await call(rpc.signal, request, { signal });
      return { id, repeated };
    },

    async decide(run: RunName, stepId: string, decision: DecideSpec): Promise<Decided> {
      const form = toPayload(decision.form);
      const request = {
        namespace,
        run: toRef(run),
        stepId,
        approver: decision.approver,
        roles: [...(decision.roles ?? [])],
        verdict: verdicts[decision.verdict],
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
      const request = { callbackToken, outcome: toOutcome(outcome) };
      const { repeated } = await call(rpc.completeDeferred, request, { signal });
      return { repeated };
    },
  });
}

function toOutcome(outcome: DeferredOutcome) {
  if ("error" in outcome) return { case: "failed" as const, value: toFailed(outcome.error) };
  const output = toPayload(outcome.output);
  return { case: "success" as const, value: output === undefined ? {} : { output } };
}
