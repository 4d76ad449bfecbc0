// The times at which a step had no attempt and waited: for an agent, for its next attempt, for a
// signal and so on. The server tells when attempts began and ended; the waits are what lies between
// them, and between the end of the steps that a step needs and its first attempt.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Attempt,
  type Intervention,
  OutcomeKind,
  type Step,
  StepKind,
  StepState,
  WaitingOn,
} from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";

export type WaitFor = "agent" | "retry" | "signal" | "approval" | "callback" | "timer" | "child";

export interface WaitSpan {
  readonly on: WaitFor;
  readonly fromMs: number;
  /** null: until now. */
  readonly toMs: number | null;
}

interface Events {
  readonly attemptsOf: ReadonlyMap<string, readonly Attempt[]>;
  readonly interventionsOf: ReadonlyMap<string, readonly Intervention[]>;
}

type Run = Pick<GetRunResponse, "run" | "steps">;

export function waitsOf(of: Run, events: Events): ReadonlyMap<string, readonly WaitSpan[]> {
  const readyAt = readyTimes(of, events);
  const runEndMs = of.run?.endedTime === undefined ? null : ms(of.run.endedTime);
  return new Map(
    of.steps.map((step) => {
      const attempts = (events.attemptsOf.get(step.id) ?? []).filter(isForward);
      const interventions = events.interventionsOf.get(step.id) ?? [];
      const readyMs = readyAt(step);
      return [step.id, waitsOfStep({ step, attempts, interventions, readyMs, runEndMs })];
    }),
  );
}

interface StepEvents {
  readonly step: Step;
  /** In the order of their start. */
  readonly attempts: readonly Attempt[];
  readonly interventions: readonly Intervention[];
  /** When the last step that it needs has ended; null: not yet, or unknown. */
  readonly readyMs: number | null;
  /** null: the run is open. */
  readonly runEndMs: number | null;
}

function waitsOfStep(of: StepEvents): readonly WaitSpan[] {
  const { step, attempts, interventions, readyMs, runEndMs } = of;
  const spans: WaitSpan[] = [];
  let last: Attempt | null = null;
  let fromMs = readyMs;
  for (const attempt of attempts) {
    const startMs = ms(attempt.startedTime);
    if (fromMs !== null && startMs > fromMs)
      spans.push(...between(of, last, { fromMs, toMs: startMs }));
    if (attempt.endedTime === undefined) return spans;
    fromMs = Math.max(fromMs ?? 0, ms(attempt.endedTime));
    last = attempt;
  }
  if (fromMs === null) return spans;
  const on = waitNow(step);
  if (on !== null && runEndMs === null) return [...spans, { on, fromMs, toMs: null }];
  const endMs = Math.max(0, ...interventions.map(({ actedTime }) => ms(actedTime)));
  // The server does not tell when a step was cancelled: at the latest with the end of its run.
  if (step.state === StepState.CANCELLED && runEndMs !== null)
    return [...spans, ...between(of, last, { fromMs, toMs: runEndMs })];
  if (last === null && isEnded(step) && endMs > fromMs)
    spans.push(...between(of, last, { fromMs, toMs: endMs }));
  return spans;
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What the step waited for before an attempt; `last`: the attempt before that. */
function between(
  { step, interventions }: StepEvents,
  last: Attempt | null,
  { fromMs, toMs }: Span,
): readonly WaitSpan[] {
  const on = byKind[step.kind];
  if (on !== undefined) return [{ on, fromMs, toMs }];
  if (step.kind === StepKind.MAP) return [];
  if (last?.outcome === OutcomeKind.DEFERRED) return [{ on: "callback", fromMs, toMs }];
  if (last === null || !isRetried(last)) return [{ on: "agent", fromMs, toMs }];
  const due = interventions
    .filter(({ rule }) => rule === "backoff")
    .map(({ dueTime }) => ms(dueTime))
    .find((at) => at > fromMs && at < toMs);
  if (due === undefined) return [{ on: "retry", fromMs, toMs }];
  return [
    { on: "retry", fromMs, toMs: due },
    { on: "agent", fromMs: due, toMs },
  ];
}

const byKind: Readonly<Partial<Record<StepKind, WaitFor>>> = {
  [StepKind.SIGNAL]: "signal",
  [StepKind.APPROVAL]: "approval",
  [StepKind.WAIT]: "timer",
  [StepKind.RUN]: "child",
};

function isRetried({ outcome }: Attempt): boolean {
  return [OutcomeKind.FAILURE, OutcomeKind.UNKNOWN, OutcomeKind.AGAIN].some(
    (one) => one === outcome,
  );
}

function waitNow({ state, waitingOn }: Step): WaitFor | null {
  if (state === StepState.READY) return "agent";
  if (state === StepState.BACKOFF) return "retry";
  return state === StepState.WAITING ? (byWaiting[waitingOn] ?? null) : null;
}

const byWaiting: Readonly<Partial<Record<WaitingOn, WaitFor>>> = {
  [WaitingOn.TIMER]: "timer",
  [WaitingOn.SIGNAL]: "signal",
  [WaitingOn.APPROVAL]: "approval",
  [WaitingOn.CALLBACK]: "callback",
  [WaitingOn.CHILD]: "child",
  [WaitingOn.CHILD_END]: "child",
};

function isForward({ kind, late }: Attempt): boolean {
  return kind === TaskKind.PERFORM && !late;
}

function isEnded({ state }: Step): boolean {
  return [StepState.SUCCEEDED, StepState.FAILED, StepState.SKIPPED].some((one) => one === state);
}

/** When each step had all that it needs. Each step is computed once, also if many need it. */
function readyTimes({ run, steps }: Run, events: Events): (step: Step) => number | null {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const known = new Map<string, number | null>();
  const beginMs = ms(run?.createdTime);
  // A step that was cancelled after a failure before it was never ready.
  const isCutOff = ({ state, needs }: Step) =>
    state === StepState.CANCELLED && needs.some((id) => byId.get(id)?.state === StepState.FAILED);
  const readyAt = (step: Step): number | null => {
    if (isCutOff(step)) return null;
    const before = known.get(step.id);
    if (before !== undefined) return before;
    // Steps need no step that needs them, so this value is never read.
    known.set(step.id, null);
    const ends = step.needs.map((id) => {
      const needed = byId.get(id);
      return needed === undefined ? null : endAt(needed);
    });
    const ready = ends.reduce<number | null>(
      (latest, end) => (latest === null || end === null ? null : Math.max(latest, end)),
      beginMs,
    );
    known.set(step.id, ready);
    return ready;
  };
  const endAt = (step: Step): number | null => {
    if (!isEnded(step)) return null;
    const times = [
      ...(events.attemptsOf.get(step.id) ?? [])
        .filter((one) => isForward(one) && one.stepId === step.id)
        .map(({ endedTime }) => ms(endedTime)),
      ...(events.interventionsOf.get(step.id) ?? []).map(({ actedTime }) => ms(actedTime)),
    ];
    if (times.length > 0) return Math.max(...times);
    if (step.reusedFrom !== "") return beginMs;
    return step.state === StepState.SKIPPED ? readyAt(step) : null;
  };
  return readyAt;
}

function ms(at: Attempt["startedTime"]): number {
  return at === undefined ? 0 : timestampMs(at);
}
