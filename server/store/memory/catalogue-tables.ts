// The tables of the catalogue: regions, namespaces, definitions, workflows, lanes.

import type { Definition } from "../../core/definition/definition.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import type { WorkflowRecord } from "../lists.ts";
import type { NamespaceSettings } from "../namespaces.ts";
import type { QueueRef } from "../queues.ts";
import type { LaneKey, Namespace } from "../store.ts";
import { createTable, type NumberedTable, numbered, type Table } from "./table.ts";
import type { Journal } from "./transactions.ts";

interface RegionRow {
  readonly id: number;
  readonly name: string;
}

export interface NamespaceRow extends Namespace, NamespaceSettings {}

interface DefinitionRow {
  readonly id: number;
  readonly namespaceId: number;
  /** The text of the definition: equal for equal definitions. */
  readonly content: string;
  readonly definition: Definition;
  readonly unusedSince: EpochMs | null;
}

interface WorkflowRow extends Pick<WorkflowRecord, "name" | "defaultVersion"> {
  readonly namespaceId: number;
  /** Definitions by version; the first version is 1. */
  readonly definitions: readonly number[];
  readonly createdAts: readonly EpochMs[];
}

export interface LaneRow extends LaneKey {
  readonly lane: number;
  /** null: for all agents. */
  readonly agentVersion: string | null;
  /** The lane of this task for all agents. */
  readonly base: number;
}

/** A version of agents that has lanes of its own in a queue. */
interface VersionClassRow extends QueueRef {
  readonly agentVersion: string;
}

/**
 * The numbers of these tables are ids. No id is given out twice, not even after a fail-over that
 * has lost its row: PostgreSQL draws ids at random.
 */
export interface CatalogueTables {
  readonly region: Table<RegionRow, never>;
  readonly namespace: NumberedTable<NamespaceRow, "id">;
  readonly definition: NumberedTable<DefinitionRow, "content" | "workflow">;
  readonly workflow: Table<WorkflowRow, never>;
  readonly lane: NumberedTable<LaneRow, "key" | "queue">;
  readonly versionClass: Table<VersionClassRow, "queue">;
}

export function contentKey({
  namespaceId,
  content,
}: Pick<DefinitionRow, "namespaceId" | "content">): string {
  return `${namespaceId} ${content}`;
}

export function workflowRowKey(namespaceId: number, name: string): string {
  return `${namespaceId}/${name}`;
}

export function laneKey({ namespaceId, queue, task }: LaneKey): string {
  return JSON.stringify([namespaceId, queue, task]);
}

export function classKey({ namespaceId, queue }: QueueRef): string {
  return JSON.stringify([namespaceId, queue]);
}

export function createTablesOfCatalogue(journal: Journal): CatalogueTables {
  return {
    region: createTable<RegionRow, never>(journal, {
      name: "region",
      key: (row) => row.name,
      indexes: {},
    }),
    namespace: numbered(
      createTable<NamespaceRow, "id">(journal, {
        name: "namespace",
        key: (row) => row.name,
        indexes: { id: (row) => row.id },
      }),
    ),
    definition: numbered(
      createTable<DefinitionRow, "content" | "workflow">(journal, {
        name: "definition",
        key: (row) => String(row.id),
        indexes: {
          content: contentKey,
          workflow: (row) => workflowRowKey(row.namespaceId, row.definition.workflow),
        },
      }),
    ),
    workflow: createTable<WorkflowRow, never>(journal, {
      name: "workflow",
      key: (row) => workflowRowKey(row.namespaceId, row.name),
      indexes: {},
    }),
    lane: numbered(
      createTable<LaneRow, "key" | "queue">(journal, {
        name: "lane",
        key: (row) => String(row.lane),
        indexes: { key: laneKey, queue: classKey },
      }),
    ),
    versionClass: createTable<VersionClassRow, "queue">(journal, {
      name: "version_class",
      key: (row) => JSON.stringify([row.namespaceId, row.queue, row.agentVersion]),
      indexes: { queue: classKey },
    }),
  };
}
