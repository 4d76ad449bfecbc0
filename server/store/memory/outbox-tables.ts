// The tables of hooks, of the outbox, and of deliveries.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { DeliveryRecord, HookRecord, OutboxKind } from "../outbox.ts";
import type { RunId } from "../store.ts";
import { createTable, type NumberedTable, numbered, type Table } from "./table.ts";
import type { Journal } from "./transactions.ts";

interface HookRow extends HookRecord {
  readonly namespaceId: number;
  readonly secret: string;
}

/** An event for a hook, until a delivery takes it up. */
export interface OutboxRow {
  readonly id: number;
  readonly partition: number;
  readonly namespaceId: number;
  readonly kind: OutboxKind;
  readonly runId: RunId;
  readonly n: number;
  readonly hook: string;
  readonly url: string | null;
  readonly cause: string;
  /** null: it is not about an approval. */
  readonly deadlineAt: EpochMs | null;
}

export interface DeliveryRow extends DeliveryRecord {
  /** Number in the order in which deliveries were made. */
  readonly no: number;
  readonly partition: number;
  readonly namespaceId: number;
  readonly cause: string;
  readonly deadlineAt: EpochMs | null;
}

/** Of all shards. */
export interface HookTables {
  readonly hook: Table<HookRow, "namespace">;
}

export interface OutboxTables {
  readonly outbox: NumberedTable<OutboxRow, "partition">;
  readonly delivery: NumberedTable<DeliveryRow, "partition" | "namespace" | "group">;
}

/** Events of one hook, kind and cause are reported together. */
export function groupOf({ namespaceId, hook, kind, cause }: OutboxRow | DeliveryRow): string {
  return JSON.stringify([namespaceId, hook, kind, cause]);
}

export function createTablesOfHooks(journal: Journal): HookTables {
  return {
    hook: createTable<HookRow, "namespace">(journal, {
      name: "hook",
      key: (row) => `${row.namespaceId}/${row.name}`,
      indexes: { namespace: (row) => row.namespaceId },
    }),
  };
}

export function createTablesOfOutbox(journal: Journal): OutboxTables {
  return {
    outbox: numbered(
      createTable<OutboxRow, "partition">(journal, {
        name: "outbox",
        key: (row) => String(row.id),
        indexes: { partition: (row) => row.partition },
      }),
    ),
    delivery: numbered(
      createTable<DeliveryRow, "partition" | "namespace" | "group">(journal, {
        name: "delivery",
        key: (row) => row.id,
        indexes: {
          partition: (row) => row.partition,
          namespace: (row) => row.namespaceId,
          group: groupOf,
        },
      }),
    ),
  };
}
