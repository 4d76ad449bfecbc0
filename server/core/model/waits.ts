// What the steps of a run wait for while no agent can act on them. The head of a run counts them,
// so lists and filters read no page but the first. Tasks that are READY or LEASED are not counted:
// a claim changes one into the other without the head.
import { type Moving, movingSide, type Step } from "./model.ts";

export const WAIT_KINDS = [
  /** A failed, lost or returned task is ready again later. */
  "retry",
  "signal",
  "approval",
  /** The outcome of an attempt that its agent deferred. */
  "callback",
  "timer",
  /** The end of a child run. */
  "child",
  /** The run is paused; the task would be ready otherwise. */
  "held",
] as const;

export type WaitKind = (typeof WAIT_KINDS)[number];

/** Number of steps by what they wait for; absent: none. Items of maps are counted. */
export type WaitCounts = Readonly<Partial<Record<WaitKind, number>>>;

export const NO_WAITS: WaitCounts = Object.freeze({});

/** null: the step waits for nothing, or for an agent. */
export function waitOf(step: Step): WaitKind | null {
  const moving = movingSide(step);
  return moving ? waitOfMoving(moving.state) : null;
}

function waitOfMoving(state: Moving): WaitKind | null {
  switch (state.kind) {
    case "READY":
    case "LEASED":
      return null;
    case "BACKOFF":
      return "retry";
    case "HELD":
      return "held";
    case "WAITING":
      // The next action of a map on its items is a matter of milliseconds.
      if (state.on === "items") return null;
      return state.on === "child-end" ? "child" : state.on;
  }
}

/** The counts after one step has changed from `before` to `after`. */
export function countWaits(
  counts: WaitCounts,
  before: WaitKind | null,
  after: WaitKind | null,
): WaitCounts {
  if (before === after) return counts;
  const next = { ...counts };
  if (before !== null) {
    const left = (counts[before] ?? 0) - 1;
    if (left === 0) delete next[before];
    else next[before] = left;
  }
  if (after !== null) next[after] = (next[after] ?? 0) + 1;
  return next;
}

/** A bit for each kind that the run has, by its index in `WAIT_KINDS`: the store searches by it. */
export function waitBits(counts: WaitCounts): number {
  return WAIT_KINDS.reduce((bits, kind, at) => (counts[kind] ? bits | (1 << at) : bits), 0);
}

export function waitBit(kind: WaitKind): number {
  return 1 << WAIT_KINDS.indexOf(kind);
}
