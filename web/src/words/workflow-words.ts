// A definition in a few words: what a step does, in which queue, how it is retried; and how runs of
// a workflow ended.
import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import {
  Effects,
  type RetryPolicy,
  type StepDefinition,
  type Timeouts,
  type WorkflowStatistics,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import { counted } from "./counts.ts";
import { durationWords } from "./time-words.ts";

/** `book-flight in flights`, `waits`, `approval`: what a step does. */
export function stepDoes({ kind }: StepDefinition): string {
  switch (kind.case) {
    case "task":
      return inQueue(kind.value.name, kind.value.queue);
    case "map":
      return `${inQueue(kind.value.task, kind.value.queue)}, for each item`;
    case "run":
      return `run of ${kind.value.workflow}`;
    case "wait":
      return "waits";
    case "signal":
      return `signal ${kind.value.name}`;
    case "approval":
      return "approval";
    default:
      return "unknown";
  }
}

function inQueue(task: string, queue: string): string {
  return queue === "" || queue === task ? task : `${task} in ${queue}`;
}

const effects: Readonly<Record<number, string>> = {
  [Effects.VERIFIABLE]: "verified",
  [Effects.ONCE]: "runs once only",
};

/** What is special about a step; empty: nothing is. */
export function stepNotes(step: StepDefinition): string {
  return [
    effects[step.effects] ?? "",
    step.compensate ? "has compensation" : "",
    step.fallback.length > 0 ? "has a fallback" : "",
    step.pivot ? "pivot: no compensation from here on" : "",
    step.always ? "always runs, however the run ends" : "",
    step.when === "" ? "" : `when ${step.when}`,
  ]
    .filter((note) => note !== "")
    .join("; ");
}

/** `5 attempts`; `busy: 10 attempts; 3 attempts`; empty: the default. */
export function retryWords(policies: readonly RetryPolicy[]): string {
  return policies
    .map(({ on, attempts }) => {
      const tries = attempts ? counted(attempts, "attempt") : "default attempts";
      return on.length === 0 ? tries : `${on.join(", ")}: ${tries}`;
    })
    .join("; ");
}

const TIMEOUTS = [
  "pickup",
  "attempt",
  "heartbeat",
  "stall",
  "total",
  "settle",
  "callback",
] as const;

/** `attempt 10 s, total 1 min`; empty: the defaults. */
export function timeoutWords(timeouts: Timeouts | undefined): string {
  const given = (of: Duration | undefined) => of && durationWords(durationMs(of));
  return TIMEOUTS.flatMap((name) => {
    const words = given(timeouts?.[name]);
    return words === undefined ? [] : [`${name} ${words}`];
  }).join(", ");
}

export function endedRuns(of: WorkflowStatistics): number {
  return of.completed + of.failed + of.compensated + of.cancelled;
}

/** The share of ended runs that completed: `99.2 %`; a dash if none ended. */
export function successWords(of: WorkflowStatistics): string {
  const ended = endedRuns(of);
  if (ended === 0) return "–";
  // Rounded down: 100 % says that all completed.
  return `${(Math.floor((of.completed / ended) * 1_000) / 10).toFixed(1)} %`;
}
