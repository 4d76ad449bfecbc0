// The tables of triggers, of the ended runs that they wait for, and of their refusals.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { RunId } from "../store.ts";
import type { KnownTrigger, Refused, TriggeredBy } from "../triggers.ts";
import { createTable, type NumberedTable, numbered, type Table } from "./table.ts";
import type { Journal } from "./transactions.ts";

interface TriggerRow extends KnownTrigger {
  readonly namespaceId: number;
}

export interface TriggerEndRow {
  readonly id: string;
  readonly partition: number;
  readonly namespaceId: number;
  readonly trigger: string;
  readonly runId: RunId;
  readonly nextAt: EpochMs;
}

export interface TriggeredRow extends TriggeredBy {
  readonly runId: RunId;
}

interface RefusalRow extends Refused {
  readonly firstAt: EpochMs;
  readonly lastAt: EpochMs;
  /** Number in the order in which the refusals last happened. */
  readonly no: number;
}

/** Of all shards. */
export interface TriggerTables {
  readonly trigger: Table<TriggerRow, "namespace">;
}

/** Of one shard. */
export interface TriggerEndTables {
  readonly triggerEnd: NumberedTable<TriggerEndRow, "partition">;
  readonly triggered: Table<TriggeredRow, never>;
  readonly refusal: NumberedTable<RefusalRow, "namespace" | "trigger">;
}

export function triggerKey(namespaceId: number, name: string): string {
  return `${namespaceId}/${name}`;
}

export function refusalKey({ namespaceId, trigger, reason, message }: Refused): string {
  return `${triggerKey(namespaceId, trigger)}/${reason} ${message}`;
}

export function createTablesOfTriggers(journal: Journal): TriggerTables {
  return {
    trigger: createTable<TriggerRow, "namespace">(journal, {
      name: "trigger",
      key: (row) => triggerKey(row.namespaceId, row.definition.name),
      indexes: { namespace: (row) => row.namespaceId },
    }),
  };
}

export function createTablesOfTriggerEnds(journal: Journal): TriggerEndTables {
  return {
    triggerEnd: numbered(
      createTable<TriggerEndRow, "partition">(journal, {
        name: "trigger_end",
        key: (row) => row.id,
        indexes: { partition: (row) => row.partition },
      }),
    ),
    triggered: createTable<TriggeredRow, never>(journal, {
      name: "triggered",
      key: (row) => row.runId,
      indexes: {},
    }),
    refusal: numbered(
      createTable<RefusalRow, "namespace" | "trigger">(journal, {
        name: "trigger_refusal",
        key: refusalKey,
        indexes: {
          namespace: (row) => row.namespaceId,
          trigger: (row) => triggerKey(row.namespaceId, row.trigger),
        },
      }),
    ),
  };
}
