// Due rows on their way: the event of each row is submitted to its run, a schedule that is due
// begins its runs. No row is submitted while it is in flight or backs off. What fails is noted
// (failed-rows.ts, backlog.ts), reported and logged.
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { DroverError } from "../errors.ts";
import type { Advance, SupervisorActor } from "../scheduler/advance.ts";
import { type DueRef, dueRefOf } from "../store/due.ts";
import type { DueRow, DueSchedule, RunRef } from "../store/store.ts";
import type { Backlog } from "./backlog.ts";
import { eventOf } from "./due-events.ts";
import type { Backoff, FailedRows } from "./failed-rows.ts";
import type { Failed } from "./failing.ts";

/** How long a scan waits until what it has found is settled. */
const SETTLE_WAIT_MS = 200;

export interface SubmissionOptions {
  readonly advance: Pick<Advance, "submit">;
  /** Begins the runs of a schedule that is due. */
  readonly beginDue: (
    schedule: DueSchedule,
    actor: SupervisorActor,
  ) => Promise<{ readonly kind: string }>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onFenced: (node: string) => void;
  /** Called when an event or a scan has failed. */
  readonly onFailed?: (() => void) | undefined;
  /** Called when a row of a run has failed, and backs off. */
  readonly onFailing?: ((failed: Failed, backoff: Backoff) => void) | undefined;
}

/** Where failed rows are noted. */
interface FailureNotes {
  readonly failedRows: FailedRows;
  readonly backlog: Pick<Backlog, "isOn" | "failed">;
  /** Called when more rows fail than can back off, while the backlog is off. */
  readonly onCrowded: (nowMs: number) => void;
  /** Called when the store was unavailable or overloaded: the row is not at fault. */
  readonly onStoreFailed: (wakeAt: EpochMs) => void;
}

export interface DueSubmissions {
  /** `watchingSince`: since when silence counts in the partition of the row. */
  submitRow(row: DueRow, watchingSince: EpochMs, actor: SupervisorActor): void;
  submitSchedule(schedule: DueSchedule, actor: SupervisorActor): void;
  /**
   * Waits for what is in flight, but not for long: a run that another transaction holds delays no
   * other.
   */
  settled(): Promise<void>;
  /** Resolves when nothing that is in flight now is in flight any more. */
  quiet(): Promise<unknown>;
}

/** A due row of a run, or a due schedule. */
interface Due {
  readonly key: string;
  readonly ref: DueRef;
  /** null: it is a schedule. */
  readonly run: RunRef | null;
  readonly wakeAt: EpochMs;
  readonly about: Readonly<Record<string, string>>;
}

interface State {
  readonly options: SubmissionOptions;
  readonly notes: FailureNotes;
  /** What is in flight, by key. */
  readonly pending: Map<string, Promise<void>>;
}

export function createDueSubmissions(
  options: SubmissionOptions,
  notes: FailureNotes,
): DueSubmissions {
  const state: State = { options, notes, pending: new Map() };
  return Object.freeze({
    submitRow: (row: DueRow, watchingSince: EpochMs, actor: SupervisorActor) =>
      submitRow(state, row, watchingSince, actor),
    submitSchedule: (schedule: DueSchedule, actor: SupervisorActor) =>
      submitSchedule(state, schedule, actor),
    settled: () => settled(state),
    quiet: () => Promise.all(state.pending.values()),
  });
}

function submitRow(
  state: State,
  row: DueRow,
  watchingSince: EpochMs,
  actor: SupervisorActor,
): void {
  const { advance } = state.options;
  const { kind, runId, step, fence } = row;
  const key = `${kind}/${runId}/${step}/${fence}`;
  const about = { runId, kind };
  const due = { key, ref: dueRefOf(row), run: row, wakeAt: row.wakeAt, about };
  send(state, due, actor, () => advance.submit(row, eventOf(row, watchingSince), actor));
}

function submitSchedule(state: State, schedule: DueSchedule, actor: SupervisorActor): void {
  const { beginDue } = state.options;
  const { id, wakeAt } = schedule;
  const ref: DueRef = { kind: "schedule", id, place: -1 };
  const due = { key: `schedule/${id}`, ref, run: null, wakeAt, about: { schedule: id } };
  send(state, due, actor, () => beginDue(schedule, actor));
}

/** Unless it is in flight already, or has failed while the scan that found it was running. */
function send(
  { options, notes, pending }: State,
  due: Due,
  actor: SupervisorActor,
  act: () => Promise<{ readonly kind: string }>,
): void {
  const { failedRows } = notes;
  const nowMs = options.clock.monotonicMs();
  if (pending.has(due.key) || failedRows.isBackingOff(due.ref, nowMs)) return;
  const sent = act()
    .then((answer) => {
      failedRows.succeeded(due.ref);
      if (answer.kind === "fenced") options.onFenced(actor.node);
    })
    .catch((error: unknown) => failed(options, notes, due, actor, error))
    .finally(() => pending.delete(due.key));
  pending.set(due.key, sent);
}

function failed(
  options: SubmissionOptions,
  notes: FailureNotes,
  { ref, run, wakeAt, about }: Due,
  actor: SupervisorActor,
  error: unknown,
): void {
  const { clock, log, onFailed, onFailing } = options;
  onFailed?.();
  const isStore = error instanceof DroverError && error.reason !== "INTERNAL";
  const backoff = isStore ? null : backedOff(notes, ref, wakeAt, clock.monotonicMs());
  log.warn({
    event: "timers.event-failed",
    ...about,
    backoffMs: backoff?.backoffMs,
    err: String(error),
  });
  if (backoff && run) onFailing?.({ run, wakeAt, actor, error }, backoff);
  if (isStore) notes.onStoreFailed(wakeAt);
}

/** Returns how long the row backs off now; null: it backs off already. */
function backedOff(
  { failedRows, backlog, onCrowded }: FailureNotes,
  ref: DueRef,
  wakeAt: EpochMs,
  nowMs: number,
): Backoff | null {
  const backoff = failedRows.failed(ref, wakeAt, nowMs, backlog.isOn());
  if (backoff?.isCrowded && !backlog.isOn()) onCrowded(nowMs);
  backlog.failed();
  return backoff;
}

async function settled({ options, pending }: State): Promise<void> {
  if (pending.size === 0) return;
  await new Promise<void>((resolve) => {
    const timer = options.clock.after(SETTLE_WAIT_MS, resolve);
    void Promise.all(pending.values()).finally(() => {
      timer.cancel();
      resolve();
    });
  });
}
