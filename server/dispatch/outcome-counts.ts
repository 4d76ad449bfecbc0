// Counts how tasks end, by lane and agent, for the circuit breakers. A server keeps its counts in
// memory for a minute. It writes them only for lanes in which some server has lately counted a bad
// end; then it writes all of them, so that the good ends of every server count as well.
import type { Clock } from "../clock.ts";
import type { CountedOutcomes } from "../store/circuits.ts";
import type { EndedTask } from "../store/rows-of-effects.ts";

const INTERVAL_MS = 5_000;
/** Counts in memory, one for each lane, agent and 5 s: about 200 bytes each. */
const COUNTS_MAX = 100_000;
/** Most rows of one write. */
const WRITTEN_MAX = 2_000;
const RUNS_MAX = 2;

interface Slot {
  readonly lane: number;
  readonly agentId: string;
  /** Monotonic time of the last end. */
  lastMs: number;
  good: number;
  bad: number;
  readonly runs: string[];
}

type Counted = Pick<EndedTask, "lane" | "agentId" | "runId" | "end">;

export interface OutcomeCounts {
  count(ended: readonly Counted[]): void;
  /**
   * Takes out what has to be written now: counts of `watched` lanes, and of lanes with bad ends
   * here.
   */
  take(watched: readonly number[], windowMs: number): readonly CountedOutcomes[];
}

export function createOutcomeCounts(clock: Pick<Clock, "monotonicMs">): OutcomeCounts {
  let slots = new Map<string, Slot>();

  function slotOf(lane: number, agentId: string): Slot {
    const slotNo = Math.floor(clock.monotonicMs() / INTERVAL_MS);
    const key = `${lane}/${slotNo}/${agentId}`;
    const known = slots.get(key);
    if (known) return known;
    const made: Slot = { lane, agentId, lastMs: 0, good: 0, bad: 0, runs: [] };
    slots.set(key, made);
    // The oldest is first: a Map keeps the order of insertion.
    const [oldest] = slots.keys();
    if (slots.size > COUNTS_MAX && oldest !== undefined) slots.delete(oldest);
    return made;
  }

  return Object.freeze({
    count(ended: readonly Counted[]) {
      for (const { lane, agentId, runId, end } of ended) {
        if (end === "nothing") continue;
        const slot = slotOf(lane, agentId);
        slot[end] += 1;
        slot.lastMs = clock.monotonicMs();
        if (end === "bad" && slot.runs.length < RUNS_MAX && !slot.runs.includes(runId))
          slot.runs.push(runId);
      }
    },
    take(watched: readonly number[], windowMs: number): readonly CountedOutcomes[] {
      const nowMs = clock.monotonicMs();
      for (const [key, { lastMs }] of slots) {
        if (nowMs - lastMs <= windowMs) break;
        slots.delete(key);
      }
      const lanes = new Set(watched);
      for (const { lane, bad } of slots.values()) if (bad > 0) lanes.add(lane);
      if (lanes.size === 0) return [];
      const taken: CountedOutcomes[] = [];
      const left = new Map<string, Slot>();
      for (const [key, slot] of slots) {
        if (!lanes.has(slot.lane) || taken.length >= WRITTEN_MAX) {
          left.set(key, slot);
          continue;
        }
        const { lastMs, ...ends } = slot;
        taken.push({ ...ends, agoMs: nowMs - lastMs });
      }
      slots = left;
      return taken;
    },
  });
}
