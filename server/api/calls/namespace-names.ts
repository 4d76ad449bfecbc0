// Namespaces by name. They are cached as long as the database is the same: they are few and never
// renamed.
import { DroverError } from "../../errors.ts";
import type { AllShards } from "../../store/all-shards.ts";
import type { Namespace } from "../../store/store.ts";

export interface Namespaces {
  /** "" is "default". Throws NAMESPACE_NOT_FOUND. */
  find(name: string): Promise<Namespace>;
}

export const DEFAULT_NAMESPACE = "default";
const CACHED_MAX = 10_000;

export function createNamespaces(
  store: Pick<AllShards, "namespace" | "incarnation" | "onIncarnation">,
): Namespaces {
  const known = new Map<string, Namespace>();
  // After a failover, the newest namespaces may be lost, and their names may belong to other
  // namespaces.
  store.onIncarnation(() => known.clear());
  return Object.freeze({
    async find(given: string) {
      const name = given === "" ? DEFAULT_NAMESPACE : given;
      const cached = known.get(name);
      if (cached) return cached;
      const asked = store.incarnation();
      const found = await store.namespace(name);
      if (found === null)
        throw new DroverError(
          "NAMESPACE_NOT_FOUND",
          `There is no namespace "${name}": check its name.`,
          { metadata: { name } },
        );
      if (known.size >= CACHED_MAX) known.clear();
      if (asked === store.incarnation()) known.set(name, found);
      return found;
    },
  });
}

/** Those of the names that are namespaces. A JWT may name others. */
export async function existing(
  namespaces: Namespaces,
  names: readonly string[],
): Promise<readonly Namespace[]> {
  const found: Namespace[] = [];
  for (const name of names)
    try {
      found.push(await namespaces.find(name));
    } catch (error) {
      if (!(error instanceof DroverError) || error.reason !== "NAMESPACE_NOT_FOUND") throw error;
    }
  return found;
}
