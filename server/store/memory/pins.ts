// Pins of agent versions. Transactions are serial here, so a pin waits for no other.
import type { Pinned, PinRef, Pins, VersionLane } from "../pins.ts";
import type { WorkflowRef } from "../queues.ts";
import type { RunHead } from "../run-head.ts";
import type { LaneRow } from "./catalogue-tables.ts";
import { inheritOverrides } from "./circuits.ts";
import { type PinRow, workflowKey } from "./queue-tables.ts";
import type { QueueWorld } from "./queues.ts";
import { byAge } from "./ready-rows.ts";
import type { SharedChanges } from "./shared-changes.ts";
import type { Tables } from "./tables.ts";

export interface PinWorld extends QueueWorld {
  /**
   * Creates the lanes of a queue for agents of one version, also those of tasks that come later.
   * Returns the new ones.
   */
  readonly makeClass: (
    of: { readonly namespaceId: number; readonly queue: string },
    agentVersion: string,
  ) => readonly LaneRow[];
  /** The definition of a version of a workflow; null: there is no such version. */
  readonly definitionOf: (of: WorkflowRef, version: number) => number | null;
}

export function createPins(world: PinWorld, shared: SharedChanges): Pins {
  const { tables, now } = world;
  return Object.freeze({
    async pin(of: PinRef, agentVersion: string) {
      let made: readonly LaneRow[] = [];
      const { changed, followed } = await shared.runEverywhere(
        () => {
          const definitionId = of.version === 0 ? null : world.definitionOf(of, of.version);
          if (of.version === 0 ? !world.isWorkflow(of) : definitionId === null) return false;
          made = world.makeClass(of, agentVersion);
          const { namespaceId, workflow, queue, version } = of;
          const row = { namespaceId, workflow, queue, version, definitionId, agentVersion };
          const known = tables.versionPin.all().find((one) => isSame(one, of));
          if (known?.agentVersion !== agentVersion) tables.versionPin.put({ ...row, at: now() });
          return true;
        },
        (rows, transaction) => {
          // The first shard has the circuits.
          if (rows.number === 0)
            for (const { lane, base } of made)
              inheritOverrides({ tables, now, lanes: world.lanes }, base, lane);
          return placeReady(world, rows.tables, of, transaction);
        },
      );
      return changed ? [...new Set(followed.flat())] : null;
    },
    async unpin(of: PinRef) {
      const { followed } = await shared.runEverywhere(
        () => {
          const known = tables.versionPin.all().find((one) => isSame(one, of));
          if (known) tables.versionPin.removeRow(known);
        },
        (rows, transaction) => placeReady(world, rows.tables, of, transaction),
      );
      return [...new Set(followed.flat())];
    },
  } satisfies Pins);
}

function isSame(row: PinRow, of: PinRef): boolean {
  const { namespaceId, workflow, queue, version } = row;
  return (
    namespaceId === of.namespaceId &&
    workflow === of.workflow &&
    queue === of.queue &&
    version === of.version
  );
}

/** The lane of a ready row of this run; `base`: the lane of the task for all agents. */
export function pinnedLane(
  { tables, lanes }: Pick<QueueWorld, "tables" | "lanes">,
  base: number,
  of: WorkflowRef & Pick<RunHead, "definitionId">,
): number {
  const known = tables.lane.get(String(base));
  const pins = tables.versionPin
    .where("workflow", workflowKey(of))
    .filter(({ queue }) => queue === known?.queue);
  const pin =
    pins.find(({ definitionId }) => definitionId === of.definitionId) ??
    pins.find(({ definitionId }) => definitionId === null);
  if (!pin) return base;
  const own = lanes().find((one) => one.base === base && one.agentVersion === pin.agentVersion);
  return own?.lane ?? base;
}

/** Moves the ready rows of a workflow to the lanes that its pins require. */
function placeReady(
  { lanes }: Pick<QueueWorld, "lanes">,
  tables: Tables,
  of: WorkflowRef,
  transaction: number,
): readonly number[] {
  const moves = tables.ready
    .all()
    .sort(byAge)
    .flatMap((row) => {
      const run = tables.run.expect(row.runId);
      if (run.namespaceId !== of.namespaceId || run.workflow !== of.workflow) return [];
      const base = tables.lane.get(String(row.lane))?.base;
      if (base === undefined) return [];
      const lane = pinnedLane({ tables, lanes }, base, run);
      return lane === row.lane ? [] : [{ row, lane }];
    });
  // Ordered as if they had become ready now, in their order.
  for (const [number, { row, lane }] of moves.entries())
    tables.ready.put({ ...row, lane, transaction, number });
  return [...new Set(moves.flatMap(({ row, lane }) => (row.paused ? [] : [lane])))];
}

export function pinnedOf({ tables, lanes }: Pick<QueueWorld, "tables" | "lanes">): Pinned {
  return {
    lanes: lanes().flatMap(({ agentVersion, ...lane }): readonly VersionLane[] =>
      agentVersion === null ? [] : [{ ...lane, agentVersion }],
    ),
    pins: tables.versionPin
      .all()
      .map(({ namespaceId, workflow, queue, definitionId, agentVersion }) => {
        return { namespaceId, workflow, queue, definitionId, agentVersion };
      }),
  };
}
