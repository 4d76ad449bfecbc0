// What operators do to circuits and agents. The store keeps it; this server applies it at once,
// other servers within a second.
import type { CircuitOverride, Circuits, Cordon, CordonRef } from "../store/circuits.ts";
import type { EngineStore, LaneKey } from "../store/store.ts";
import type { CircuitCalls, Scheduler } from "./scheduler.ts";

interface CircuitControlOptions {
  readonly store: Pick<EngineStore, "lanes">;
  readonly circuits: Circuits;
  /** Reads again what may be handed out. */
  readonly refresh: () => Promise<void>;
}

export function createCircuitControl({
  store,
  circuits,
  refresh,
}: CircuitControlOptions): Pick<Scheduler, CircuitCalls> {
  return Object.freeze({
    async setCircuit(of: LaneKey, agentId: string, override: CircuitOverride | null) {
      const [lane] = await store.lanes([of]);
      if (lane === undefined) throw new Error(`queue ${of.queue} has no lane for ${of.task}`);
      const circuit = await circuits.setOverride({ lane, agentId }, override);
      await refresh();
      return { ...circuit, queue: of.queue, task: of.task, agentVersion: null };
    },
    async cordonAgent(cordon: Omit<Cordon, "at">) {
      const made = await circuits.cordon(cordon);
      await refresh();
      return made;
    },
    async uncordonAgent(of: CordonRef) {
      const was = await circuits.uncordon(of);
      await refresh();
      return was;
    },
  });
}
