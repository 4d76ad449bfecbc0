// Namespaces and their regions, on PostgreSQL.
import type { Moment } from "../../core/attempt.ts";
import { REGIONS_MAX } from "../partition.ts";
import type { NamespaceRecord, Reads, RegionRecord } from "../reads.ts";
import type { Namespace, Store } from "../store.ts";
import { PARTITION_CLASS } from "./partitions.ts";
import type { createTransact, Query } from "./transaction.ts";

export function namespacesOf(
  query: Query,
  transact: ReturnType<typeof createTransact>,
): Pick<Store, "namespace" | "createNamespace"> {
  const find = async (name: string): Promise<Namespace | null> => {
    const [row] = await query<{ id: number; name: string; region: number }>("find_namespace", [
      name,
    ]);
    return row ?? null;
  };
  return {
    namespace: find,
    async createNamespace(name, region = "default") {
      const known = await find(name);
      if (known) return known;
      await transact({}, ({ query: within }) => createRegion(within, region));
      await query("create_namespace", [name, region]);
      const made = await find(name);
      if (!made) throw new Error(`namespace ${name} could not be made`);
      return made;
    },
  };
}

/** With its partitions; two at once wait for each other. */
async function createRegion(query: Query, name: string): Promise<void> {
  const find = () => query<{ id: number }>("find_region", [name]);
  if ((await find()).length > 0) return;
  await query("lock_regions", []);
  if ((await find()).length > 0) return;
  const [made] = await query<{ id: number }>("create_region", [name, REGIONS_MAX]);
  if (!made) throw new RangeError(`there are ${REGIONS_MAX} regions`);
  await query("create_partitions", [made.id]);
}

export function namespaceReads(query: Query): Pick<Reads, "listNamespaces" | "listRegions"> {
  return {
    async listNamespaces({ names, after }, limit): Promise<readonly NamespaceRecord[]> {
      const rows = await query<{ id: number; name: string; region: string; created_at: Moment }>(
        "list_namespaces",
        [names, after, limit],
      );
      return rows.map(({ created_at: createdAt, ...row }) => ({ ...row, createdAt }));
    },
    listRegions: () =>
      query<RegionRecord & Record<string, unknown>>("list_regions", [PARTITION_CLASS]),
  };
}
