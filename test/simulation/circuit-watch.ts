// A server must obey the circuits that it has read: it hands out nothing of a lane whose circuit it
// knows as open, and of the tasks that could probe a circuit only the one marked by the store.
import type { Clock } from "../../server/clock.ts";
import { flowOf } from "../../server/core/model/circuit.ts";
import type { Circuit, CircuitRef, CircuitSnapshot, Probe } from "../../server/store/circuits.ts";
import type { Grant, Tx } from "../../server/store/store.ts";
import type { Faults } from "./faults.ts";

export interface CircuitWatch {
  /** The server has read this snapshot. */
  learned(snapshot: CircuitSnapshot): void;
  watch(tx: Tx): Tx;
}

export interface CircuitWatchOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly faults: Faults;
  readonly onDefect: (what: string) => void;
}

export function watchCircuits({ clock, faults, onDefect }: CircuitWatchOptions): CircuitWatch {
  let known: { readonly snapshot: CircuitSnapshot; readonly atMs: number } | null = null;
  /** A claim of any shard asks the first one for its probe. */
  const tried = new Set<string>();

  const circuitsOf = ({ ready, agentId }: Grant): readonly Circuit[] =>
    (known?.snapshot.circuits ?? []).filter(
      (one) => one.lane === ready.lane && (one.agentId === "" || one.agentId === agentId),
    );

  function check(grant: Grant): void {
    if (!known) return;
    const now = known.snapshot.now + (clock.monotonicMs() - known.atMs);
    for (const { lane, agentId, state, override } of circuitsOf(grant)) {
      const flow = flowOf(state, override?.forced ?? null, now);
      // Another shard marks its probe in the first one before it hands the task out: a snapshot in
      // between has the circuit as tried already.
      if (flow === "all" || tried.has(probeKey({ lane, agentId }, grant))) continue;
      const where = agentId === "" ? `lane ${lane}` : `${agentId} in lane ${lane}`;
      const what = flow === "one" ? "beside the one that tries" : "through an open circuit";
      onDefect(`step ${grant.ready.step} of ${grant.ready.runId} went to ${where} ${what}`);
    }
  }

  return Object.freeze({
    learned(snapshot: CircuitSnapshot) {
      known = { snapshot, atMs: clock.monotonicMs() };
    },
    watch(tx: Tx): Tx {
      return {
        ...tx,
        async takeProbes(probes: readonly Probe[]) {
          const taken = await tx.takeProbes(probes);
          for (const ref of taken) {
            faults.count("circuit tried");
            const probe = probes.find((one) => isOf(one, ref));
            if (probe) tried.add(probeKey(ref, probe));
          }
          return taken;
        },
        async grant(grants: readonly Grant[]) {
          for (const grant of grants) check(grant);
          return tx.grant(grants);
        },
      };
    },
  } satisfies CircuitWatch);
}

function isOf(probe: Probe, { lane, agentId }: CircuitRef): boolean {
  return probe.lane === lane && probe.agentId === agentId;
}

function probeKey({ lane, agentId }: CircuitRef, { secret }: Pick<Grant, "secret">): string {
  return `${lane}/${agentId} ${secret}`;
}
