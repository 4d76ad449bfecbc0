// What can happen to a run, and what is answered to whoever said it.
// An event carries every fact that its rule needs: no rule asks a clock, a database or a die.
import type { Moment, Outcome, RunState, TaskKind } from "./model.ts";

/** Facts of the pass, the same for all of its events. */
export interface Occasion {
  /** The database's time of the pass. */
  readonly now: Moment;
  /** A number from 0 up to 1, drawn for this event: the jitter of a backoff. */
  readonly draw: number;
}

export type RunEvent =
  /** Complete: an agent says how a task ended. */
  | {
      readonly kind: "report";
      readonly step: number;
      readonly task: TaskKind;
      readonly fence: number;
      readonly secret: string;
      readonly outcome: Exclude<Outcome, { kind: "undelivered" }>;
      readonly digest: string;
      readonly agentId: string;
      readonly session: string;
    }
  /** A session says that the poll which this task was granted to ended without an answer. */
  | {
      readonly kind: "undelivered";
      readonly step: number;
      readonly fence: number;
      readonly secret: string;
    }
  /** The moment of a lease has come. */
  | {
      readonly kind: "lease-moment";
      readonly step: number;
      readonly fence: number;
      readonly lastBeatAt: Moment | null;
      /** Since when the owner of the partition has been looking without a gap. */
      readonly watchingSince: Moment;
    }
  /** Nobody took a ready task within `pickup`, or its `total` is over. */
  | {
      readonly kind: "ready-moment";
      readonly step: number;
      readonly fence: number;
      /** Somebody polled its lane in the last minute. */
      readonly polled: boolean;
    }
  | { readonly kind: "backoff-moment"; readonly step: number }
  /** The run's own moment: its deadline, or the end of what it lets settle. */
  | { readonly kind: "run-moment" }
  | { readonly kind: "cancel"; readonly undo: boolean; readonly note: string };

export type EventKind = RunEvent["kind"];

export type Answer =
  /** It is done, or was needless: the state is what was asked for. */
  | { readonly kind: "done" }
  /** The same report was accepted before. */
  | { readonly kind: "repeated" }
  /** Another task of the step was handed out since, or step or run are final: kept as evidence. */
  | { readonly kind: "lease-lost"; readonly run: RunState["kind"] }
  /** The attempt was ended by another report of its agent. */
  | { readonly kind: "over"; readonly outcome: Outcome["kind"] }
  /** No task of this run ever had this token. */
  | { readonly kind: "no-such-task" }
  | { readonly kind: "refused"; readonly run: RunState["kind"]; readonly why: string };

/**
 * The steps that a pass must load: those named by a success and its successors, else all. Only a
 * plain success in a RUNNING run can be judged without the rest; everything else may give a
 * verdict.
 */
export function stepsToLoad(
  state: RunState["kind"],
  successorsOf: (step: number) => readonly number[],
  events: readonly RunEvent[],
): readonly number[] | "all" {
  if (state !== "RUNNING") return "all";
  const named = new Set<number>();
  for (const event of events) {
    const plain =
      (event.kind === "report" &&
        (event.outcome.kind === "success" || event.outcome.kind === "released")) ||
      event.kind === "undelivered" ||
      event.kind === "backoff-moment";
    if (!plain) return "all";
    named.add(event.step);
    for (const successor of successorsOf(event.step)) named.add(successor);
  }
  return [...named];
}

/** The order of events within one pass: reports first, then people's commands, then moments. */
export function inPassOrder<T extends { readonly event: RunEvent }>(items: readonly T[]): T[] {
  const rank = (event: RunEvent): number => {
    if (event.kind === "report") return 0;
    if (event.kind === "undelivered") return 1;
    if (event.kind === "cancel") return 2;
    return 3;
  };
  return [...items].sort((a, b) => rank(a.event) - rank(b.event));
}
