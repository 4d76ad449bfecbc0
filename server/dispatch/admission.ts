// Who may take what for now: cordoned agents nothing, and of lanes and agents whose circuits are
// open nothing but the one task that tries. All of it is known in memory and learned anew once a
// second, so a claim pays nothing for it; that only one task tries is made sure by the database
// (Tx.takeProbes).
import type { Clock } from "../clock.ts";
import type { EpochMs } from "../core/attempt.ts";
import { type Flow, flowOf, type Outage, outageMs } from "../core/circuit.ts";
import type { Circuit, CircuitSnapshot } from "../store/circuits.ts";
import type { DueLane, Taker } from "./matching.ts";
import type { Waiter } from "./waiters.ts";

/** A waiter, with the lanes out of which it may take. */
export interface AdmittedWaiter extends Taker {
  readonly waiter: Waiter;
}

export interface Admission {
  /** Returns the lanes of which more may be taken than was known before. */
  learn(look: CircuitSnapshot): ReadonlySet<number>;
  /** null: it may take nothing. */
  admit(waiter: Waiter): AdmittedWaiter | null;
  /** The circuits that let the agent have one task of the lane, which tries for them. */
  probedBy(lane: number, agentId: string): readonly Circuit[];
  /** A task tries, or is just about to: nobody else needs to ask. */
  probed(circuits: readonly Circuit[]): void;
  /** How long nothing of the lane went through since then, in milliseconds. */
  suspendedMs(lane: number, since: EpochMs): number;
  /** Whether anything of any lane ever stood still, as far as it matters. */
  hasSuspended(): boolean;
}

interface Known {
  readonly look: CircuitSnapshot;
  /** Monotonic time of the look. */
  readonly atMs: number;
  readonly circuits: ReadonlyMap<string, Circuit>;
  readonly outages: ReadonlyMap<number, readonly Outage[]>;
  readonly cordoned: ReadonlySet<string>;
}

export function createAdmission(clock: Pick<Clock, "monotonicMs">): Admission {
  let known: Known | null = null;
  let untried = new Set<string>();

  const now = (of: Known): EpochMs => of.look.now + (clock.monotonicMs() - of.atMs);

  function flow(of: Known, lane: number, agentId: string): Flow {
    const circuit = of.circuits.get(keyOf(lane, agentId));
    if (!circuit) return "all";
    const found = flowOf(circuit.state, circuit.override?.forced ?? null, now(of));
    return found === "one" && !untried.has(keyOf(lane, agentId)) ? "nothing" : found;
  }

  function isOpen(of: Known, lane: number, agentId: string): boolean {
    return flow(of, lane, "") !== "nothing" && flow(of, lane, agentId) !== "nothing";
  }

  function lanesOf(waiter: Waiter): readonly DueLane[] {
    if (!known) return waiter.lanes;
    const of = known;
    const { agent } = waiter;
    if (of.cordoned.size > 0 && isCordoned(of, waiter)) return [];
    if (of.circuits.size === 0) return waiter.lanes;
    return waiter.lanes.filter(({ lane }) => isOpen(of, lane, agent.id));
  }

  return Object.freeze({
    learn(look: CircuitSnapshot): ReadonlySet<number> {
      const before = known;
      const stood = before ? [...before.circuits.values()] : [];
      const flows = stood.map(({ lane, agentId }) => before && flow(before, lane, agentId));
      known = {
        look,
        atMs: clock.monotonicMs(),
        circuits: new Map(look.circuits.map((one) => [keyOf(one.lane, one.agentId), one])),
        outages: Map.groupBy(look.outages, ({ lane }) => lane),
        cordoned: new Set(
          look.cordons.map(({ namespaceId, kind, name }) => cordonOf(namespaceId, kind, name)),
        ),
      };
      const of = known;
      untried = new Set(of.circuits.keys());
      const freed = stood.filter(
        ({ lane, agentId }, at) => flows[at] === "nothing" && flow(of, lane, agentId) !== "nothing",
      );
      // One that could try and did not: its lane had nothing, or nobody who might.
      const trying = look.circuits.filter(({ lane, agentId }) => flow(of, lane, agentId) === "one");
      return new Set([...freed, ...trying].map(({ lane }) => lane));
    },
    admit(waiter: Waiter): AdmittedWaiter | null {
      const lanes = lanesOf(waiter);
      if (lanes.length === 0) return null;
      return { session: waiter.agent.session, places: waiter.places, lanes, waiter };
    },
    probedBy(lane: number, agentId: string): readonly Circuit[] {
      if (!known || known.circuits.size === 0) return [];
      const of = known;
      return ["", agentId].flatMap((id) => {
        const circuit = of.circuits.get(keyOf(lane, id));
        return circuit && flow(of, lane, id) === "one" ? [circuit] : [];
      });
    },
    probed(circuits: readonly Circuit[]) {
      for (const { lane, agentId } of circuits) untried.delete(keyOf(lane, agentId));
    },
    suspendedMs(lane: number, since: EpochMs): number {
      const outages = known?.outages.get(lane);
      return known && outages ? Math.round(outageMs(outages, since, now(known))) : 0;
    },
    hasSuspended: () => known !== null && known.outages.size > 0,
  });
}

function keyOf(lane: number, agentId: string): string {
  return `${lane}/${agentId}`;
}

function isCordoned({ cordoned }: Known, { namespaceId, agent }: Waiter): boolean {
  return (
    cordoned.has(cordonOf(namespaceId, "agent", agent.id)) ||
    cordoned.has(cordonOf(namespaceId, "version", agent.version))
  );
}

function cordonOf(namespaceId: number, kind: "agent" | "version", name: string): string {
  return `${namespaceId}/${kind}/${name}`;
}
