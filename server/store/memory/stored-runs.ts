// Rows as they stand, as the statements of store/postgres/sql/integrity.sql give them. Lanes are
// never gone here.
import type { Moment } from "../../core/attempt.ts";
import { runWakeAt } from "../../core/evolve.ts";
import type {
  ChildWait,
  StoredAttempt,
  StoredPlace,
  StoredStep,
  Unopened,
} from "../../core/stored.ts";
import { childRunId } from "../child-run.ts";
import { KEPT_OPEN } from "../escalation-changes.ts";
import type { RunId, RunRef } from "../run-head.ts";
import type { StoredHead, StrayRows, SweepTx, SweptRows } from "../stored-runs.ts";
import { messageKey, type RunRow, type StepRow, stepKey, type Tables } from "./tables.ts";

export function sweptRows(
  tables: Tables,
  now: () => Moment,
  run: <T>(work: () => T) => Promise<T>,
): SweptRows {
  return {
    openRuns: (partitions, after, limit) =>
      run(() =>
        tables.runOpen
          .all()
          .filter((row) => partitions.includes(row.partition) && isAfter(row, after))
          .sort((a, b) => a.partition - b.partition || (a.runId < b.runId ? -1 : 1))
          .slice(0, limit)
          .map(({ runId, partition, run: { version } }) => {
            const rows = tables.step.where("run", runId).length;
            return { runId, partition, version, rows };
          }),
      ),
    storedRuns: (runs) => run(() => storedRuns(tables, now(), runs)),
    unopenedRuns: () => run(() => ({ runs: unopenedRuns(tables), last: null })),
    strayRuns: () => run(() => ({ runs: strayRuns(tables), last: null })),
  };
}

function isAfter({ partition, runId }: RunRef, after: RunRef | null): boolean {
  if (!after) return true;
  return partition > after.partition || (partition === after.partition && runId > after.runId);
}

function unopenedRuns(tables: Tables): readonly RunRef[] {
  return tables.run
    .all()
    .filter(({ runId, ended }) => !ended && !tables.runOpen.get(runId))
    .map(({ runId, partition }) => ({ runId, partition }));
}

function strayRuns(tables: Tables): readonly RunRef[] {
  const held = [tables.ready, tables.lease, tables.due].flatMap((table): readonly RunRef[] =>
    table.all(),
  );
  const orphans = tables.message.all().filter(({ runId }) => !tables.run.get(runId));
  const slots = tables.slot.all().flatMap(({ runId }) => tables.run.get(runId) ?? []);
  const asked = tables.escalation
    .all()
    .filter((one) => one.closedAt === null && (one.reason !== KEPT_OPEN || one.wakeAt === null));
  const refs = [...held, ...orphans, ...slots, ...asked].map(
    ({ runId, partition }) => [runId, { runId, partition }] as const,
  );
  return [...new Map(refs).values()].filter(({ runId }) => !tables.runOpen.get(runId));
}

function storedRuns(
  tables: Tables,
  now: Moment,
  runs: readonly RunRef[],
): ReadonlyMap<RunId, StoredHead> {
  return new Map(runs.map((ref) => [ref.runId, storedRun(tables, now, ref)]));
}

function storedRun(tables: Tables, now: Moment, { runId, partition }: RunRef): StoredHead {
  const row = tables.run.get(runId);
  const open = tables.runOpen.get(runId);
  const slot = tables.slot.get(runId);
  const places = new Set([
    ...tables.step.where("run", runId).map(({ no }) => no),
    ...[tables.ready, tables.lease, tables.due].flatMap((table) =>
      table.where("partition", partition).flatMap((one) => (one.runId === runId ? [one.step] : [])),
    ),
  ]);
  const { state, ...counters } = open?.run ?? { state: null };
  const messages = tables.message.where("run", runId);
  return {
    ...{ runId, partition, namespaceId: row?.namespaceId ?? 0, now },
    ...{ definitionId: row?.definitionId ?? 0, priority: row?.priority ?? 5 },
    slotOf: slot ? { namespaceId: slot.namespaceId, key: slot.key } : null,
    stored: {
      row: row ? (row.ended ? "ended" : "open") : "missing",
      open: open
        ? {
            run: counters as Omit<typeof open.run, "state">,
            kind: open.run.state.kind,
            state,
            wakeAt: open.wakeAt,
          }
        : null,
      unopened: row && !row.ended && !open ? unopenedOf(tables, row) : null,
      places: [...places].sort((a, b) => a - b).map((no) => placeOf(tables, runId, no)),
      escalations: tables.escalation
        .where("run", runId)
        .filter(({ closedAt }) => closedAt === null)
        .sort((a, b) => a.n - b.n)
        .map(({ n, step, reason, wakeAt, deadlineAt }) => {
          return { n, step, reason, wakeAt, deadlineAt, closedBy: null, claimed: false };
        }),
      attempts: attemptsOf(tables, runId),
      slot: slot ? (slot.holds ? "holds" : "waits") : null,
      slotTold: messages.some(({ message: { kind } }) => kind === "slot" || kind === "no-slot"),
      untold: [...places].flatMap((no) => untoldOf(tables, runId, no)),
      messages: messages.length,
    },
  };
}

function unopenedOf(tables: Tables, { runId, createdAt, concurrency, childOf }: RunRow): Unopened {
  const escalations = tables.escalation.where("run", runId).length;
  return { createdAt, keyed: concurrency !== null, parent: childOf, escalations };
}

/** The step, if the child that it waits for will tell it nothing any more. */
function untoldOf(tables: Tables, runId: RunId, step: number): readonly ChildWait[] {
  const row = tables.step.get(stepKey(runId, step));
  const due = tables.due.get(stepKey(runId, step))?.due;
  if (!row || due?.kind !== "WAITING" || (due.on !== "child" && due.on !== "child-end")) return [];
  const { fence } = row;
  const child = tables.run.get(childRunId(runId, step, fence));
  const told = tables.message
    .where("run", runId)
    .some(({ message: m }) => m.kind === "child-ended" && m.step === step && m.fence === fence);
  return told || (child && !child.ended) ? [] : [{ step, fence }];
}

function placeOf(tables: Tables, runId: RunId, no: number): StoredPlace {
  const key = stepKey(runId, no);
  const [step, ready] = [tables.step.get(key), tables.ready.get(key)];
  return {
    no,
    step: step ? storedStep(step) : null,
    ready: ready ? { ready: ready.ready, lane: true } : null,
    lease: tables.lease.get(key)?.lease ?? null,
    due: tables.due.get(key)?.due ?? null,
  };
}

function storedStep({ runId: _, ...row }: StepRow): StoredStep {
  return row;
}

function attemptsOf(tables: Tables, runId: RunId): readonly StoredAttempt[] {
  return tables.attempt
    .where("run", runId)
    .flatMap(({ attempt: { step, kind, fence, n, outcome } }) =>
      kind === "late" || kind === "engine" || tables.step.get(stepKey(runId, step))
        ? []
        : [{ step, kind, fence, n, succeeded: outcome.kind === "success" }],
    )
    .sort((a, b) => a.step - b.step || a.fence - b.fence || a.n - b.n);
}

function removeStrays(tables: Tables, runs: readonly StrayRows[]): void {
  for (const { runId, strays, all } of runs) {
    for (const { of, step } of strays) {
      const table = tables[of];
      if (table.get(stepKey(runId, step))) table.remove(stepKey(runId, step));
    }
    if (!all) continue;
    if (tables.runOpen.get(runId)) tables.runOpen.remove(runId);
    for (const { no } of tables.message.where("run", runId))
      tables.message.remove(messageKey(runId, no));
  }
}

/** What the sweep does within a transaction. */
export function sweepingOf({
  tables,
  locked,
  now,
  enter,
}: {
  readonly tables: Tables;
  readonly locked: Set<RunId>;
  readonly now: Moment;
  readonly enter: (place: "runs" | "writes and claims") => void;
}): SweepTx {
  return {
    lockStored: async (runs) => {
      enter("runs");
      for (const { runId } of runs) locked.add(runId);
      return storedRuns(tables, now, runs);
    },
    removeStrays: async (runs) => {
      enter("writes and claims");
      removeStrays(tables, runs);
    },
    restoreLanes: async () => undefined,
    reopenRuns: async (runs) => {
      enter("writes and claims");
      for (const { runId, partition, run } of runs)
        tables.runOpen.insert({ runId, partition, run, wakeAt: runWakeAt(run) });
    },
  };
}
