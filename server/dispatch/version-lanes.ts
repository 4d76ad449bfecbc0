// The lanes for agents of one version, beside those for all agents. They are kept in memory and
// refreshed once a second. A claim does not use them, since it receives lanes. The statement that
// makes a row ready puts it into the right lane.
import type { Pinned, VersionLane } from "../store/pins.ts";

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
