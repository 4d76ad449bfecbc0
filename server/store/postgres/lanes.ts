// Ids of lanes on PostgreSQL, and which of them a node polls.
import type { LaneKey, Store } from "../store.ts";
import { columns } from "./columns.ts";
import { INSERTS_MAX } from "./drawn-ids.ts";
import type { Query } from "./transaction.ts";

export function lanesOf(query: Query): Pick<Store, "lanes" | "lanesOfQueues" | "markPolled"> {
  return {
    lanes: (keys) => internLanes(query, keys),
    async lanesOfQueues(namespaceId, queues) {
      const rows = await query<{ id: number; queue: string; task: string }>("lanes_of_queues", {
        namespace_id: namespaceId,
        queues,
      });
      return rows.map((row) => ({ lane: row.id, queue: row.queue, task: row.task }));
    },
    async markPolled(node, lanes) {
      if (lanes.length > 0) await query("mark_polled", { node, lanes });
    },
  };
}

async function internLanes(query: Query, keys: readonly LaneKey[]): Promise<readonly number[]> {
  const values = columns(keys, {
    namespace_id: (key) => key.namespaceId,
    queue: (key) => key.queue,
    task: (key) => key.task,
  });
  const find = () => query<{ id: number }>("find_lanes", values);
  const known = await find();
  if (known.length === keys.length) return known.map((row) => row.id);
  for (let tries = 0; tries < INSERTS_MAX; tries++) {
    await query("intern_lanes", values);
    const made = await find();
    if (made.length === keys.length) return made.map((row) => row.id);
  }
  throw new Error(`${keys.length} lanes were made and are not all there`);
}
