// Circuits: what fails nearly every time rests for a while, and then one task tries it.
//
//   closed ─ it fails nearly every time ─→ open ─ its time is over, a task is handed out ─→ trying
//   trying ─ that task went well ─→ closed
//          ─ it went badly ─→ open, for twice as long
//          ─ it says nothing (given back, cancelled) ─→ open, and the next task tries
//
// That of a queue's task (`agentId` "") opens when the remote service is down: several agents and
// several runs see it. That of one agent opens when others of its lane do better. What a person
// says stands above that until it is taken back.
import type { EpochMs, Outcome } from "./attempt.ts";

export interface CircuitSettings {
  /** Fewer ends than this within the window say nothing; at least 1. */
  readonly ends: number;
  /** So many of them, as a share, have to be bad. */
  readonly share: number;
  readonly windowMs: number;
  /** The first rest; each further one of the same outage is twice as long, up to `restMsMax`. */
  readonly restMs: number;
  readonly restMsMax: number;
}

export const CIRCUIT_DEFAULTS: CircuitSettings = Object.freeze({
  ends: 20,
  share: 0.8,
  windowMs: 60_000,
  restMs: 30_000,
  restMsMax: 300_000,
});

/** An outage is all from the first opening to the closing. */
export type CircuitState =
  | { readonly kind: "closed" }
  | {
      readonly kind: "open";
      readonly since: EpochMs;
      /** From then on one task may try. */
      readonly until: EpochMs;
      /** Rests of this outage so far, this one included. */
      readonly rests: number;
    }
  /** One task is out, and everything else waits for how it goes. */
  | { readonly kind: "trying"; readonly since: EpochMs; readonly rests: number };

export type CircuitEvent =
  | { readonly kind: "tripped" }
  | { readonly kind: "tried" }
  | { readonly kind: "probe-ended"; readonly end: EndKind };

/** What the end of a task says about who was called; `nothing`: nobody was, or nobody can tell. */
export type EndKind = "good" | "bad" | "nothing";

export const CLOSED: CircuitState = Object.freeze({ kind: "closed" });

/** A permanent failure is an answer: the service is there. */
export function endKindOf(outcome: {
  readonly kind: Outcome["kind"];
  /** Of a failure. */
  readonly transient: boolean;
}): EndKind {
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

/** null: the event means nothing in this state. */
export function circuitAfter(
  state: CircuitState,
  event: CircuitEvent,
  now: EpochMs,
  settings: CircuitSettings,
): CircuitState | null {
  switch (event.kind) {
    case "tripped":
      return state.kind === "closed" ? rest(now, 0, now, settings) : null;
    case "tried":
      if (state.kind !== "open" || now < state.until) return null;
      return { kind: "trying", since: state.since, rests: state.rests };
    case "probe-ended": {
      if (state.kind !== "trying") return null;
      const { since, rests } = state;
      if (event.end === "good") return CLOSED;
      if (event.end === "bad") return rest(since, rests, now, settings);
      return { kind: "open", since, until: now, rests };
    }
  }
}

function rest(
  since: EpochMs,
  restsBefore: number,
  now: EpochMs,
  { restMs, restMsMax }: CircuitSettings,
): CircuitState {
  const ms = Math.min(restMs * 2 ** restsBefore, restMsMax);
  return { kind: "open", since, until: now + ms, rests: restsBefore + 1 };
}

/** What a person has said, until it is taken back; null: nothing, the rules decide. */
export type Forced = "open" | "closed" | null;

/** How much goes through: all, one task that tries, nothing. */
export type Flow = "all" | "one" | "nothing";

export function flowOf(state: CircuitState, forced: Forced, now: EpochMs): Flow {
  if (forced !== null) return forced === "open" ? "nothing" : "all";
  if (state.kind === "closed") return "all";
  return state.kind === "open" && now >= state.until ? "one" : "nothing";
}

/** The ends of one agent in a lane within the window; those that say nothing are not counted. */
export interface Tally {
  readonly agentId: string;
  readonly good: number;
  readonly bad: number;
  /** Some of the runs in which they were bad: two are enough. */
  readonly runs: readonly string[];
}

export interface LaneDecision {
  /** The remote service is down: all that the lane's agents do fails. */
  readonly queue: boolean;
  /** Agents that fail where others do not. */
  readonly agents: readonly string[];
}

/** Who is to rest, of the agents of one lane whose circuits are closed. */
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
  return sum.good + sum.bad >= settings.ends && isMostlyBad(sum, settings);
}

function isMostlyBad({ good, bad }: Sum, { share }: CircuitSettings): boolean {
  return bad > 0 && bad >= share * (good + bad);
}

/** A quarter of the ends is enough to compare with; half of the share is clearly better. */
function doesWell({ good, bad }: Sum, { ends, share }: CircuitSettings): boolean {
  return good + bad >= ends / 4 && bad <= (share / 2) * (good + bad);
}

/** A time in which nothing of a lane went through; `to` null: it has not ended. */
export interface Outage {
  readonly from: EpochMs;
  readonly to: EpochMs | null;
}

/** How long of `from` to `to` fell into outages, in milliseconds; none overlaps another. */
export function outageMs(outages: readonly Outage[], from: EpochMs, to: EpochMs): number {
  return outages.reduce(
    (sum, one) => sum + Math.max(0, Math.min(one.to ?? to, to) - Math.max(one.from, from)),
    0,
  );
}
