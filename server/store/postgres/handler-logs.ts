// The lines of handlers on PostgreSQL (sql/handler-logs.sql). They have the connections of
// operators: however much handlers log, the engine's batches do not wait for it.
import type { LogEnd, LogLevel } from "../../core/log-lines.ts";
import { EMPTY_LOG } from "../../core/log-lines.ts";
import type { EpochMs, TaskKind } from "../../core/model/attempt.ts";
import { movingSide } from "../../core/model/model.ts";
import { decodePage } from "../../core/page/codec.ts";
import { type Page, type PageStep, pageNoOf } from "../../core/page/page.ts";
import type {
  AttemptRef,
  HandlerLogs,
  LogAppend,
  LoggingAttempt,
  LoggingTask,
  LogRecord,
} from "../handler-logs.ts";
import type { RunId } from "../run-head.ts";
import { columns, labelsOf } from "./columns.ts";
import { uniquePages } from "./read-steps.ts";
import type { Query, Transact } from "./transaction.ts";

export function createHandlerLogs(query: Query, transact: Transact): HandlerLogs {
  return Object.freeze({
    attempts: (tasks) => attemptsOf(query, tasks),
    append: (appends) =>
      transact({ fate: "unasked" }, ({ query: within }) => append(within, appends)),
    async lines({ runId, attempt, after, limit }) {
      const asked = { run_id: runId, after, limit };
      const rows = await (attempt
        ? query<LineRow>("attempt_lines", { ...asked, ...keyOf(attempt) })
        : query<LineRow>("run_log", asked));
      return rows.map(recordOf);
    },
  } satisfies HandlerLogs);
}

interface PageRow {
  run_id: RunId;
  no: number;
  version: number;
  state: string;
  definition_id: number;
  namespace_id: number;
  now: EpochMs;
}

async function attemptsOf(
  query: Query,
  tasks: readonly LoggingTask[],
): Promise<readonly (LoggingAttempt | null)[]> {
  const rows = await query<PageRow>(
    "pages_of_logs",
    columns(uniquePages(tasks), { run_id: ({ runId }) => runId, no: ({ no }) => no }),
  );
  const pages = new Map(
    rows.map((row) => [`${row.run_id}/${row.no}`, { row, page: decodePage(row.state).page }]),
  );
  return tasks.map((task) => {
    const found = pages.get(`${task.runId}/${pageNoOf(task.step)}`);
    return found ? attemptIn(found.page, found.row, task) : null;
  });
}

function attemptIn(
  page: Page,
  { definition_id: definitionId, namespace_id: namespaceId, now }: PageRow,
  task: LoggingTask,
): LoggingAttempt | null {
  const of = page.steps.get(task.step);
  const found = of && (leaseIn(of, task) ?? endedIn(of, task, now));
  if (!found) return null;
  const { runId, step, task: kind, fence } = task;
  return { runId, step, kind, fence, definitionId, namespaceId, ...found };
}

type Found = Pick<LoggingAttempt, "attempt" | "n" | "endedMsAgo">;

function leaseIn({ step }: PageStep, { task, fence, secret }: LoggingTask): Found | null {
  const lease = movingSide(step)?.state;
  if (lease?.kind !== "LEASED" || lease.secret !== secret) return null;
  if (lease.task !== task || lease.fence !== fence) return null;
  const { attempt } = lease;
  return { attempt, n: task === "verify" ? attempt : 0, endedMsAgo: null };
}

function endedIn(
  { attempts }: PageStep,
  { task, fence, secret }: LoggingTask,
  now: EpochMs,
): Found | null {
  const ended = attempts.find(
    (one) => one.secret === secret && one.kind === task && one.fence === fence,
  );
  return ended
    ? { attempt: ended.attempt, n: ended.n, endedMsAgo: Math.max(0, now - ended.endedAt) }
    : null;
}

async function append(query: Query, appends: readonly LogAppend[]): Promise<readonly LogEnd[]> {
  await query("lock_handler_logs", { run_ids: appends.map(({ attempt }) => attempt.runId) });
  const rows = await query<{ place: number; line: number; stored_bytes: number }>(
    "ends_of_logs",
    columns(appends, {
      run_id: ({ attempt }) => attempt.runId,
      step_no: ({ attempt }) => attempt.step,
      fence: ({ attempt }) => attempt.fence,
      kind: ({ attempt }) => attempt.kind,
      n: ({ attempt }) => attempt.n,
    }),
  );
  const ends = new Map(
    rows.map(({ place, line, stored_bytes: storedBytes }) => [place, { line, storedBytes }]),
  );
  /** Of attempts that have lines here, by their keys: a call may name an attempt twice. */
  const after = new Map<string, LogEnd>();
  const lines = appends.flatMap(({ attempt, linesAfter }, at) => {
    const key = JSON.stringify({ runId: attempt.runId, ...keyOf(attempt) });
    const end = after.get(key) ?? ends.get(at + 1) ?? EMPTY_LOG;
    const stored = linesAfter(end);
    after.set(key, stored.at(-1) ?? end);
    return stored.map((line) => ({ attempt, line }));
  });
  if (lines.length > 0)
    await query(
      "insert_handler_logs",
      columns(lines, {
        run_id: ({ attempt }) => attempt.runId,
        step_no: ({ attempt }) => attempt.step,
        fence: ({ attempt }) => attempt.fence,
        kind: ({ attempt }) => attempt.kind,
        n: ({ attempt }) => attempt.n,
        line: ({ line }) => line.line,
        attempt: ({ attempt }) => attempt.attempt,
        stored_bytes: ({ line }) => line.storedBytes,
        at: ({ line }) => line.at,
        level: ({ line }) => line.level,
        message: ({ line }) => line.message,
        fields: ({ line: { fields } }) =>
          Object.keys(fields).length === 0 ? null : JSON.stringify(fields),
      }),
    );
  return appends.map(({ attempt }, at) => {
    const key = JSON.stringify({ runId: attempt.runId, ...keyOf(attempt) });
    return after.get(key) ?? ends.get(at + 1) ?? EMPTY_LOG;
  });
}

function keyOf({ step, fence, kind, n }: AttemptRef) {
  return { step_no: step, fence, kind, n };
}

interface LineRow {
  id: number;
  step_no: number;
  fence: number;
  kind: TaskKind;
  n: number;
  line: number;
  attempt: number;
  stored_bytes: number;
  at: EpochMs;
  level: LogLevel;
  message: string;
  fields: unknown;
}

function recordOf({
  step_no: step,
  stored_bytes: storedBytes,
  fields,
  ...row
}: LineRow): LogRecord {
  return { ...row, step, storedBytes, fields: labelsOf(fields) };
}
