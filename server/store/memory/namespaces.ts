// Limits of namespaces, and runs whose retention is over, in memory, as the .sql statements of the
// same names do.
import type { EpochMs } from "../../core/model/attempt.ts";
import { payloadBytes } from "../../core/model/payload.ts";
import {
  type Erased,
  type ForgottenPage,
  type NamespaceSettings,
  type Namespaces,
  NO_LIMITS,
  type OldRuns,
  type UnusedDefinitions,
} from "../namespaces.ts";
import type { RunId } from "../store.ts";
import type { NamespaceRow } from "./catalogue-tables.ts";
import type { SharedChanges } from "./shared-changes.ts";
import { concurrencyKeyText, isOpen, type RunRow, runStateOf, type Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

export const NOTHING_SET: NamespaceSettings = Object.freeze({
  retentionMs: null,
  limits: NO_LIMITS,
  storesLogs: true,
});

export interface NamespaceWorld {
  readonly tables: Tables;
  /** The store is one shard. */
  readonly isOnly: boolean;
  readonly now: () => EpochMs;
  readonly namespaceRows: () => readonly NamespaceRow[];
  /** Replaces these of the settings. */
  readonly set: (namespaceId: number, settings: Partial<NamespaceSettings>) => void;
  readonly forgetDefinitions: (
    of: UnusedDefinitions,
    isUsed: (definitionId: number) => boolean,
  ) => number | null;
}

export function createNamespaces(
  world: NamespaceWorld,
  { run }: Pick<Transactions, "run">,
  shared: SharedChanges,
): Namespaces {
  const { tables, now, namespaceRows, set } = world;
  return Object.freeze({
    setRetention: (namespaceId, retentionMs) => shared.run(() => set(namespaceId, { retentionMs })),
    setLimits: (namespaceId, limits) => shared.run(() => set(namespaceId, { limits })),
    setLogs: (namespaceId, storesLogs) => shared.run(() => set(namespaceId, { storesLogs })),
    limited: () =>
      run(() =>
        namespaceRows()
          .filter(
            ({ limits, storesLogs }) =>
              !storesLogs || Object.values(limits).some((limit) => limit !== null),
          )
          .map(({ id: namespaceId, name, limits, storesLogs }) => {
            const open = limits.openRunsMax === null ? 0 : openRuns(tables, namespaceId);
            const openRunsNow = Math.min(open, limits.openRunsMax ?? 0);
            const storageBytes = runBytes(tables, namespaceId);
            return { namespaceId, name, limits, storesLogs, openRuns: openRunsNow, storageBytes };
          }),
      ),
    countStorage: async () => {},
    retained: async () =>
      namespaceRows().flatMap(({ id: namespaceId, retentionMs }) =>
        retentionMs === null ? [] : [{ namespaceId, retentionMs }],
      ),
    forgetRuns: (of) => run(() => forgetRuns(tables, now(), of)),
    eraseRun: (namespaceId, runId) => run(() => eraseRun(tables, namespaceId, runId)),
    forgetKey: (namespaceId, key) => run(() => forgetKey(tables, namespaceId, key)),
    async forgetDefinitions(of) {
      // Runs of other shards may use them.
      if (!world.isOnly) return null;
      return run(() => {
        const used = new Set(tables.run.all().map(({ definitionId }) => definitionId));
        return world.forgetDefinitions(of, (id) => used.has(id));
      });
    },
  } satisfies Namespaces);
}

function openRuns(tables: Tables, namespaceId: number): number {
  return tables.run.where("namespace", namespaceId).filter(({ runId }) => isOpen(tables, runId))
    .length;
}

/** What PostgreSQL estimates: of a run its input, and 100 bytes for the rest. */
function runBytes(tables: Tables, namespaceId: number): number {
  const runs = tables.run.where("namespace", namespaceId);
  return runs.reduce((sum, { input }) => sum + 100 + (input ? payloadBytes(input) : 0), 0);
}

function forgetRuns(
  tables: Tables,
  now: EpochMs,
  { namespaceId, keptMs, after, limit }: OldRuns,
): ForgottenPage {
  const page = tables.run
    .where("namespace", namespaceId)
    .filter(({ runId, createdAt }) => (after === null || runId > after) && createdAt < now - keptMs)
    .sort((a, b) => (a.runId < b.runId ? -1 : 1))
    .slice(0, limit);
  for (const run of page)
    if (endedBefore(tables, run, now - keptMs) && !isAskedFor(tables, run)) forgetRun(tables, run);
  return { after: page.at(-1)?.runId ?? after, more: page.length === limit };
}

function eraseRun(tables: Tables, namespaceId: number, runId: RunId): Erased {
  const run = tables.run.get(runId);
  if (run?.namespaceId !== namespaceId) return { kind: "unknown" };
  const open = openRelative(tables, run);
  if (open) return open;
  const key =
    run.key === null
      ? undefined
      : tables.idempotency.get(concurrencyKeyText({ namespaceId, key: run.key }));
  if (key?.runId === runId) tables.idempotency.removeRow(key);
  for (const row of tables.message.where("run", runId)) tables.message.removeRow(row);
  const { partition } = run;
  const isOf = (row: { readonly runId: RunId }) => row.runId === runId;
  for (const row of tables.triggerEnd.where("partition", partition).filter(isOf))
    tables.triggerEnd.removeRow(row);
  for (const row of tables.outbox.where("partition", partition).filter(isOf))
    tables.outbox.removeRow(row);
  for (const row of tables.delivery.where("partition", partition).filter(isOf))
    tables.delivery.removeRow(row);
  for (const row of tables.refusal.where("namespace", namespaceId))
    if (row.runId === runId) tables.refusal.removeRow(row);
  forgetRun(tables, run);
  return { kind: "erased", workflow: run.workflow, key: run.key };
}

function forgetKey(tables: Tables, namespaceId: number, key: string): void {
  const reserved = tables.idempotency.get(concurrencyKeyText({ namespaceId, key }));
  if (reserved && !tables.run.get(reserved.runId)) tables.idempotency.removeRow(reserved);
}

/** The run itself, its parent, or a child of it, if it is open; null: none of them is. */
function openRelative(
  tables: Tables,
  { runId, namespaceId, parent }: RunRow,
): Extract<Erased, { kind: "open" }> | null {
  const children = tables.run
    .where("namespace", namespaceId)
    .filter((run) => run.parent?.runId === runId);
  const relatives = [
    { relative: "run", runId } as const,
    ...(parent === null ? [] : [{ relative: "parent", runId: parent.runId } as const]),
    ...children.map((child) => ({ relative: "child", runId: child.runId }) as const),
  ];
  const open = relatives.find((one) => isOpen(tables, one.runId));
  if (!open) return null;
  return { kind: "open", ...open, state: runStateOf(tables, open.runId).run.state.kind };
}

function endedBefore(tables: Tables, { runId }: RunRow, at: EpochMs): boolean {
  const { endedAt } = runStateOf(tables, runId);
  return endedAt !== null && endedAt <= at;
}

function isAskedFor(tables: Tables, { runId, partition, parent }: RunRow): boolean {
  return (
    tables.escalation.where("run", runId).some(({ closedAt }) => closedAt === null) ||
    (parent !== null && isOpen(tables, parent.runId)) ||
    tables.triggerEnd.where("partition", partition).some((row) => row.runId === runId) ||
    tables.outbox.where("partition", partition).some((row) => row.runId === runId) ||
    tables.delivery
      .where("partition", partition)
      .some((row) => row.runId === runId && row.nextTryAt !== null)
  );
}

function forgetRun(tables: Tables, run: RunRow): void {
  const { runId } = run;
  for (const row of tables.page.where("run", runId)) tables.page.removeRow(row);
  for (const row of tables.payload.where("run", runId)) tables.payload.removeRow(row);
  for (const row of tables.attemptLog.where("run", runId)) tables.attemptLog.removeRow(row);
  for (const row of tables.intervention.where("run", runId)) tables.intervention.removeRow(row);
  for (const row of tables.escalation.where("run", runId)) tables.escalation.removeRow(row);
  for (const row of tables.signal.where("run", runId)) tables.signal.removeRow(row);
  for (const row of tables.decision.where("run", runId)) tables.decision.removeRow(row);
  for (const row of tables.override.where("run", runId)) tables.override.removeRow(row);
  for (const row of tables.reusedSteps.where("run", runId)) tables.reusedSteps.removeRow(row);
  const behind = tables.triggered.get(runId);
  if (behind) tables.triggered.removeRow(behind);
  tables.run.removeRow(run);
}
