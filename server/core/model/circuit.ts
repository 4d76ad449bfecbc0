// Circuit breakers: when almost all tasks fail, nothing is dispatched for a cool-down. Then one
// probe is let through.
//
//   closed ─ almost all tasks fail ─→ open ─ the cool-down is over, a task is claimed ─→ half-open
//   half-open ─ the probe goes well ─→ closed
//             ─ the probe goes badly ─→ open, for twice as long
//             ─ the probe says nothing (returned, cancelled) ─→ open; the next task is the probe
//
// The circuit of a queue's task (`agentId` "") opens when the remote service is down: several
// agents and several runs see it. The circuit of one agent opens when other agents of its lane do
// better. A setting by an operator overrides both until the operator withdraws it.
import type { EpochMs, Outcome } from "./attempt.ts";

export interface CircuitSettings {
  /** Fewer counted outcomes than this within the window decide nothing; at least 1. */
  readonly minOutcomes: number;
  /** The share of bad outcomes that opens the circuit, 0 to 1. */
  readonly share: number;
  readonly windowMs: number;
  /**
   * The first cool-down. Each further one of the same outage is twice as long, up to
   * `cooldownMsMax`.
   */
  readonly cooldownMs: number;
  readonly cooldownMsMax: number;
}

export const CIRCUIT_DEFAULTS: CircuitSettings = Object.freeze({
  minOutcomes: 20,
  share: 0.8,
  windowMs: 60_000,
  cooldownMs: 30_000,
  cooldownMsMax: 300_000,
});

/** An outage lasts from the first opening of the circuit until it closes. */
export type CircuitState =
  | { readonly kind: "closed" }
  | {
      readonly kind: "open";
      readonly since: EpochMs;
      /** From then on one task may be the probe. */
      readonly until: EpochMs;
      /** Cool-downs of this outage so far, this one included. */
      readonly cooldowns: number;
    }
  /** Half-open: the probe is claimed, and all other tasks wait for its outcome. */
  | { readonly kind: "trying"; readonly since: EpochMs; readonly cooldowns: number };

export type CircuitEvent =
  | { readonly kind: "tripped" }
  | { readonly kind: "probe-claimed" }
  | { readonly kind: "probe-ended"; readonly end: OutcomeClass };

/** What an outcome says about the remote service. `nothing`: not called, or it is not known. */
export type OutcomeClass = "good" | "bad" | "nothing";

export const CLOSED: CircuitState = Object.freeze({ kind: "closed" });

/** A permanent failure counts as good: the service has answered. */
export function outcomeClassOf(outcome: {
  readonly kind: Outcome["kind"];
  /** Whether a failure was transient. */
  readonly transient: boolean;
}): OutcomeClass {
  switch (outcome.kind) {
    case "success":
    case "again":
    case "deferred":
      return "good";
    case "failure":
      return outcome.transient ? "bad" : "good";
    case "unknown":
      return "bad";
    case "released":
    case "cancelled":
    case "undelivered":
    case "unsent":
    case "superseded":
      return "nothing";
  }
}

/** null: the event has no effect in this state. */
export function circuitAfter(
  state: CircuitState,
  event: CircuitEvent,
  now: EpochMs,
  settings: CircuitSettings,
): CircuitState | null {
  switch (event.kind) {
    case "tripped":
      return state.kind === "closed" ? coolDown(now, 0, now, settings) : null;
    case "probe-claimed":
      if (state.kind !== "open" || now < state.until) return null;
      return { kind: "trying", since: state.since, cooldowns: state.cooldowns };
    case "probe-ended": {
      if (state.kind !== "trying") return null;
      const { since, cooldowns } = state;
      if (event.end === "good") return CLOSED;
      if (event.end === "bad") return coolDown(since, cooldowns, now, settings);
      return { kind: "open", since, until: now, cooldowns };
    }
  }
}

function coolDown(
  since: EpochMs,
  cooldownsBefore: number,
  now: EpochMs,
  { cooldownMs, cooldownMsMax }: CircuitSettings,
): CircuitState {
  const ms = Math.min(cooldownMs * 2 ** cooldownsBefore, cooldownMsMax);
  return { kind: "open", since, until: now + ms, cooldowns: cooldownsBefore + 1 };
}

/** The state set by an operator; null: none, the rules decide. */
export type Forced = "open" | "closed" | null;

/** How many tasks may pass: all, one probe, or none. */
export type Flow = "all" | "one" | "nothing";

export function flowOf(state: CircuitState, forced: Forced, now: EpochMs): Flow {
  if (forced !== null) return forced === "open" ? "nothing" : "all";
  if (state.kind === "closed") return "all";
  return state.kind === "open" && now >= state.until ? "one" : "nothing";
}

/** Outcome counts of one agent in a lane within the window, without those that say nothing. */
export interface Tally {
  readonly agentId: string;
  readonly good: number;
  readonly bad: number;
  /** Some of the runs that had the bad outcomes: two are enough. */
  readonly runs: readonly string[];
}

interface LaneDecision {
  /** The remote service is down: the tasks of all agents of the lane fail. */
  readonly queue: boolean;
  /** Agents that fail where others do not. */
  readonly agents: readonly string[];
}

/** The circuits to open, by the agents of one lane whose circuits are closed. */
export function nextLaneState(tallies: readonly Tally[], settings: CircuitSettings): LaneDecision {
  const agents = tallies.filter((one) => {
    const peers = tallies.filter((other) => other !== one);
    return fails(sumOf([one]), settings) && doesWell(sumOf(peers), settings);
  });
  const left = tallies.filter((one) => !agents.includes(one));
  const failing = left.filter((one) => isMostlyBad(sumOf([one]), settings));
  const runs = new Set(left.flatMap((one) => one.runs));
  const queue = fails(sumOf(left), settings) && failing.length >= 2 && runs.size >= 2;
  return { queue, agents: agents.map(({ agentId }) => agentId) };
}

interface Sum {
  readonly good: number;
  readonly bad: number;
}

function sumOf(tallies: readonly Tally[]): Sum {
  const of = (count: (one: Tally) => number) => tallies.reduce((sum, one) => sum + count(one), 0);
  return { good: of(({ good }) => good), bad: of(({ bad }) => bad) };
}

function fails(sum: Sum, settings: CircuitSettings): boolean {
  return sum.good + sum.bad >= settings.minOutcomes && isMostlyBad(sum, settings);
}

function isMostlyBad({ good, bad }: Sum, { share }: CircuitSettings): boolean {
  return bad > 0 && bad >= share * (good + bad);
}

/** A quarter of `minOutcomes` is enough to compare with; half of `share` is clearly better. */
function doesWell({ good, bad }: Sum, { minOutcomes, share }: CircuitSettings): boolean {
  return good + bad >= minOutcomes / 4 && bad <= (share / 2) * (good + bad);
}

/** A time in which no task of a lane could pass; `to` null: it has not ended. */
export interface Outage {
  readonly from: EpochMs;
  readonly to: EpochMs | null;
}

/** In the order of time, those that overlap or touch as one. */
export function mergedOutages(outages: readonly Outage[]): readonly Outage[] {
  const merged: Outage[] = [];
  for (const one of outages.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (!last || (last.to !== null && last.to < one.from)) merged.push(one);
    else if (last.to !== null && (one.to === null || one.to > last.to))
      merged[merged.length - 1] = { from: last.from, to: one.to };
  }
  return merged;
}

/** Milliseconds from `from` to `to` outside of outages. The outages must not overlap. */
export function msOutside(outages: readonly Outage[], from: EpochMs, to: EpochMs): number {
  return to - from - outageMs(outages, from, to);
}

/** The latest time from which to `to` so many milliseconds lie outside of the merged outages. */
export function startOf(outages: readonly Outage[], to: EpochMs, ms: number): EpochMs {
  let end = to;
  let left = ms;
  for (const one of outages.toReversed()) {
    const closedAt = Math.min(one.to ?? to, end);
    if (one.from >= end) continue;
    if (end - closedAt >= left) break;
    left -= end - closedAt;
    end = one.from;
  }
  return end - left;
}

/** Milliseconds from `from` to `to` that fell into outages. The outages must not overlap. */
export function outageMs(outages: readonly Outage[], from: EpochMs, to: EpochMs): number {
  return outages.reduce(
    (sum, one) => sum + Math.max(0, Math.min(one.to ?? to, to) - Math.max(one.from, from)),
    0,
  );
}
