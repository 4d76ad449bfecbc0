// Part of each poll tick: reads again what may be handed out, writes what this server has counted,
// and changes the circuits of the lanes that this process owns, by the rules of
// core/model/circuit.ts.
//
// The owner of a lane is an owner of a place that the lane's number determines, among the places of
// the partitions; those of all regions have the same places. Correctness does not depend on it: a
// change is a compare-and-set, so if two processes believe that they own a lane, one of them
// changes it. All state is in the database, and a new owner continues with it.
import type { Logger } from "pino";
import {
  type CircuitSettings,
  type CircuitState,
  CLOSED,
  circuitAfter,
  nextLaneState,
} from "../core/model/circuit.ts";
import { inWords } from "../core/pass.ts";
import type {
  CircuitChange,
  CircuitSnapshot,
  Circuits,
  CircuitVersion,
  CountedOutcomes,
  LaneEvidence,
} from "../store/circuits.ts";
import { placeOf } from "../store/partition.ts";
import type { Owned } from "./ownership.ts";

export interface CircuitWatch {
  /** How far back a bad end makes a lane watched, in milliseconds. */
  readonly windowMs: number;
  /** Follows the version that a poll query has read. */
  onPoll(version: CircuitVersion): Promise<void>;
  /** The same, without a poll query. */
  runOnce(): Promise<void>;
}

export interface CircuitWatchOptions {
  readonly circuits: Circuits;
  readonly settings: CircuitSettings;
  readonly log: Logger;
  readonly onFailed?: (() => void) | undefined;
  /** `partitions`: all that exist in the shard that stores the circuits. */
  readonly owner: () => {
    readonly node: string | null;
    readonly owned: readonly Owned[];
    readonly partitions: readonly number[];
  };
  /** Takes out the counts of this server that have to be written. */
  readonly counted: (watched: readonly number[], windowMs: number) => readonly CountedOutcomes[];
  readonly learn: (snapshot: CircuitSnapshot) => Promise<void>;
}

export function createCircuitWatch(options: CircuitWatchOptions): CircuitWatch {
  const { circuits, settings, log } = options;

  async function follow(found: CircuitSnapshot): Promise<void> {
    await options.learn(found);
    // At once, also for lanes that are watched only now: the owner compares their good and bad
    // ends.
    const counted = options.counted(found.watched, settings.windowMs);
    if (counted.length > 0) await circuits.count(counted);
    const { node, owned, partitions } = options.owner();
    const halfOpen = found.circuits.filter(({ state }) => state.kind === "trying");
    const lanes = new Set([...found.watched, ...[...halfOpen, ...counted].map(({ lane }) => lane)]);
    if (node === null || lanes.size === 0) return;
    const ownerOf = laneOwners(owned, partitions);
    const byOwner = Map.groupBy(lanes, ownerOf);
    let changed = false;
    for (const [owner, own] of byOwner) {
      if (!owner) continue;
      const evidence = await circuits.evidence(own, settings.windowMs);
      const changes = evidence.flatMap((one) => changesOf(one, settings));
      const made = await circuits.change(changes, { node, epoch: owner.epoch });
      for (const { lane, agentId } of made) {
        const change = changes.find((one) => one.lane === lane && one.agentId === agentId);
        const { saw = "", did = "" } = change ?? {};
        log.warn({ event: "circuit.moved", lane, agent: agentId, saw, did });
      }
      changed ||= made.length > 0;
    }
    if (changed) await options.learn(await circuits.snapshot(settings.windowMs));
  }

  const followed = (snapshot: Promise<CircuitSnapshot>): Promise<void> =>
    snapshot.then(follow).catch((error: unknown) => {
      options.onFailed?.();
      log.warn({ event: "circuit.poll-failed", err: String(error) });
    });

  return Object.freeze({
    windowMs: settings.windowMs,
    onPoll: (version: CircuitVersion) => followed(circuits.learn(version)),
    runOnce: () => followed(circuits.snapshot(settings.windowMs)),
  });
}

/** undefined: this process owns no partition with the place of the lane. */
function laneOwners(
  owned: readonly Owned[],
  partitions: readonly number[],
): (lane: number) => Owned | undefined {
  const places = [...new Set(partitions.map(placeOf))].sort((one, other) => one - other);
  const owners = new Map(owned.map((one) => [placeOf(one.partition), one]));
  return (lane) => {
    const place = places[lane % places.length];
    return place === undefined ? undefined : owners.get(place);
  };
}

/** The changes of the circuits of a lane. */
export function changesOf(
  evidence: LaneEvidence,
  settings: CircuitSettings,
): readonly CircuitChange[] {
  return [...probesEnded(evidence, settings), ...tripped(evidence, settings)];
}

function probesEnded(
  { lane, now, circuits }: LaneEvidence,
  settings: CircuitSettings,
): readonly CircuitChange[] {
  return circuits.flatMap(({ agentId, state, override, version, probeEnd, saw: sawBefore }) => {
    if (state.kind !== "trying" || !probeEnd || override) return [];
    const { end, at, runId, step, fence } = probeEnd;
    const after = circuitAfter(state, { kind: "probe-ended", end }, now, settings);
    if (!after) return [];
    const saw = {
      good: "the task that tried went well",
      bad: `the task that tried failed; before, ${sawBefore}`,
      nothing: sawBefore,
    }[end];
    const about = end === "nothing" ? null : { runId, step, fence };
    const moved = { state: after, before: version, saw, did: didWords(after, agentId, now) };
    return [{ lane, agentId, ...moved, dueAt: at, about }];
  });
}

function tripped(evidence: LaneEvidence, settings: CircuitSettings): readonly CircuitChange[] {
  const { lane, now, circuits, tallies } = evidence;
  const own = circuits.find(({ agentId }) => agentId === "");
  if (own && !isClosed(own)) return [];
  const open = circuits.filter((one) => one.agentId !== "" && !isClosed(one));
  const considered = tallies.filter((one) => !open.some(({ agentId }) => agentId === one.agentId));
  const { queue, agents } = nextLaneState(considered, settings);
  return [...agents, ...(queue ? [""] : [])].flatMap((agentId) => {
    const after = circuitAfter(CLOSED, { kind: "tripped" }, now, settings);
    if (!after) return [];
    const of = considered.filter((one) =>
      agentId === "" ? !agents.includes(one.agentId) : one.agentId === agentId,
    );
    const runId = of.flatMap(({ runs }) => runs)[0];
    return [
      {
        lane,
        agentId,
        state: after,
        before: circuits.find((one) => one.agentId === agentId)?.version ?? 0,
        saw: sawWords(agentId, of, settings),
        did: didWords(after, agentId, now),
        dueAt: Math.max(...of.map(({ lastAt }) => lastAt)),
        about: runId === undefined ? null : { runId, step: -1, fence: 0 },
      },
    ];
  });
}

function isClosed({ state, override }: LaneEvidence["circuits"][number]): boolean {
  return state.kind === "closed" && override === null;
}

function sawWords(
  agentId: string,
  of: LaneEvidence["tallies"],
  { windowMs }: CircuitSettings,
): string {
  const bad = of.reduce((sum, one) => sum + one.bad, 0);
  const ends = of.reduce((sum, one) => sum + one.good + one.bad, 0);
  const counted = `${bad} of ${ends} tasks failed within ${inWords(windowMs)}`;
  if (agentId === "") return `${counted}, with ${of.length} agents`;
  return `${counted} with the agent ${agentId}, and others do better`;
}

function didWords(state: CircuitState, agentId: string, now: number): string {
  const whose = agentId === "" ? "the lane" : `the agent ${agentId}`;
  switch (state.kind) {
    case "closed":
      return `closed the circuit: ${whose} gets tasks again`;
    case "open":
      return `opened the circuit: ${whose} gets no task for ${inWords(state.until - now)}, then one that tries`;
    case "trying":
      return "lets one task try";
  }
}
