// Where a circuit lets one task through, only one of the grants of a claim is kept. The database
// decides which claim gets it, and marks its task as the probe.
import type { Grant, Tx } from "../store/store.ts";
import type { Admission } from "./admission.ts";

/** Returns the grants that are made. */
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
    if (circuits.length === 0 || circuits.some((one) => asked.has(keyOf(one)))) return [];
    for (const one of circuits) asked.add(keyOf(one));
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
  const has = new Set(taken.map(keyOf));
  for (const { circuits } of probes) admission.probed(circuits);
  const chosen = new Set(
    probes
      .filter(({ circuits }) => circuits.every((one) => has.has(keyOf(one))))
      .map((one) => one.grant),
  );
  return grants.filter((grant, at) => (tries[at] ?? []).length === 0 || chosen.has(grant));
}

function keyOf({ lane, agentId }: { readonly lane: number; readonly agentId: string }): string {
  return `${lane}/${agentId}`;
}
