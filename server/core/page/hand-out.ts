// The actions of an agent on the page of its task besides reports: the claim and the heartbeats.
import type { EpochMs } from "../model/attempt.ts";
import { type Lease, movingSide, type Ready, type Step } from "../model/model.ts";
import type { Payload } from "../model/payload.ts";
import { nextSlowCheck } from "../model/typical-duration.ts";
import { type PayloadRow, storedPayload } from "./apply-pass.ts";
import type { PageStep, StoredPayload, TaskTerms } from "./page.ts";

export interface HandOut {
  readonly secret: string;
  readonly session: string;
  readonly agentId: string;
  readonly pollSeq: number;
  /** The lane in which the task was found. */
  readonly lane: number;
}

/** Claims the task: a READY step becomes LEASED. */
export function handOut(was: PageStep, to: HandOut, now: EpochMs): PageStep {
  const moving = movingSide(was.step);
  if (moving?.state.kind !== "READY" || was.terms === null)
    throw new Error(`step ${was.step.no} is handed out and is not READY`);
  const terms = was.terms.lane === to.lane ? was.terms : { ...was.terms, lane: to.lane };
  const lease = leaseOf(moving.state, terms, to, now);
  const step: Step =
    moving.side === "forward" ? { ...was.step, forward: lease } : { ...was.step, undo: lease };
  return { ...was, step, terms, progress: null, details: null };
}

/** Latest end of an attempt that begins now. */
function attemptEndsAt(
  { attemptMs }: Pick<TaskTerms, "attemptMs">,
  until: EpochMs | null,
  now: EpochMs,
): EpochMs {
  return Math.min(now + attemptMs, until ?? Number.POSITIVE_INFINITY);
}

function leaseOf(ready: Ready, terms: TaskTerms, to: HandOut, now: EpochMs): Lease {
  const { task, fence, attempt } = ready;
  const { heartbeatMs, cancelMs, stallMs, slowAfterMs } = terms;
  const attemptBy = attemptEndsAt(terms, ready.until, now);
  const stalledAt = stallMs === null ? Number.POSITIVE_INFINITY : now + stallMs;
  const slowAt =
    slowAfterMs !== null
      ? now + slowAfterMs
      : task === "perform"
        ? nextSlowCheck({ grantedAt: now, attemptBy }, now)
        : Number.POSITIVE_INFINITY;
  const { secret, session, agentId, pollSeq } = to;
  return {
    kind: "LEASED",
    task,
    fence,
    attempt,
    secret,
    session,
    agentId,
    pollSeq,
    grantedAt: now,
    attemptBy,
    heartbeatMs,
    cancelMs,
    stallMs,
    progressAt: now,
    cancel: { kind: "none" },
    suspectAt: null,
    // Silence is found by session, since heartbeats write no page.
    wakeAt: Math.min(attemptBy, stalledAt, slowAt),
  };
}

export interface HeartbeatOfTask {
  readonly fence: number;
  readonly secret: string;
  /** null: the stored progress stays. */
  readonly progress: string | null;
  readonly details: Payload | null;
}

interface AppliedHeartbeat {
  readonly step: PageStep;
  readonly payloads: readonly PayloadRow[];
  /** How long the agent may continue, or the time within which it has to stop. */
  readonly answer:
    | { readonly kind: "carry-on"; readonly leaseMs: number }
    | { readonly kind: "cancel"; readonly withinMs: number };
}

/**
 * Applies a heartbeat of a task. Only a progress that differs from the last one counts as progress.
 * A heartbeat without news leaves the step unchanged, so that its page is not written. A requested
 * cancel is delivered now, and ends the lease after `cancel`, whatever the agent does. null: the
 * session does not hold the task.
 */
export function applyHeartbeat(
  was: PageStep,
  session: string,
  report: HeartbeatOfTask,
  now: EpochMs,
): AppliedHeartbeat | null {
  const moving = movingSide(was.step);
  const lease = moving?.state;
  if (
    !moving ||
    lease?.kind !== "LEASED" ||
    lease.session !== session ||
    lease.secret !== report.secret ||
    lease.fence !== report.fence
  )
    return null;
  const payloads: PayloadRow[] = [];
  const { no } = was.step;
  const n = lease.task === "verify" ? was.step.verifies : 0;
  const key = { step: no, kind: lease.task, fence: lease.fence, n, what: "details" } as const;
  const isProgress = report.progress !== null && report.progress !== was.progress;
  const next = deliverCancel(isProgress ? { ...lease, progressAt: now } : lease, now);
  const isNew = report.details !== null && !isStored(was.details, report.details);
  const details = isNew ? storedPayload(report.details, key, payloads) : was.details;
  const step = next === lease ? was.step : { ...was.step, [moving.side]: next };
  const isSame = next === lease && !isProgress && !isNew;
  return {
    step: isSame ? was : { ...was, step, progress: report.progress ?? was.progress, details },
    payloads,
    answer:
      next.cancel.kind === "received"
        ? { kind: "cancel", withinMs: Math.max(0, next.cancel.by - now) }
        : { kind: "carry-on", leaseMs: next.heartbeatMs },
  };
}

/** The content of a payload in a row of its own is not known here, so it counts as different. */
function isStored(stored: StoredPayload | null, payload: Payload): boolean {
  if (stored?.kind === "json") return payload.kind === "json" && payload.json === stored.json;
  if (stored?.kind !== "data" || payload.kind !== "data") return false;
  return (
    payload.contentType === stored.contentType &&
    payload.data.length === stored.data.length &&
    payload.data.every((byte, at) => byte === stored.data[at])
  );
}

function deliverCancel(lease: Lease, now: EpochMs): Lease {
  if (lease.cancel.kind !== "asked") return lease;
  const by = now + lease.cancelMs;
  return { ...lease, cancel: { kind: "received", cause: lease.cancel.cause, by }, wakeAt: by };
}
