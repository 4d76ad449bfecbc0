// The lanes that a poll asks for: (namespace, queue, task), as ids. An agent that names no task
// takes any task of its queues, so its lanes are those known so far and grow with new ones.
import type { Store } from "../store/store.ts";
import type { DueLane } from "./matching.ts";

const LANES_MAX = 50_000;

export interface Lanes {
  of(
    namespaceId: number,
    queues: readonly { readonly name: string; readonly weight: number }[],
    tasks: readonly string[],
  ): Promise<readonly DueLane[]>;
}

export function createLanes(store: Store): Lanes {
  const known = new Map<string, number>();

  return Object.freeze({
    async of(
      namespaceId: number,
      queues: readonly { readonly name: string; readonly weight: number }[],
      tasks: readonly string[],
    ): Promise<readonly DueLane[]> {
      const weights = new Map(queues.map(({ name, weight }) => [name, weight]));
      if (tasks.length === 0) {
        const lanes = await store.lanesOfQueues(namespaceId, [...weights.keys()]);
        return lanes.map(({ lane, queue }) => ({ lane, weight: weights.get(queue) ?? 1 }));
      }
      const keys = [...weights].flatMap(([queue, weight]) =>
        [...new Set(tasks)].map((task) => ({ namespaceId, queue, task, weight })),
      );
      const at = (key: (typeof keys)[number]): string => `${namespaceId}/${key.queue}/${key.task}`;
      const unknown = keys.filter((key) => !known.has(at(key)));
      if (unknown.length > 0) {
        if (known.size > LANES_MAX) known.clear();
        const ids = await store.lanes(unknown);
        for (const [place, key] of unknown.entries()) known.set(at(key), ids[place] ?? -1);
      }
      return keys.map((key) => ({ lane: known.get(at(key)) ?? -1, weight: key.weight }));
    },
  });
}
