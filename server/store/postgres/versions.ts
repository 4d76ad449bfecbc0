// Versions of workflows, with the number of open runs that still need each.
import { OPEN_RUNS_MAX, type VersionRecord } from "../lists.ts";
import type { Query } from "./transaction.ts";

export async function listVersions(
  query: Query,
  namespaceId: number,
  names: readonly string[],
  limit: number,
): Promise<readonly VersionRecord[]> {
  const rows = await query<{
    name: string;
    version: number;
    created_at: number;
    open_runs: number;
  }>("list_versions", { namespace_id: namespaceId, names, limit, open_runs_max: OPEN_RUNS_MAX });
  return rows.map(({ name, version, ...row }) => {
    return { name, version, createdAt: row.created_at, openRuns: row.open_runs };
  });
}
