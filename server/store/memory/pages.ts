// Writes pages with the difference that they make in the derived rows.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { AppliedPass, PayloadRow } from "../../core/page/apply-pass.ts";
import {
  type DerivedChanges,
  type DerivedLease,
  type DerivedReady,
  derivedChanges,
  storedWakeAt,
} from "../../core/page/derived-rows.ts";
import { attemptNumber, type Page, type PageAttempt } from "../../core/page/page.ts";
import type { RunId, RunRef } from "../run-head.ts";
import { pinnedLane } from "./pins.ts";
import { workflowKey } from "./queue-tables.ts";
import type { QueueWorld } from "./queues.ts";
import { pageKey, payloadKey, runStateOf, stepKey, type Tables } from "./tables.ts";

/** The transaction that writes. */
export interface Writing {
  readonly tables: Tables;
  readonly now: EpochMs;
  readonly transaction: number;
  /** The next number within it. */
  readonly nextNumber: () => number;
  readonly world: Pick<QueueWorld, "tables" | "lanes">;
}

interface WrittenPage {
  /** Lanes in which claims find ready rows that the write has made. */
  readonly filled: readonly number[];
  readonly leasesGone: DerivedChanges["leasesGone"];
}

export function putPage(writing: Writing, ref: RunRef, page: Page): WrittenPage {
  const { tables } = writing;
  const { runId, partition } = ref;
  const before = tables.page.get(pageKey(runId, page.no));
  const changes = derivedChanges(before?.page ?? null, page);
  tables.page.put({
    runId,
    partition,
    page,
    wakeAt: storedWakeAt(before?.wakeAt ?? null, page, writing.now),
  });
  const at = (step: number): string => stepKey(runId, step);
  for (const { step } of changes.readyGone) tables.ready.remove(at(step));
  for (const { step, lease } of changes.leasesGone) {
    const { secret, fence } = tables.lease.remove(at(step));
    if (secret !== lease.secret) throw new Error(`a lease is another one of fence ${fence}`);
  }
  const filled = changes.readyNew.flatMap((one) => insertReady(writing, ref, one));
  for (const { step, ready } of changes.readyMoved)
    tables.ready.put({ ...tables.ready.expect(at(step)), until: ready.until });
  for (const one of changes.leasesNew) insertLease(tables, ref, one);
  for (const { step, lease } of changes.leasesCancelled)
    tables.lease.put({ ...tables.lease.expect(at(step)), cancel: lease.cancel.kind });
  return { filled, leasesGone: changes.leasesGone };
}

export function insertLease(
  tables: Tables,
  { runId, partition }: RunRef,
  { step, terms, lease }: DerivedLease,
): void {
  const { session, fence, secret, pollSeq, grantedAt, heartbeatMs } = lease;
  tables.lease.insert({
    runId,
    partition,
    step,
    lane: terms.lane,
    session,
    fence,
    secret,
    pollSeq,
    grantedAt,
    heartbeatMs,
    cancel: lease.cancel.kind,
  });
}

/** Returns the lane in which claims find the row; none, if its workflow is paused. */
export function insertReady(
  writing: Writing,
  { runId, partition }: RunRef,
  { step, terms, ready }: DerivedReady,
): readonly number[] {
  const { tables, transaction } = writing;
  const { workflow } = tables.run.expect(runId);
  const { namespaceId, definitionId, priority } = runStateOf(tables, runId);
  const of = { namespaceId, workflow, definitionId };
  const lane = pinnedLane(writing.world, terms.lane, of);
  const paused = tables.pausedWorkflow.get(workflowKey(of)) !== undefined;
  tables.ready.insert({
    runId,
    partition,
    step,
    priority,
    transaction,
    number: writing.nextNumber(),
    lane,
    paused,
    until: ready.until,
  });
  return paused ? [] : [lane];
}

/** Writes what a pass has made of the pages of its run, and what had no room in them. */
export function putApplied(writing: Writing, ref: RunRef, applied: AppliedPass): WrittenPage {
  const { tables } = writing;
  const { runId } = ref;
  putPayloads(tables, runId, applied.payloads);
  for (const one of applied.logged)
    if (!loggedOf(tables, runId, one)) tables.attemptLog.insert({ ...one, runId });
  for (const settled of applied.updatedInLog) {
    const row = loggedOf(tables, runId, settled);
    if (!row) throw new Error(`an attempt of run ${runId} is settled that is nowhere`);
    const { endedAt, outcome, digest, counted } = settled;
    tables.attemptLog.put({ ...row, endedAt, outcome, digest, counted });
  }
  const written = applied.pages.map((page) => putPage(writing, ref, page));
  return {
    filled: written.flatMap(({ filled }) => filled),
    leasesGone: written.flatMap(({ leasesGone }) => leasesGone),
  };
}

export function putPayloads(tables: Tables, runId: RunId, rows: readonly PayloadRow[]): void {
  for (const row of rows) tables.payload.put({ ...row, runId });
}

function loggedOf(tables: Tables, runId: RunId, of: PageAttempt & { readonly step: number }) {
  return tables.attemptLog
    .where("run", runId)
    .find(
      (row) =>
        row.step === of.step &&
        row.fence === of.fence &&
        row.kind === of.kind &&
        attemptNumber(row) === attemptNumber(of),
    );
}

/** All attempts at a step, those of the log first. */
export function attemptsOf(
  tables: Tables,
  runId: RunId,
  of: {
    readonly step: { readonly no: number };
    readonly attempts: readonly PageAttempt[];
    readonly logged: number;
  },
): readonly PageAttempt[] {
  if (of.logged === 0) return of.attempts;
  const logged = tables.attemptLog.where("run", runId).filter(({ step }) => step === of.step.no);
  return [...logged, ...of.attempts];
}

export function payloadReader(tables: Tables, runId: RunId) {
  return (key: Parameters<typeof payloadKey>[1]) =>
    tables.payload.get(payloadKey(runId, key))?.payload ?? null;
}
