// What reads of a run look up in its pages: the attempts that a report may be about, the output and
// the error of a step, and what a task carries.
import type { EndedAttempt, Outcome } from "../core/model/attempt.ts";
import type { Payload } from "../core/model/payload.ts";
import type { PayloadKey } from "../core/page/apply-pass.ts";
import {
  attemptNumber,
  type PageAttempt,
  type PageStep,
  type StoredPayload,
  TASKS,
  taskOf,
} from "../core/page/page.ts";
import { ERROR_KINDS, ERROR_OUTCOMES } from "./facts.ts";
import type { AttemptRecord } from "./reads.ts";

/** Finds a payload that has a row of its own. */
export type PayloadOf = (key: PayloadKey) => Payload | null;

function payloadIn(
  stored: StoredPayload | null,
  key: PayloadKey,
  payloadOf: PayloadOf,
): Payload | null {
  return stored?.kind === "row" ? payloadOf(key) : stored;
}

/** The tasks of a step with this fence that have ended, by kind of the task and by number. */
export function endedTasksOf(
  step: number,
  attempts: readonly PageAttempt[],
  fence: number,
): readonly EndedAttempt[] {
  return attempts
    .flatMap((one) => (one.fence === fence ? endedTask(step, one) : []))
    .sort((a, b) => TASKS.indexOf(a.kind) - TASKS.indexOf(b.kind) || a.n - b.n);
}

function endedTask(step: number, of: PageAttempt): readonly EndedAttempt[] {
  const { fence, n, attempt, secret, startedAt, outcome, digest, counted } = of;
  const kind = taskOf(of.kind);
  if (!kind || secret === null) return [];
  const agentId = of.agentId ?? "";
  const session = of.session ?? "";
  const transient = outcome.kind === "failure" && outcome.class === "transient";
  return [
    {
      step,
      kind,
      fence,
      n,
      attempt,
      secret,
      agentId,
      session,
      startedAt,
      outcome: outcome.kind,
      transient,
      counted,
      digest,
    },
  ];
}

/**
 * The attempt whose output is that of the step; null: the step has no output, or the attempt is not
 * among these.
 */
export function resultOf(
  { step: { result } }: Pick<PageStep, "step">,
  attempts: readonly PageAttempt[],
): PageAttempt | null {
  if (!result) return null;
  const { fence, kind, n } = result;
  return (
    attempts.find((one) => one.fence === fence && one.kind === kind && attemptNumber(one) === n) ??
    null
  );
}

/** The output of a step, found by its result. */
export function outputIn(
  of: PageStep,
  attempts: readonly PageAttempt[],
  payloadOf: PayloadOf,
): Payload | null {
  const ended = resultOf(of, attempts);
  if (ended?.outcome.kind !== "success") return null;
  return payloadIn(ended.outcome.output, payloadKeyOf(of.step.no, ended, "output"), payloadOf);
}

export function payloadKeyOf(
  step: number,
  of: Pick<PageAttempt, "kind" | "fence" | "n" | "outcome">,
  what: PayloadKey["what"],
): PayloadKey {
  return { step, kind: of.kind, fence: of.fence, n: attemptNumber(of), what };
}

/** The error of a FAILED step: that of the newest attempt which has one, by fence and by end. */
export function errorIn(
  attempts: readonly PageAttempt[],
): { readonly code: string; readonly message: string } | null {
  const [newest] = attempts
    .filter(({ kind, outcome }) => {
      return ERROR_KINDS.includes(kind) && ERROR_OUTCOMES.includes(outcome.kind);
    })
    .sort(
      (a, b) =>
        b.fence - a.fence ||
        b.endedAt - a.endedAt ||
        ERROR_KINDS.indexOf(b.kind) - ERROR_KINDS.indexOf(a.kind),
    );
  if (newest?.outcome.kind !== "failure" && newest?.outcome.kind !== "unknown") return null;
  const { code, message } = newest.outcome;
  return { code, message };
}

/** Details of the newest attempt of this kind before this fence; null: none has reported any. */
export function lastDetailsIn(
  step: number,
  attempts: readonly PageAttempt[],
  { kind, beforeFence }: { readonly kind: PageAttempt["kind"]; readonly beforeFence: number },
  payloadOf: PayloadOf,
): Payload | null {
  const [newest] = attempts
    .filter((one) => one.kind === kind && one.fence < beforeFence && one.details)
    .sort((a, b) => b.fence - a.fence);
  return newest
    ? payloadIn(newest.details, payloadKeyOf(step, newest, "details"), payloadOf)
    : null;
}

/** An attempt in its public form. */
export function attemptRecord(step: number, of: PageAttempt, payloadOf: PayloadOf): AttemptRecord {
  const { kind, fence, attempt, agentId, session, startedAt, endedAt, progress } = of;
  const n = attemptNumber(of);
  const key = payloadKeyOf(step, of, "output");
  const outcome: Outcome =
    of.outcome.kind === "success"
      ? { kind: "success", output: payloadIn(of.outcome.output, key, payloadOf) }
      : of.outcome;
  const ended = { startedAt, endedAt, outcome, progress };
  return { step, kind, fence, n, attempt, agentId, session, ...ended };
}
