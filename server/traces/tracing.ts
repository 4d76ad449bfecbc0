// The traces of a process. It decides which trace a run and a task are part of. After each commit
// it makes the spans of everything that has ended, and passes them to the sink. It reads the store
// outside the path of calls, so no caller waits for a trace.
import type { Logger } from "pino";
import type { TaskTrace } from "../dispatch/handed-task.ts";
import type { CommitSummary } from "../scheduler/commit-summary.ts";
import type { RunTraces } from "../scheduler/run-traces.ts";
import type { PassRecord } from "../store/pass-record.ts";
import type { Plans } from "../store/plans.ts";
import type { Reads } from "../store/reads.ts";
import type { Granted, NewRun, RunHead, RunId } from "../store/store.ts";
import {
  readTrace,
  type Trace,
  type TraceContext,
  type TracedRun,
  writeTrace,
} from "../store/trace.ts";
import type { SpanData, SpanLink, SpanSink } from "../telemetry/spans.ts";
import { attemptIdOf, isSampled, rootIdOf, traceIdOf } from "./ids.ts";
import { asksForEscalations, endsRun, queueSpan, spansOfPass } from "./pass-spans.ts";
import { batchSpan, type Committed } from "./server-spans.ts";
import { rootLink, type Traced, tryLink } from "./span-of.ts";

/** Most runs whose constant data is cached. */
const KNOWN_MAX = 10_000;
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

export interface Tracing extends RunTraces {
  /** The trace that an agent gets with a task: the span of the attempt. */
  readonly task: TaskTrace;
  committed(summary: Pick<CommitSummary, "worked" | "now" | "batch">): void;
  /** `ms`: how long the claim took. */
  granted(leases: readonly Granted[], ms: number): void;
  /** Makes the spans of all published commits, and lets the sink send them. */
  stop(): Promise<void>;
}

export function createTracing(options: TracingOptions): Tracing {
  const { reads, sink, lines, ratio, log } = options;
  const known = createKnown(options);
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;

  /** One at a time, so that later work finds what earlier work has cached. */
  function later(work: () => Promise<void>): void {
    if (waiting === WAITING_MAX) {
      log.warn({ event: "traces.dropped" }, "spans are made slower than work is done");
      return;
    }
    waiting++;
    last = last
      .then(work)
      .catch((error: unknown) => log.warn({ event: "traces.failed", err: String(error) }))
      .finally(() => waiting--);
  }

  function emit(spans: readonly SpanData[], { run, trace }: Traced): void {
    lines?.(spans, run.trace && trace);
    if (trace.sampled) sink?.take(spans);
  }

  /** A parent that begins in the same batch brings its trace with it: it cannot be read yet. */
  async function isParentSampled(head: RunHead & { readonly trace?: TraceContext }) {
    if (head.trace) return readTrace(head.trace)?.sampled ?? false;
    return (await known.of([head.runId])).get(head.runId)?.trace.sampled ?? false;
  }

  async function originsOf(run: TracedRun, { after }: PassRecord): Promise<readonly SpanLink[]> {
    const { parent } = after.run;
    const of = [run.rerunOf, parent?.runId ?? null].filter((id) => id !== null);
    if (of.length === 0) return [];
    const found = await reads.tracedRuns(of);
    return [...found.values()].flatMap(({ runId, trace: context }) => {
      const trace = context && readTrace(context);
      if (!trace?.sampled) return [];
      const spanId =
        runId === parent?.runId
          ? attemptIdOf(runId, parent.step, parent.fence, 0)
          : rootIdOf(runId);
      return [{ traceId: trace.traceId, spanId }];
    });
  }

  async function passed(record: PassRecord, traced: Traced, begun: boolean, now: number) {
    const { runId } = record.head;
    const wanted = { attempts: false, interventions: false, escalations: true };
    const detail = asksForEscalations({ record, begun })
      ? await reads.runDetail(runId, wanted)
      : null;
    const ends = endsRun({ record, begun });
    const origins = ends ? await originsOf(traced.run, record) : [];
    const escalations = detail?.escalations ?? [];
    emit(spansOfPass({ ...traced, record, begun, now, escalations, origins }), traced);
    if (ends) known.forget(runId);
  }

  function committed(of: Committed): void {
    const span = sink && batchSpan(of);
    if (span) sink.take([span]);
  }

  return Object.freeze({
    begin(runId, given) {
      if (given && readTrace(given)) return given;
      const traceId = traceIdOf(runId);
      return writeTrace({ traceId, sampled: isSampled(traceId, ratio), state: "" }, null);
    },
    async child(runId, parent) {
      const sampled = await isParentSampled(parent);
      return writeTrace({ traceId: traceIdOf(runId), sampled, state: "" }, null);
    },
    task(context, { runId, step, fence, n }) {
      const trace = readTrace(context);
      return trace && writeTrace(trace, attemptIdOf(runId, step, fence, n));
    },
    committed({ worked: { records, begun }, now, batch }) {
      const ids = new Set(begun.map(({ runId }) => runId));
      later(async () => {
        for (const run of begun) await known.learn(tracedRun(run));
        const traced = await known.of(records.map(({ head }) => head.runId));
        for (const record of records) {
          const found = traced.get(record.head.runId);
          if (found) await passed(record, found, ids.has(record.head.runId), now);
        }
        const [first] = records;
        const id = first ? `${first.head.runId} ${first.after.run.version}` : "";
        committed({
          ...batch,
          now,
          items: records.length,
          id,
          links: [...traced.values()].flatMap((one) => (one?.trace.sampled ? [rootLink(one)] : [])),
        });
      });
    },
    granted(leases, ms) {
      if (leases.length === 0) return;
      later(async () => {
        const traced = await known.of(leases.map(({ ready }) => ready.runId));
        for (const { ready, grantedAt, agentId } of leases) {
          const found = traced.get(ready.runId);
          if (found) emit([queueSpan(found, ready, grantedAt, agentId)], found);
        }
        const [first] = leases;
        if (!first) return;
        const { runId, step, fence, attempt } = first.ready;
        committed({
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
      });
    },
    async stop() {
      await last;
      await sink?.stop();
    },
  } satisfies Tracing);
}

function tracedRun(run: NewRun): TracedRun {
  const { runId, namespaceId, definitionId, workflow, version, createdAt, trace = null } = run;
  const of = { runId, namespaceId, definitionId, workflow, version, createdAt, trace };
  return { ...of, parentId: run.parent?.runId ?? null, rerunOf: run.rerunOf?.runId ?? null };
}

/**
 * The constant data of runs, read once; null: neither sink nor log needs it. The oldest is dropped
 * first.
 */
function createKnown({ reads, plans, lines }: Pick<TracingOptions, "reads" | "plans" | "lines">) {
  const known = new Map<RunId, Traced | null>();

  async function learn(run: TracedRun): Promise<Traced | null> {
    const own = { traceId: traceIdOf(run.runId), callerId: null, sampled: false, state: "" };
    const trace = (run.trace && readTrace(run.trace)) ?? own;
    const traced =
      trace.sampled || lines
        ? { run, trace, plan: (await plans.get(run.namespaceId, run.definitionId)).plan }
        : null;
    known.set(run.runId, traced);
    const [oldest] = known.keys();
    if (known.size > KNOWN_MAX && oldest !== undefined) known.delete(oldest);
    return traced;
  }

  return Object.freeze({
    learn,
    async of(ids: readonly RunId[]): Promise<ReadonlyMap<RunId, Traced | null>> {
      const found = new Map<RunId, Traced | null>();
      const unknown = new Set<RunId>();
      for (const id of ids) {
        const traced = known.get(id);
        if (traced === undefined) unknown.add(id);
        else found.set(id, traced);
      }
      if (unknown.size === 0) return found;
      for (const run of (await reads.tracedRuns([...unknown])).values())
        found.set(run.runId, await learn(run));
      return found;
    },
    forget: (id: RunId) => void known.delete(id),
  });
}
