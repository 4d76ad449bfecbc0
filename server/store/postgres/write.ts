// Writes what passes have decided: the pages of their runs (pages.ts), and the rows that their
// effects append. Statements are sent and not waited for: the next read, or the commit, fails if
// one of them has failed.
import { changesPagesOnly } from "../../core/model/effect.ts";
import { FAILURE_MESSAGE_MAX, isEnded, type Run } from "../../core/model/model.ts";
import type { DerivedLease } from "../../core/page/derived-rows.ts";
import { failureCounts } from "../failure-counts.ts";
import type { PassRecord } from "../pass-record.ts";
import { endedTasks, type RowsOfEffects, rowsOfEffects } from "../rows-of-effects.ts";
import { failureKeys } from "../search-keys.ts";
import type { NewRun, RunId } from "../store.ts";
import { BUCKET_LOG } from "../took-buckets.ts";
import { type Ended, NOTHING_ENDED, type Written } from "../written.ts";
import { writeAudit } from "./audit.ts";
import { policies, runStates } from "./codes.ts";
import { columns, ofEach, payloadColumns, writeRows } from "./columns.ts";
import type { EmptyLanes } from "./empty-lanes.ts";
import { writeMessages } from "./messages.ts";
import type { Pages } from "./pages.ts";
import type { Send, Transaction } from "./transaction.ts";
import { writeInterventions, writePeople } from "./write-history.ts";

/** A run may end in its first pass, if every step of it is skipped. Then it is never open. */
export function insertRuns(send: Send, runs: readonly NewRun[]): void {
  const rows = runs.map((run) => ({ ...run, payload: payloadColumns(run.input) }));
  writeRows(send, "insert_runs", rows, {
    id: (row) => row.runId,
    namespace_id: (row) => row.namespaceId,
    partition: (row) => row.partition,
    definition_id: (row) => row.definitionId,
    workflow: (row) => row.workflow,
    version: (row) => row.version,
    key: (row) => row.key,
    priority: (row) => row.priority,
    labels: (row) => JSON.stringify(row.labels),
    input_type: (row) => row.payload.type,
    input_json: (row) => row.payload.json,
    input_data: (row) => row.payload.data,
    created_at: (row) => row.createdAt,
    notify_hook: (row) => row.notify?.hook ?? null,
    notify_url: (row) => row.notify?.url ?? null,
    concurrency_key: (row) => row.concurrency?.key ?? null,
    concurrency_limit: (row) => row.concurrency?.limit ?? null,
    concurrency_policy: (row) => (row.concurrency ? policies.code(row.concurrency.policy) : null),
    parent_id: (row) => row.parent?.runId ?? null,
    parent_step: (row) => row.parent?.stepId ?? null,
    parent_step_key: (row) => row.run.parent?.step ?? null,
    parent_fence: (row) => row.run.parent?.fence ?? null,
    parent_until: (row) => row.run.parent?.until ?? null,
    traceparent: (row) => row.trace?.traceparent ?? null,
    tracestate: (row) => row.trace?.tracestate ?? null,
  });
  writeRows(
    send,
    "insert_reruns",
    runs.flatMap(({ runId, rerunOf }) => (rerunOf ? [{ runId, rerunOf }] : [])),
    {
      run_id: (row) => row.runId,
      of_run: ({ rerunOf }) => rerunOf.runId,
      from_step: ({ rerunOf }) => rerunOf.from,
    },
  );
  writeRows(
    send,
    "insert_triggered",
    runs.flatMap(({ runId, triggered }) => (triggered ? [{ runId, ...triggered }] : [])),
    {
      run_id: (row) => row.runId,
      trigger: (row) => row.trigger,
      of_run: (row) => row.ofRun,
      depth: (row) => row.depth,
    },
  );
  endRuns(
    send,
    runs.filter(({ run }) => isEnded(run.state)),
  );
}

export async function writePasses(
  transaction: Transaction,
  { pages, emptyLanes }: { readonly pages: Pages; readonly emptyLanes: EmptyLanes },
  records: readonly PassRecord[],
): Promise<Written> {
  const { send } = transaction;
  const leases = await pages.apply(records);
  const ended = endLeases(send, records, leases);
  // If the statement fails, so does its waiter.
  ended.catch(() => undefined);
  endRuns(
    send,
    records.flatMap(({ head, before, after: { run } }) =>
      isEnded(run.state) && !isEnded(before.run.state) ? [{ runId: head.runId, run }] : [],
    ),
  );
  countFailures(send, records);
  writeFailureKeys(send, records);
  writeAudit(
    send,
    records.flatMap(({ audit = [] }) => audit),
  );
  const more = records.filter(({ effects }) => !changesPagesOnly(effects));
  if (more.length > 0) await writeRowsBeside(transaction, more.map(rowsOfEffects));
  const freesNothing =
    pages.isFromCache() && emptyLanes.areOpen(leases.flat().map(({ terms: { lane } }) => lane));
  const filled = [...new Set(pages.made().map(({ terms }) => terms.lane))];
  return { ended, filled, freesNothing };
}

/** What the effects of these passes append beside the pages of their runs. */
async function writeRowsBeside(
  transaction: Transaction,
  rows: readonly RowsOfEffects[],
): Promise<void> {
  const { send } = transaction;
  writeRows(
    send,
    "insert_reused",
    ofEach(rows, ({ reusedSteps }) => reusedSteps),
    {
      run_id: ({ head }) => head.runId,
      step_no: ({ row }) => row.step,
      of_run: ({ row }) => row.madeByRun,
    },
  );
  writeInterventions(send, rows);
  writeMessages(send, rows);
  await writePeople(transaction, rows);
}

/** Ended tasks free capacity of their queues, which claims of this transaction count. */
async function endLeases(
  send: Send,
  records: readonly PassRecord[],
  leases: readonly (readonly DerivedLease[])[],
): Promise<Ended> {
  const gone = records.flatMap(({ head }, at) =>
    (leases[at] ?? []).map((one) => ({ runId: head.runId, ...one })),
  );
  if (gone.length === 0) return NOTHING_ENDED;
  const values = columns(gone, {
    run_id: ({ runId }) => runId,
    step_no: ({ step }) => step,
    secret: ({ lease }) => lease.secret,
  });
  const [answer] = await send<{ freed: number[] }>("end_leases", values);
  const tasks = records.flatMap((record, at) => endedTasks(record, leases[at] ?? []));
  return { freed: answer?.freed ?? [], tasks };
}

function countFailures(send: Send, records: readonly PassRecord[]): void {
  writeRows(send, "count_failures", failureCounts(records), {
    run_id: ({ head }) => head.runId,
    namespace_id: ({ head }) => head.namespaceId,
    step: ({ step }) => step,
    undo: ({ isUndo }) => isUndo,
    code: ({ code }) => code,
    message: ({ message }) => message.slice(0, FAILURE_MESSAGE_MAX).toWellFormed(),
    attempts: ({ attempts }) => attempts,
    steps: ({ steps }) => steps,
  });
}

function writeFailureKeys(send: Send, records: readonly PassRecord[]): void {
  writeRows(send, "insert_search_keys", failureKeys(records), {
    namespace_id: ({ head }) => head.namespaceId,
    run_id: ({ head }) => head.runId,
    mark: ({ key }) => key,
  });
}

function endRuns(send: Send, ended: readonly { readonly runId: RunId; readonly run: Run }[]): void {
  if (ended.length === 0) return;
  const rows = columns(ended, {
    run_id: ({ runId }) => runId,
    state: ({ run }) => runStates.code(run.state.kind),
  });
  void send("end_runs", { ...rows, bucket_log: BUCKET_LOG });
}
