// The traces of a process. It decides which trace a run and a task are part of. After each commit
// it makes the spans of everything that has ended, and passes them to the sink. It reads the store
// outside the path of calls, so no caller waits for a trace.
import type { Logger } from "pino";
import type { TaskTrace } from "../../dispatch/handed-task.ts";
import type { CommitSummary } from "../../scheduler/commit-summary.ts";
import type { RunTraces } from "../../scheduler/run-traces.ts";
import type { PassRecord } from "../../store/pass-record.ts";
import type { Plans } from "../../store/plans.ts";
import type { Reads } from "../../store/reads.ts";
import type { Granted, RunHead, RunId } from "../../store/store.ts";
import {
  readTrace,
  type Trace,
  type TraceContext,
  type TracedRun,
  writeTrace,
} from "../../store/trace.ts";
import type { SpanData, SpanLink, SpanSink } from "../spans.ts";
import { attemptIdOf, isSampled, rootIdOf, traceIdOf } from "./ids.ts";
import {
  asksForEscalations,
  endsRun,
  queueSpan,
  spansOfPass,
  type TracedPass,
} from "./pass-spans.ts";
import { batchSpan, type Committed } from "./server-spans.ts";
import { rootLink, type Traced, tryLink } from "./span-of.ts";
import { createTracedRuns, type TracedRuns } from "./traced-runs.ts";

/** Batches whose spans are not made yet; further batches are dropped. */
const WAITING_MAX = 1_000;

interface TracingOptions {
  readonly reads: Pick<Reads, "tracedRuns" | "runDetail">;
  readonly plans: Plans;
  /** Gets the spans of sampled runs; null: traces are off. */
  readonly sink: SpanSink | null;
  /** Gets the spans of all runs; null: the log does not show them. */
  readonly lines: ((spans: readonly SpanData[], trace: Trace | null) => void) | null;
  /** Share of the runs that are sampled, 0 to 1, if the caller that starts them has not decided. */
  readonly ratio: number;
  readonly log: Logger;
}

type CommittedWork = Pick<CommitSummary, "worked" | "now" | "batch">;

export interface Tracing extends RunTraces {
  /** The trace that an agent gets with a task: the span of the attempt. */
  readonly task: TaskTrace;
  committed(work: CommittedWork): void;
  /** `ms`: how long the claim took. */
  granted(leases: readonly Granted[], ms: number): void;
  /** Makes the spans of all published commits, and lets the sink send them. */
  stop(): Promise<void>;
}

interface State {
  readonly options: TracingOptions;
  readonly runs: TracedRuns;
  /** The work that was added last. */
  last: Promise<void>;
  /** Batches whose spans are not made yet. */
  waiting: number;
}

export function createTracing(options: TracingOptions): Tracing {
  const { reads, plans, sink, lines, ratio } = options;
  const runs = createTracedRuns({ reads, plans, needsAll: lines !== null });
  const state: State = { options, runs, last: Promise.resolve(), waiting: 0 };
  return Object.freeze({
    begin: (runId, given) => (given && readTrace(given) ? given : newTrace(runId, ratio)),
    async child(runId, parent) {
      const sampled = await isSampledParent(runs, parent);
      return writeTrace({ traceId: traceIdOf(runId), sampled, state: "" }, null);
    },
    task(context, { runId, step, fence, n }) {
      const trace = readTrace(context);
      return trace && writeTrace(trace, attemptIdOf(runId, step, fence, n));
    },
    committed: (work) => later(state, () => emitCommitted(state, work)),
    granted(leases, ms) {
      if (leases.length > 0) later(state, () => emitGranted(state, leases, ms));
    },
    async stop() {
      await state.last;
      await sink?.stop();
    },
  } satisfies Tracing);
}

/** The trace of a run whose caller has given none. */
function newTrace(runId: RunId, ratio: number): TraceContext {
  const traceId = traceIdOf(runId);
  return writeTrace({ traceId, sampled: isSampled(traceId, ratio), state: "" }, null);
}

/** A parent that begins in the same batch brings its trace with it: it cannot be read yet. */
async function isSampledParent(
  runs: TracedRuns,
  parent: RunHead & { readonly trace?: TraceContext },
): Promise<boolean> {
  if (parent.trace) return readTrace(parent.trace)?.sampled ?? false;
  return (await runs.of([parent.runId])).get(parent.runId)?.trace.sampled ?? false;
}

/** One at a time, so that later work finds what earlier work has cached. */
function later(state: State, work: () => Promise<void>): void {
  const { log } = state.options;
  if (state.waiting === WAITING_MAX) {
    log.warn(
      { event: "traces.dropped" },
      "spans are produced more slowly than work is done: some are dropped",
    );
    return;
  }
  state.waiting++;
  state.last = state.last
    .then(work)
    .catch((error: unknown) => log.warn({ event: "traces.failed", err: String(error) }))
    .finally(() => state.waiting--);
}

async function emitCommitted(
  state: State,
  { worked: { records, started }, now, batch }: CommittedWork,
): Promise<void> {
  const { options, runs } = state;
  const startedIds = new Set(started.map(({ runId }) => runId));
  for (const run of started) await runs.started(run);
  const traced = await runs.of(records.map(({ head }) => head.runId));
  for (const record of records) {
    const { runId } = record.head;
    const found = traced.get(runId);
    if (found) await emitPass(state, found, { record, started: startedIds.has(runId), now });
  }
  const [first] = records;
  emitBatch(options, {
    ...batch,
    now,
    items: records.length,
    id: first ? `${first.head.runId} ${first.after.run.version}` : "",
    links: [...traced.values()].flatMap((one) => (one?.trace.sampled ? [rootLink(one)] : [])),
  });
}

async function emitPass(
  { options, runs }: State,
  traced: Traced,
  pass: Pick<TracedPass, "record" | "started" | "now">,
): Promise<void> {
  const { reads } = options;
  const { record } = pass;
  const { runId } = record.head;
  const wanted = { attempts: false, interventions: false, escalations: true };
  const detail = asksForEscalations(pass) ? await reads.runDetail(runId, wanted) : null;
  const ends = endsRun(pass);
  const origins = ends ? await originsOf(reads, traced.run, record) : [];
  const escalations = detail?.escalations ?? [];
  emit(options, spansOfPass({ ...traced, ...pass, escalations, origins }), traced);
  if (ends) runs.forget(runId);
}

/** Links to the run that this one repeats, and to the attempt that has started it. */
async function originsOf(
  reads: TracingOptions["reads"],
  run: TracedRun,
  { after }: PassRecord,
): Promise<readonly SpanLink[]> {
  const { parent } = after.run;
  const of = [run.rerunOf, parent?.runId ?? null].filter((id) => id !== null);
  if (of.length === 0) return [];
  const found = await reads.tracedRuns(of);
  return [...found.values()].flatMap(({ runId, trace: context }) => {
    const trace = context && readTrace(context);
    if (!trace?.sampled) return [];
    const spanId =
      runId === parent?.runId ? attemptIdOf(runId, parent.step, parent.fence, 0) : rootIdOf(runId);
    return [{ traceId: trace.traceId, spanId }];
  });
}

async function emitGranted(
  { options, runs }: State,
  leases: readonly Granted[],
  ms: number,
): Promise<void> {
  const traced = await runs.of(leases.map(({ ready }) => ready.runId));
  for (const { ready, grantedAt, agentId } of leases) {
    const found = traced.get(ready.runId);
    if (found) emit(options, [queueSpan(found, ready, grantedAt, agentId)], found);
  }
  const [first] = leases;
  if (!first) return;
  const { runId, step, fence, attempt } = first.ready;
  emitBatch(options, {
    name: "claim",
    now: first.grantedAt,
    ms,
    items: leases.length,
    id: [runId, step, fence, attempt, first.grantedAt].join(" "),
    links: leases.flatMap(({ ready }) => {
      const found = traced.get(ready.runId);
      return found?.trace.sampled ? [tryLink(found, ready)] : [];
    }),
  });
}

function emit(
  { lines, sink }: TracingOptions,
  spans: readonly SpanData[],
  { run, trace }: Traced,
): void {
  lines?.(spans, run.trace && trace);
  if (trace.sampled) sink?.take(spans);
}

function emitBatch({ sink }: TracingOptions, of: Committed): void {
  const span = sink && batchSpan(of);
  if (span) sink.take([span]);
}
