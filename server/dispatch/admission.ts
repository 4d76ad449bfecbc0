// Admission: which waiters may claim from which lanes at the moment. A cordoned agent gets no task.
// A lane, or an agent in a lane, whose circuit is open gets no task either, except one probe. The
// state is kept in memory and refreshed once a second, so it costs a claim nothing. The database
// ensures that only one task is the probe (Tx.takeProbes).
import type { Clock } from "../clock.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { type Flow, flowOf, type Outage } from "../core/model/circuit.ts";
import type { Circuit, CircuitSnapshot, CordonKind } from "../store/circuits.ts";
import type { Grant, Tx } from "../store/store.ts";
import type { Taker, WeightedLane } from "./matching.ts";
import type { Waiter } from "./waiters.ts";

/** A waiter, with the lanes that it may claim from. */
export interface AdmittedWaiter extends Taker {
  readonly waiter: Waiter;
}

export interface Admission {
  /**
   * Replaces what is known. Returns the lanes that have to be scanned: those whose circuits let
   * tasks through again, and those that have no probe yet.
   */
  learn(snapshot: CircuitSnapshot): ReadonlySet<number>;
  /** null: the waiter may claim nothing. */
  admit(waiter: Waiter): AdmittedWaiter | null;
  /** The circuits that would count a task of this lane, handed to this agent, as their probe. */
  probedBy(lane: number, agentId: string): readonly Circuit[];
  /**
   * The database was asked for these probes: until the next `learn`, no claim asks for them again.
   */
  probed(circuits: readonly Circuit[]): void;
  /**
   * Outages of the lane that have not ended, or ended within a day, in whole milliseconds. An
   * outage begins when a circuit opens and ends when it closes.
   */
  outages(lane: number): readonly Outage[];
  /** false: no outage of any lane is known that could still matter. */
  hasSuspended(): boolean;
}

/** What a snapshot says. */
interface Known {
  readonly circuits: ReadonlyMap<string, Circuit>;
  readonly outages: ReadonlyMap<number, readonly Outage[]>;
  readonly cordoned: ReadonlySet<string>;
  /** Circuits whose probe no claim has asked for since the snapshot. */
  readonly openProbes: Set<string>;
  /** The time of the database. */
  readonly now: () => EpochMs;
}

export function createAdmission(clock: Pick<Clock, "monotonicMs">): Admission {
  let known: Known | null = null;
  return Object.freeze({
    learn(snapshot) {
      const refusing = known ? refusingCircuits(known) : [];
      known = knownOf(clock, snapshot);
      return lanesToScan(known, refusing);
    },
    admit(waiter) {
      const lanes = known ? lanesOf(known, waiter) : waiter.lanes;
      if (lanes.length === 0) return null;
      return { session: waiter.agent.session, places: waiter.places, lanes, waiter };
    },
    probedBy: (lane, agentId) => (known ? probedBy(known, lane, agentId) : []),
    probed(circuits) {
      for (const { lane, agentId } of circuits) known?.openProbes.delete(keyOf(lane, agentId));
    },
    outages: (lane) => known?.outages.get(lane) ?? [],
    hasSuspended: () => known !== null && known.outages.size > 0,
  } satisfies Admission);
}

function knownOf(clock: Pick<Clock, "monotonicMs">, snapshot: CircuitSnapshot): Known {
  const learnedAtMs = clock.monotonicMs();
  const circuits = new Map(snapshot.circuits.map((one) => [keyOf(one.lane, one.agentId), one]));
  return {
    circuits,
    outages: Map.groupBy(snapshot.outages.map(inWholeMs), ({ lane }) => lane),
    cordoned: new Set(
      snapshot.cordons.map(({ namespaceId, kind, name }) => cordonOf(namespaceId, kind, name)),
    ),
    openProbes: new Set(circuits.keys()),
    now: () => snapshot.now + (clock.monotonicMs() - learnedAtMs),
  };
}

function inWholeMs<O extends Outage>({ from, to, ...rest }: O) {
  return { ...rest, from: Math.round(from), to: to === null ? null : Math.round(to) };
}

/** Circuits that let no task through. */
function refusingCircuits(of: Known): readonly Circuit[] {
  return [...of.circuits.values()].filter(
    ({ lane, agentId }) => flow(of, lane, agentId) === "nothing",
  );
}

/** `refusing`: the circuits that let no task through before this was known. */
function lanesToScan(of: Known, refusing: readonly Circuit[]): ReadonlySet<number> {
  const freed = refusing.filter(({ lane, agentId }) => flow(of, lane, agentId) !== "nothing");
  // A probe was possible and did not happen: the lane had no ready task, or no suitable waiter.
  const halfOpen = [...of.circuits.values()].filter(
    ({ lane, agentId }) => flow(of, lane, agentId) === "one",
  );
  return new Set([...freed, ...halfOpen].map(({ lane }) => lane));
}

function lanesOf(of: Known, waiter: Waiter): readonly WeightedLane[] {
  if (of.cordoned.size > 0 && isCordoned(of, waiter)) return [];
  if (of.circuits.size === 0) return waiter.lanes;
  const { id } = waiter.agent;
  return waiter.lanes.filter(({ lane }) => isOpen(of, lane, id));
}

function isOpen(of: Known, lane: number, agentId: string): boolean {
  return flow(of, lane, "") !== "nothing" && flow(of, lane, agentId) !== "nothing";
}

function flow(of: Known, lane: number, agentId: string): Flow {
  const circuit = of.circuits.get(keyOf(lane, agentId));
  if (!circuit) return "all";
  const found = flowOf(circuit.state, circuit.override?.forced ?? null, of.now());
  return found === "one" && !of.openProbes.has(keyOf(lane, agentId)) ? "nothing" : found;
}

function probedBy(of: Known, lane: number, agentId: string): readonly Circuit[] {
  if (of.circuits.size === 0) return [];
  return ["", agentId].flatMap((id) => {
    const circuit = of.circuits.get(keyOf(lane, id));
    return circuit && flow(of, lane, id) === "one" ? [circuit] : [];
  });
}

function keyOf(lane: number, agentId: string): string {
  return `${lane}/${agentId}`;
}

function isCordoned({ cordoned }: Known, { namespaceId, agent }: Waiter): boolean {
  return (
    cordoned.has(cordonOf(namespaceId, "agent", agent.id)) ||
    cordoned.has(cordonOf(namespaceId, "version", agent.version)) ||
    cordoned.has(cordonOf(namespaceId, "session", agent.session))
  );
}

function cordonOf(namespaceId: number, kind: CordonKind, name: string): string {
  return `${namespaceId}/${kind}/${name}`;
}

/**
 * Where a circuit lets one task through, only one of the grants of a claim is kept. The database
 * decides which claim gets it, and marks its task as the probe.
 *
 * Returns the grants that are made.
 */
export async function letThrough<G extends Grant>(
  tx: Pick<Tx, "takeProbes">,
  admission: Pick<Admission, "probedBy" | "probed">,
  grants: readonly G[],
): Promise<readonly G[]> {
  const tries = grants.map((grant) => admission.probedBy(grant.ready.lane, grant.agentId));
  if (tries.every((circuits) => circuits.length === 0)) return grants;
  const asked = new Set<string>();
  const probes = grants.flatMap((grant, at) => {
    const circuits = tries[at] ?? [];
    if (circuits.length === 0 || circuits.some((one) => asked.has(keyOf(one.lane, one.agentId))))
      return [];
    for (const one of circuits) asked.add(keyOf(one.lane, one.agentId));
    return [{ grant, circuits }];
  });
  const taken = await tx.takeProbes(
    probes.flatMap(({ grant, circuits }) =>
      circuits.map(({ lane, agentId, version }) => {
        const { runId, step, fence } = grant.ready;
        return { lane, agentId, version, runId, step, fence, secret: grant.secret };
      }),
    ),
  );
  const has = new Set(taken.map((one) => keyOf(one.lane, one.agentId)));
  for (const { circuits } of probes) admission.probed(circuits);
  const chosen = new Set(
    probes
      .filter(({ circuits }) => circuits.every((one) => has.has(keyOf(one.lane, one.agentId))))
      .map((one) => one.grant),
  );
  return grants.filter((grant, at) => (tries[at] ?? []).length === 0 || chosen.has(grant));
}
