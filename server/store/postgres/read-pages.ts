// Pages as plain reads find them, with what has no room in them: attempts in the log, and payloads
// that have rows of their own. No locks.

import { decodePage, decodePageHead } from "../../core/page/codec.ts";
import type { HeadOfRun } from "../../core/page/head-codec.ts";
import type { PageAttempt, PageStep } from "../../core/page/page.ts";
import { attemptRecord, payloadKeyOf } from "../page-reads.ts";
import type { AttemptRecord } from "../reads.ts";
import type { RunId } from "../run-head.ts";
import { attemptIn, payloadsOf } from "./attempts-at.ts";
import type { Query } from "./transaction.ts";

/** The text of a page. */
export interface PageRow {
  no: number;
  page: string;
}

/** In the order of the step keys. */
export function stepsIn(rows: readonly Pick<PageRow, "page">[]): readonly PageStep[] {
  return rows
    .flatMap(({ page }) => [...decodePage(page).page.steps.values()])
    .sort((a, b) => a.step.no - b.step.no);
}

/** The head of a run, whose first page must be among these. */
export function headIn(runId: RunId, rows: readonly PageRow[]): HeadOfRun {
  const first = rows.find(({ no }) => no === 0);
  if (!first) throw new Error(`run ${runId} has no first page`);
  const [line = ""] = first.page.split("\n", 1);
  return decodePageHead(line);
}

/** Finds steps in pages. Several rows may have the same page, which is decoded once. */
export function stepFinder(): (page: string | null, step: number) => PageStep | null {
  const read = new Map<string, ReadonlyMap<number, PageStep>>();
  return (page, step) => {
    if (page === null) return null;
    const steps = read.get(page) ?? decodePage(page).page.steps;
    read.set(page, steps);
    return steps.get(step) ?? null;
  };
}

interface AttemptOf {
  readonly step: number;
  readonly of: PageAttempt;
}

/** The attempts in the pages of these steps, and at most `loggedMax` of each that are logged. */
export async function newestAttempts(
  query: Query,
  runId: RunId,
  steps: readonly PageStep[],
  loggedMax: number,
): Promise<readonly AttemptOf[]> {
  const inPages = steps.flatMap(({ step: { no: step }, attempts }) =>
    attempts.map((of) => ({ step, of })),
  );
  const withLog = steps.flatMap(({ step, logged }) => (logged > 0 ? [step.no] : []));
  if (withLog.length === 0) return inPages;
  const rows = await query<{ step_no: number; attempt: string }>("logged_attempts", {
    run_id: runId,
    step_nos: withLog,
    limit: loggedMax,
  });
  return [...rows.map((row) => ({ step: row.step_no, of: attemptIn(row.attempt) })), ...inPages];
}

/** In the order in which they ended. */
export function inOrderOfEnd(a: AttemptOf, b: AttemptOf): number {
  return (
    a.of.endedAt - b.of.endedAt || a.step - b.step || a.of.fence - b.of.fence || a.of.n - b.of.n
  );
}

/** Attempts in their public form, with their outputs. */
export async function attemptRecords(
  query: Query,
  runId: RunId,
  attempts: readonly AttemptOf[],
): Promise<readonly AttemptRecord[]> {
  const apart = attempts.flatMap(({ step, of }) =>
    of.outcome.kind === "success" && of.outcome.output?.kind === "row"
      ? [payloadKeyOf(step, of, "output")]
      : [],
  );
  const payloads = await payloadsOf(query, runId, apart);
  return attempts.map(({ step, of }) => attemptRecord(step, of, payloads));
}
