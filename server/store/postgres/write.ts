// Writes what passes have decided: the pages of their runs (pages.ts), and the rows that their
// effects append. Statements are sent and not waited for: the next read, or the commit, fails if
// one of them has failed.
import { isEnded, type Run } from "../../core/model.ts";
import type { DerivedLease } from "../../core/page/derived-rows.ts";
import { endedTasks } from "../ended-tasks.ts";
import type { PassRecord } from "../pass-record.ts";
import { rowsOfEffects } from "../rows-of-effects.ts";
import type { NewRun, RunId } from "../store.ts";
import { type Ended, NOTHING_ENDED, type Written } from "../written.ts";
import { ofEach, writeRows } from "./batch.ts";
import { policies, runStates } from "./codes.ts";
import { columns, payloadColumns } from "./columns.ts";
import type { EmptyLanes } from "./empty-lanes.ts";
import { writeMessages } from "./messages.ts";
import type { Pages } from "./pages.ts";
import type { Begun, Send } from "./transaction.ts";
import { writeInterventions } from "./write-history.ts";
import { writePeople } from "./write-people.ts";

/** A run may end in its first pass, if every step of it is skipped. Then it is never open. */
export function insertRuns(send: Send, runs: readonly NewRun[]): void {
  const rows = runs.map((run) => ({ ...run, payload: payloadColumns(run.input) }));
  writeRows(
    send,
    "insert_runs",
    rows,
    (row) => row.runId,
    (row) => row.namespaceId,
    (row) => row.partition,
    (row) => row.definitionId,
    (row) => row.workflow,
    (row) => row.version,
    (row) => row.key,
    (row) => row.priority,
    (row) => JSON.stringify(row.labels),
    (row) => row.payload.type,
    (row) => row.payload.json,
    (row) => row.payload.data,
    (row) => row.createdAt,
    (row) => row.notify?.hook ?? null,
    (row) => row.notify?.url ?? null,
    (row) => row.concurrency?.key ?? null,
    (row) => row.concurrency?.limit ?? null,
    (row) => (row.concurrency ? policies.code(row.concurrency.policy) : null),
    (row) => row.parent?.runId ?? null,
    (row) => row.parent?.stepId ?? null,
    (row) => row.run.parent?.step ?? null,
    (row) => row.run.parent?.fence ?? null,
    (row) => row.run.parent?.until ?? null,
    (row) => row.trace?.traceparent ?? null,
    (row) => row.trace?.tracestate ?? null,
  );
  writeRows(
    send,
    "insert_reruns",
    runs.flatMap(({ runId, rerunOf }) => (rerunOf ? [{ runId, rerunOf }] : [])),
    (row) => row.runId,
    ({ rerunOf }) => rerunOf.runId,
    ({ rerunOf }) => rerunOf.from,
  );
  writeRows(
    send,
    "insert_triggered",
    runs.flatMap(({ runId, triggered }) => (triggered ? [{ runId, ...triggered }] : [])),
    (row) => row.runId,
    (row) => row.trigger,
    (row) => row.ofRun,
    (row) => row.depth,
  );
  endRuns(
    send,
    runs.filter(({ run }) => isEnded(run.state)),
  );
}

export async function writePasses(
  begun: Begun,
  { pages, emptyLanes }: { readonly pages: Pages; readonly emptyLanes: EmptyLanes },
  records: readonly PassRecord[],
): Promise<Written> {
  const { send } = begun;
  const rows = records.map(rowsOfEffects);
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
  writeRows(
    send,
    "insert_kept",
    ofEach(rows, ({ kept }) => kept),
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ row }) => row.of,
  );
  writeInterventions(send, rows);
  writeMessages(send, rows);
  await writePeople(begun, rows);
  const freesNothing =
    pages.isFromCache() && emptyLanes.areOpen(leases.flat().map(({ terms: { lane } }) => lane));
  const filled = [...new Set(pages.made().map(({ terms }) => terms.lane))];
  return { ended, filled, freesNothing };
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
  const values = columns(
    gone,
    ({ runId }) => runId,
    ({ step }) => step,
    ({ lease }) => lease.secret,
  );
  const [answer] = await send<{ freed: number[] }>("end_leases", values);
  const tasks = records.flatMap((record, at) => endedTasks(record, leases[at] ?? []));
  return { freed: answer?.freed ?? [], tasks };
}

function endRuns(send: Send, ended: readonly { readonly runId: RunId; readonly run: Run }[]): void {
  writeRows(
    send,
    "end_runs",
    ended,
    ({ runId }) => runId,
    ({ run }) => runStates.code(run.state.kind),
  );
}
