// The lanes that a poll asks for, as ids: those of (namespace, queue, task) for all agents, and
// those of the same tasks for agents of its version. An agent that names no task takes any task of
// its queues: its lanes are those that exist, and new ones are added.

import type { Pinned, VersionLane } from "../store/pins.ts";
import type { EngineStore } from "../store/store.ts";
import type { WeightedLane } from "./matching.ts";
import type { Waiter, Waiters } from "./waiters.ts";

const LANES_MAX = 50_000;

/** What a poll asks for, and the version of its agent. */
export interface Asks {
  readonly namespaceId: number;
  readonly queues: readonly { readonly name: string; readonly weight: number }[];
  /** Empty: every task of the queues. */
  readonly tasks: readonly string[];
  readonly agentVersion: string;
}

export interface Lanes {
  of(asks: Asks): Promise<readonly WeightedLane[]>;
  /** Whether lanes may be added later: new ones of its queues, or of its agent's version. */
  mayGrow(asks: Asks): boolean;
}

export interface KnownLanes extends Lanes {
  /** The database has another incarnation: lanes may be gone. */
  forget(): void;
}

export function createLanes(
  store: Pick<EngineStore, "lanes" | "lanesOfQueues">,
  versions: Pick<VersionLanes, "of">,
): KnownLanes {
  /** Each lane is requested once, even if many agents poll at the same time. */
  const known = new Map<string, Promise<number>>();

  async function forAll({ namespaceId, tasks }: Asks, weights: ReadonlyMap<string, number>) {
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
      const asked = store.lanes(unknown);
      for (const [place, key] of unknown.entries())
        known.set(
          at(key),
          asked.then((ids) => ids[place] ?? -1),
        );
      // The callers that wait for this request get its error; the next call requests the lanes
      // again.
      asked.catch(() => {
        for (const key of unknown) known.delete(at(key));
      });
    }
    const lanes = keys.map((key) => known.get(at(key)));
    const ids = await Promise.all(lanes);
    return keys.map(({ weight }, place) => ({ lane: ids[place] ?? -1, weight }));
  }

  return Object.freeze({
    forget: () => known.clear(),
    async of(asks: Asks): Promise<readonly WeightedLane[]> {
      const { namespaceId, tasks, agentVersion } = asks;
      const weights = new Map(asks.queues.map(({ name, weight }) => [name, weight]));
      const lanes = await forAll(asks, weights);
      const own = [...weights].flatMap(([queue, weight]) =>
        versions
          .of(namespaceId, queue, agentVersion)
          .filter(({ task }) => tasks.length === 0 || tasks.includes(task))
          .map(({ lane }) => ({ lane, weight })),
      );
      return own.length === 0 ? lanes : [...lanes, ...own];
    },
    mayGrow: ({ namespaceId, queues, tasks, agentVersion }: Asks) =>
      tasks.length === 0 ||
      queues.some(({ name }) => versions.of(namespaceId, name, agentVersion).length > 0),
  });
}

/** Gives parked polls the lanes that were added since they parked, and returns these lanes. */
export async function refreshLanes(
  waiters: Waiters,
  lanes: Lanes,
  of: readonly Waiter[],
): Promise<readonly number[]> {
  const added = new Set<number>();
  const groups = Map.groupBy(of, ({ asks }) => JSON.stringify(asks));
  for (const group of groups.values()) {
    const [first] = group;
    if (!first) continue;
    const known = await lanes.of(first.asks);
    for (const waiter of group) {
      const before = new Set(waiter.lanes.map(({ lane }) => lane));
      for (const { lane } of known) if (!before.has(lane)) added.add(lane);
      waiters.setLanes(waiter, known);
    }
  }
  return [...added];
}

export interface VersionLanes {
  /** Returns the lanes that are new. */
  learn(pinned: Pinned): readonly number[];
  /** The lanes for a version in a queue. */
  of(namespaceId: number, queue: string, agentVersion: string): readonly VersionLane[];
  /**
   * The lane in which a task of the definition waits that is sent to `lane`, a lane for all agents:
   * that of its pin, or `lane` itself.
   */
  pinnedTo(lane: number, of: { readonly workflow: string; readonly definitionId: number }): number;
}

interface Known {
  readonly pinned: Pinned;
  readonly byVersion: ReadonlyMap<string, readonly VersionLane[]>;
  readonly byBase: ReadonlyMap<number, readonly VersionLane[]>;
}

/**
 * The lanes for agents of one version, beside those for all agents. They are kept in memory and
 * refreshed once a second. A claim does not use them, since it receives lanes. The statement that
 * makes a row ready puts it into the right lane.
 */
export function createVersionLanes(): VersionLanes {
  let known: Known | null = null;
  return Object.freeze({
    learn(pinned: Pinned): readonly number[] {
      if (known?.pinned === pinned) return [];
      const before = new Set(known?.pinned.lanes.map(({ lane }) => lane));
      known = {
        pinned,
        byVersion: Map.groupBy(pinned.lanes, keyOf),
        byBase: Map.groupBy(pinned.lanes, ({ base }) => base),
      };
      return pinned.lanes.flatMap(({ lane }) => (before.has(lane) ? [] : [lane]));
    },
    of(namespaceId: number, queue: string, agentVersion: string): readonly VersionLane[] {
      if (!known || known.byVersion.size === 0) return [];
      return known.byVersion.get(keyOf({ namespaceId, queue, agentVersion })) ?? [];
    },
    pinnedTo(
      lane: number,
      { workflow, definitionId }: { readonly workflow: string; readonly definitionId: number },
    ): number {
      const classes = known?.byBase.get(lane);
      const [any] = classes ?? [];
      if (!known || !classes || !any) return lane;
      const pins = known.pinned.pins.filter(
        (pin) =>
          pin.namespaceId === any.namespaceId &&
          pin.queue === any.queue &&
          pin.workflow === workflow,
      );
      const pin =
        pins.find((one) => one.definitionId === definitionId) ??
        pins.find((one) => one.definitionId === null);
      return classes.find(({ agentVersion }) => agentVersion === pin?.agentVersion)?.lane ?? lane;
    },
  } satisfies VersionLanes);
}

function keyOf({
  namespaceId,
  queue,
  agentVersion,
}: Pick<VersionLane, "namespaceId" | "queue" | "agentVersion">): string {
  return JSON.stringify([namespaceId, queue, agentVersion]);
}
