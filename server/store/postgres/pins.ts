// Pins of agent versions. First a class of lanes is created for the version, then the pin is
// written. Then the server waits for transactions that make rows ready without knowing of it, and
// moves the rows that are ready by then. If the server dies in between, a note of the move is left,
// and housekeeping finishes the move.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { KnownPin, Pin, Pinned, PinRef, Pins, VersionLane } from "../pins.ts";
import type { Audited } from "./audit.ts";
import { drawVersions } from "./circuits.ts";
import {
  ifChanged,
  isWorkflow,
  lanesMade,
  type Mover,
  moveNoted,
  type NotedRow,
} from "./ready-moves.ts";
import type { Query } from "./transaction.ts";

export function createPins(mover: Mover, audited: Audited): Pins {
  const { query } = mover;
  return Object.freeze({
    async pin(of, agentVersion, audit = null) {
      const definition = await definitionOf(query, of);
      if (definition === null) return null;
      const { namespaceId, queue, workflow, version } = of;
      const made = await classOf(mover, of, agentVersion);
      const named = {
        namespace_id: namespaceId,
        queue,
        workflow,
        version,
        definition_id: definition,
        class: made,
      };
      return moveNoted(mover, of, await audited<NotedRow>(audit, "pin_version", named, ifChanged));
    },
    async unpin(of, audit = null) {
      const { namespaceId, queue, workflow, version } = of;
      const named = { namespace_id: namespaceId, queue, workflow, version };
      return moveNoted(
        mover,
        of,
        await audited<NotedRow>(audit, "unpin_version", named, ifChanged),
      );
    },
  } satisfies Pins);
}

export async function listPins(
  query: Query,
  namespaceId: number,
  queue: string,
): Promise<readonly Pin[]> {
  const rows = await query<PinRow>("list_pins", { namespace_id: namespaceId, queue });
  return rows.map((row): Pin => {
    const { workflow, version, agent_version: agentVersion, pinned_at: at } = row;
    return { namespaceId, queue, workflow, version, agentVersion, at };
  });
}

interface PinRow {
  workflow: string;
  version: number;
  agent_version: string;
  pinned_at: EpochMs;
}

/** 0: every version; null: there is no such workflow or version. */
async function definitionOf(query: Query, of: PinRef): Promise<number | null> {
  const { namespaceId, workflow, version } = of;
  if (version === 0) {
    return (await isWorkflow(query, of)) ? 0 : null;
  }
  const named = { namespace_id: namespaceId, name: workflow, version };
  const [row] = await query<{ definition_id: number }>("find_version", named);
  return row?.definition_id ?? null;
}

/**
 * The class of a version of agents, with a lane for each task of the queue. Waits for transactions
 * that create lanes without knowing of the class.
 */
async function classOf(
  mover: Mover,
  { namespaceId, queue }: PinRef,
  agentVersion: string,
): Promise<number> {
  const { query } = mover;
  const asked = { namespace_id: namespaceId, queue, agent_version: agentVersion };
  const find = () => query<{ class: number }>("find_class", asked);
  let [known] = await find();
  while (!known) {
    await query("make_class", asked);
    [known] = await find();
  }
  await lanesMade(mover);
  // Repeats until there is nothing to create: an id that is drawn at random may be taken.
  for (;;) {
    const made = await query<{ id: number }>("make_class_lanes", asked);
    if (made.length === 0) return known.class;
    const lanes = made.map(({ id }) => id);
    const { changedAt, versions } = await drawVersions(query, 1);
    const [version] = versions;
    await query("inherit_said_circuits", { lanes, version, changed_at: changedAt });
    await query("begin_outages", { lanes, opened_at: changedAt });
  }
}

interface KnownPinRow {
  namespace_id: number;
  workflow: string;
  queue: string;
  definition_id: number;
  agent_version: string;
}

interface VersionLaneRow {
  lane: number;
  base: number;
  namespace_id: number;
  queue: string;
  task: string;
  agent_version: string;
}

export async function readPinned(query: Query): Promise<Pinned> {
  const lanes = await query<VersionLaneRow>("all_version_lanes", {});
  const pins = await query<KnownPinRow>("all_pins", {});
  return {
    lanes: lanes.map((row): VersionLane => {
      const { namespace_id: namespaceId, agent_version: agentVersion, ...lane } = row;
      return { ...lane, namespaceId, agentVersion };
    }),
    pins: pins.map((row): KnownPin => {
      const { workflow, queue, agent_version: agentVersion } = row;
      const definitionId = row.definition_id === 0 ? null : row.definition_id;
      return { namespaceId: row.namespace_id, workflow, queue, definitionId, agentVersion };
    }),
  };
}
