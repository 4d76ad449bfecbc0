// What a simulation reads: all rows of a namespace, where people would ask
// PostgreSQL for a page of a list.
import type { EscalationOfRun } from "../lists.ts";
import type { DeliveryRecord } from "../outbox.ts";
import type { RunRecord } from "../reads.ts";
import type { RefusalRecord } from "../triggers.ts";
import { recordOf } from "./outbox.ts";
import { runRecord } from "./reads.ts";
import type { Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

export interface StoredRows {
  /** In the order of their creation. */
  runs(namespaceId: number): Promise<readonly RunRecord[]>;
  /** Newest runs first; those of one run by number. */
  openEscalations(namespaceId: number): Promise<readonly EscalationOfRun[]>;
  /** The latest first. */
  refusals(namespaceId: number): Promise<readonly RefusalRecord[]>;
  /** Newest first. */
  deliveries(namespaceId: number): Promise<readonly DeliveryRecord[]>;
  /** Names of queues that have lanes, in order. */
  queues(namespaceId: number): Promise<readonly string[]>;
}

export function createStoredRows(tables: Tables, run: Transactions["run"]): StoredRows {
  return Object.freeze({
    runs: (namespaceId) =>
      run(() =>
        tables.run
          .where("namespace", namespaceId)
          // Ids are in the order of creation.
          .sort((a, b) => (a.runId < b.runId ? -1 : 1))
          .map((row) => runRecord(tables, row)),
      ),
    openEscalations: (namespaceId) =>
      run(() =>
        tables.escalation
          .where("namespace", namespaceId)
          .filter(({ closedAt }) => closedAt === null)
          .sort((a, b) => (a.runId === b.runId ? a.n - b.n : a.runId < b.runId ? 1 : -1))
          .map(({ namespaceId: _, partition: __, wakeAt: ___, ...row }) => {
            const { workflow, definitionId } = tables.run.expect(row.runId);
            return { ...row, workflow, definitionId };
          }),
      ),
    refusals: (namespaceId) =>
      run(() =>
        tables.refusal
          .where("namespace", namespaceId)
          .sort((a, b) => b.no - a.no)
          .map(({ namespaceId: _, no: __, ...record }) => record),
      ),
    deliveries: (namespaceId) =>
      run(() =>
        tables.delivery
          .where("namespace", namespaceId)
          .sort((a, b) => b.no - a.no)
          .map(recordOf),
      ),
    queues: (namespaceId) =>
      run(() => {
        const lanes = tables.lane.all().filter((lane) => lane.namespaceId === namespaceId);
        return [...new Set(lanes.map(({ queue }) => queue))].sort();
      }),
  } satisfies StoredRows);
}
