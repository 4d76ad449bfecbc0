// Attempts and payloads that have no room in a page. They are read only if a page names them.

import type { Payload } from "../../core/model/payload.ts";
import type { PayloadKey } from "../../core/page/apply-pass.ts";
import { decodeAttempt, type RawAttempt } from "../../core/page/attempt-codec.ts";
import type { PageAttempt, PageStep } from "../../core/page/page.ts";
import { type PayloadOf, payloadKeyOf } from "../page-reads.ts";
import type { RunId } from "../store.ts";
import { columns, payloadOf } from "./columns.ts";
import type { Query } from "./transaction.ts";

interface StepAt {
  readonly runId: RunId;
  readonly of: PageStep;
}

/** All attempts at a step, those in the log first. */
export type AttemptsOf = (runId: RunId, of: PageStep) => readonly PageAttempt[];

export async function attemptsAt(query: Query, steps: readonly StepAt[]): Promise<AttemptsOf> {
  const logged = steps.filter(({ of }) => of.logged > 0);
  if (logged.length === 0) return (_, of) => of.attempts;
  const rows = await query<{ run_id: RunId; step_no: number; attempt: string }>(
    "attempts_in_log",
    columns(logged, { run_id: ({ runId }) => runId, step_no: ({ of }) => of.step.no }),
  );
  const byStep = Map.groupBy(rows, (row) => `${row.run_id}/${row.step_no}`);
  return (runId, of) => {
    const found = of.logged === 0 ? undefined : byStep.get(`${runId}/${of.step.no}`);
    if (!found) return of.attempts;
    return [...found.map(({ attempt }) => attemptIn(attempt)), ...of.attempts];
  };
}

/** Decodes an attempt of the log. */
export function attemptIn(text: string): PageAttempt {
  const raw: RawAttempt = JSON.parse(text);
  return decodeAttempt(raw);
}

/** Finds the payloads of these attempts that have rows of their own, by run. */
export async function payloadsAt(
  query: Query,
  steps: readonly StepAt[],
  attempts: AttemptsOf,
  what: PayloadKey["what"],
): Promise<(runId: RunId) => PayloadOf> {
  const keys = steps.flatMap(({ runId, of }) =>
    attempts(runId, of).flatMap((one) => {
      const stored =
        what === "details"
          ? one.details
          : one.outcome.kind === "success"
            ? one.outcome.output
            : null;
      return stored?.kind === "row" ? [{ runId, key: payloadKeyOf(of.step.no, one, what) }] : [];
    }),
  );
  const found = await payloadRows(query, keys);
  return (runId) => (key) => found.get(rowName(runId, key)) ?? null;
}

/** Finds these payloads of one run. */
export async function payloadsOf(
  query: Query,
  runId: RunId,
  keys: readonly PayloadKey[],
): Promise<PayloadOf> {
  const found = await payloadRows(
    query,
    keys.map((key) => ({ runId, key })),
  );
  return (key) => found.get(rowName(runId, key)) ?? null;
}

export async function payloadRows(
  query: Query,
  keys: readonly { readonly runId: RunId; readonly key: PayloadKey }[],
): Promise<ReadonlyMap<string, Payload>> {
  if (keys.length === 0) return new Map();
  const rows = await query<PayloadColumnsRow>(
    "payloads",
    columns(keys, {
      run_id: ({ runId }) => runId,
      step_no: ({ key }) => key.step,
      fence: ({ key }) => key.fence,
      kind: ({ key }) => key.kind,
      n: ({ key }) => key.n,
      what: ({ key }) => key.what,
    }),
  );
  return new Map(
    rows.flatMap((row) => {
      const payload = payloadOf(row.type, row.json, row.data);
      const { step_no: step, fence, kind, n, what } = row;
      return payload ? [[rowName(row.run_id, { step, fence, kind, n, what }), payload]] : [];
    }),
  );
}

interface PayloadColumnsRow {
  run_id: RunId;
  step_no: number;
  fence: number;
  kind: PayloadKey["kind"];
  n: number;
  what: PayloadKey["what"];
  type: string;
  json: string | null;
  data: Buffer | null;
}

/** The name under which a payload row is found. */
export function rowName(runId: RunId, { step, fence, kind, n, what }: PayloadKey): string {
  return `${runId}/${step}/${fence}/${kind}/${n}/${what}`;
}
