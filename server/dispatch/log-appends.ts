// Takes the lines that handlers log. It is best effort, and apart from everything that tasks need:
// a task is the same with and without its lines. Calls are gathered into batches, one in flight at
// a time. A call without room is refused with OVERLOADED, and its agent drops the lines.
import { createBatcher, type OnFlushed } from "../batching/batcher.ts";
import type { Clock } from "../clock.ts";
import { isFull, linesToStore } from "../core/log-lines.ts";
import { planStepAt } from "../core/plan/plan.ts";
import { DroverError } from "../errors.ts";
import type { HandlerLogs, LogAppend, LoggingAttempt } from "../store/handler-logs.ts";
import type { Plans } from "../store/plans.ts";
import type { LinesAnswer, LogAppends, TaskLines } from "./dispatcher.ts";

/** An agent sends its last lines after the report of the task. */
const LATE_MS_MAX = 30_000;
/** A single call is flushed at once; among many, one waits at most this much. */
const SPACING_MS = 100;
const CALLS_MAX = 200;
/** Lines of one batch: at 16 KiB a call, some megabytes. */
const LINES_MAX = 5_000;
const WAITING_MAX = 1_000;

interface LogAppendsOptions {
  readonly store: HandlerLogs;
  readonly plans: Plans;
  readonly clock: Clock;
  readonly stores: (namespace: string) => boolean;
  readonly isRetryable: (error: unknown) => boolean;
  readonly onFlushed?: OnFlushed | undefined;
}

/** A server that stores no lines. */
export const NO_LOGS: LogAppends = Object.freeze({
  offBy: () => "server",
  append: async (_namespace: string, tasks: readonly TaskLines[]) =>
    tasks.map(() => notStored("tasks of this server")),
  idle: async () => undefined,
});

export function createLogAppends(options: LogAppendsOptions): LogAppends {
  const { store, plans, clock, stores, isRetryable, onFlushed } = options;
  const batcher = createBatcher<readonly TaskLines[], readonly LinesAnswer[]>({
    name: "logs",
    clock,
    bucket: { everyMs: SPACING_MS, capacity: 1 },
    fullAt: CALLS_MAX,
    itemsMax: CALLS_MAX,
    sizeMax: LINES_MAX,
    sizeOf: (tasks) => tasks.reduce((sum, { lines }) => sum + lines.length, 0),
    inFlightMax: 1,
    waitingMax: WAITING_MAX,
    isRetryable,
    onFlushed,
    async flush(calls) {
      const answers = await appendAll({ store, plans }, calls.flat());
      let at = 0;
      return calls.map((tasks) => {
        const result = answers.slice(at, at + tasks.length);
        at += tasks.length;
        return { kind: "done", result };
      });
    },
  });
  return Object.freeze({
    offBy: (namespace: string) => (stores(namespace) ? null : "namespace"),
    async append(namespace: string, tasks: readonly TaskLines[]) {
      if (!stores(namespace)) return tasks.map(() => notStored(`the namespace "${namespace}"`));
      return batcher.submit(tasks);
    },
    idle: batcher.idle,
  });
}

/** What is known of the attempt of a task: where its lines go, or why they go nowhere. */
type Target = LoggingAttempt | DroverError;

async function appendAll(
  { store, plans }: Pick<LogAppendsOptions, "store" | "plans">,
  tasks: readonly TaskLines[],
): Promise<readonly LinesAnswer[]> {
  const attempts = await store.attempts(tasks.map(({ token }) => token));
  const targets = await Promise.all(
    tasks.map((task, at) => targetOf(plans, task, attempts[at] ?? null)),
  );
  const appends = targets.flatMap((target, at): LogAppend[] => {
    const task = tasks[at];
    if (target instanceof DroverError || !task) return [];
    return [{ attempt: target, linesAfter: (end) => linesToStore(end, task.first, task.lines) }];
  });
  const ends = appends.length === 0 ? [] : await store.append(appends);
  let place = 0;
  return targets.map((target): LinesAnswer => {
    if (target instanceof DroverError) return { kind: "refused", error: target };
    const end = ends[place++];
    return { kind: "stored", full: end !== undefined && isFull(end) };
  });
}

async function targetOf(
  plans: Plans,
  { token: { step }, namespaceId: ofCall }: TaskLines,
  attempt: LoggingAttempt | null,
): Promise<Target> {
  if (attempt?.namespaceId !== ofCall)
    return new DroverError(
      "TASK_NOT_FOUND",
      "no task has this token, or its attempt ended long ago: drop the lines",
    );
  const { endedMsAgo, namespaceId, definitionId, runId } = attempt;
  if (endedMsAgo !== null && endedMsAgo > LATE_MS_MAX)
    return new DroverError(
      "TASK_OVER",
      `this task ended ${Math.floor(endedMsAgo / 1_000)} s ago, and lines are taken for ${LATE_MS_MAX / 1_000} s after the end: drop them`,
      { metadata: { run_id: runId } },
    );
  const { plan } = await plans.get(namespaceId, definitionId);
  const planned = planStepAt(plan, step);
  return planned?.storesLogs ? attempt : notStored(`the step "${planned?.id ?? ""}"`).error;
}

function notStored(what: string): Extract<LinesAnswer, { kind: "refused" }> {
  const message = `lines of handlers are not stored for ${what}: send none for tasks without store_logs`;
  return { kind: "refused", error: new DroverError("INVALID_REQUEST", message) };
}
