// Every span of a run's trace: its meaning, its times, and its attributes. The page docs/TRACES.md
// has this list, and only spans of this list are made. No span has a payload or a text that an
// agent wrote.

/** The kind of a span in OpenTelemetry. */
type SpanRole = "internal" | "client" | "server";

export interface SpanSpec {
  /** What follows the span's word in its name; "": nothing. */
  readonly named: "" | "workflow" | "step" | "rule" | "reason" | "method" | "work";
  readonly role: SpanRole;
  readonly attributes: readonly string[];
  /** The span's meaning, and its begin and end. */
  readonly help: string;
}

const STEP = ["drover.step.id", "drover.step.item"] as const;
const TRY = [...STEP, "drover.fence", "drover.attempt"] as const;
const TASK = [...TRY, "drover.task", "drover.queue", "drover.agent.id"] as const;
const ENDED = ["drover.outcome", "error.type"] as const;

export const SPANS = Object.freeze({
  run: {
    named: "workflow",
    role: "internal",
    attributes: ["drover.workflow.version", "drover.run.state", "drover.run.reason"],
    help: "The run, from its creation to its end: the root, or a child of the span that scheduled it. Links to the attempt that started it and to the run that it repeats.",
  },
  pending: {
    named: "",
    role: "internal",
    attributes: ["drover.waits.for"],
    help: "The run was accepted and had not started: it waited for its start, or for a permit.",
  },
  paused: {
    named: "",
    role: "internal",
    attributes: [],
    help: "The run was paused.",
  },
  stop: {
    named: "",
    role: "internal",
    attributes: ["drover.run.reason", "drover.undo"],
    help: "When it was decided that the run stops, and whether it is undone.",
  },
  queue: {
    named: "step",
    role: "internal",
    attributes: [...TRY, "drover.task", "drover.agent.id"],
    help: "A task was ready in its queue until an agent got it.",
  },
  perform: {
    named: "step",
    role: "client",
    attributes: [...TASK, ...ENDED],
    help: "One try to perform a step, from its hand-out to its end. The agent's own spans are its children. Links to the try before it.",
  },
  verify: {
    named: "step",
    role: "client",
    attributes: [...TASK, ...ENDED],
    help: "One try to find out whether an attempt took effect; links to that attempt.",
  },
  compensate: {
    named: "step",
    role: "client",
    attributes: [...TASK, ...ENDED],
    help: "One try to undo a step; links to the try before it.",
  },
  child: {
    named: "step",
    role: "internal",
    attributes: [...TRY, ...ENDED],
    help: "A step waited for the child run that it started, which has its own trace: links to it.",
  },
  report: {
    named: "step",
    role: "internal",
    attributes: [...TRY, "drover.agent.id", "drover.late", ...ENDED],
    help: "When an attempt that had ended was reported after all; links to it. Late: nothing changed by it.",
  },
  failure: {
    named: "step",
    role: "internal",
    attributes: [...TRY, "error.type"],
    help: "When a step failed without a report of an agent, as when all its time is over.",
  },
  wait: {
    named: "step",
    role: "internal",
    attributes: [...STEP, "drover.waits.for"],
    help: "A step waited for a time, a signal, people or a callback.",
  },
  backoff: {
    named: "step",
    role: "internal",
    attributes: [...STEP, "drover.task", "drover.waits.for"],
    help: "A task waits before it is handed out again. The span is exported when the wait begins, with its planned end.",
  },
  supervise: {
    named: "rule",
    role: "internal",
    attributes: [...STEP, "drover.fence", "drover.saw", "drover.did", "drover.epoch"],
    help: "An intervention, from its due time to the action; links to the attempt that it is about.",
  },
  escalation: {
    named: "reason",
    role: "internal",
    attributes: [...STEP, "error.type", "drover.answer", "drover.closed.by"],
    help: "A question that only a person can answer, from its opening to its answer, or to the end of the run.",
  },
} as const satisfies Readonly<Record<string, SpanSpec>>);

/** Spans of a server's own work, which concerns several runs, or none. */
export const SERVER_SPANS = Object.freeze({
  call: {
    named: "method",
    role: "server",
    attributes: ["rpc.method", "error.type"],
    help: "A call that came within a sampled trace of its caller (the header `traceparent`), from its arrival to its answer, by the server's clock. A child of the caller's span.",
  },
  batch: {
    named: "work",
    role: "internal",
    attributes: ["drover.batch.items"],
    help: "A transaction that was committed: `advance` moves runs, `schedule` starts them, `claim` hands tasks out, `occurrences` starts the runs of schedules. It has its own trace, with up to 128 links: to the sampled runs that it moved, or to the tries that it handed out. A transaction without a sampled run has no span.",
  },
} as const satisfies Readonly<Record<string, SpanSpec>>);

export type SpanName = keyof typeof SPANS;
type ServerSpanName = keyof typeof SERVER_SPANS;
export type AttributesOf<Name extends SpanName> = Readonly<
  Partial<Record<(typeof SPANS)[Name]["attributes"][number], string | number | boolean | null>>
>;

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
}

/** A span that has ended. */
export interface SpanData extends SpanLink {
  readonly of: SpanName | ServerSpanName;
  readonly name: string;
  readonly role: SpanRole;
  /** null: it is the root of its trace. */
  readonly parentId: string | null;
  /** The tracestate of W3C; "": none. */
  readonly state: string;
  /** Milliseconds since 1970 by the database's clock. */
  readonly startMs: number;
  readonly endMs: number;
  /** The failure as a stable code; null: no failure. */
  readonly error: string | null;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly SpanLink[];
}

/** Accepts spans and sends them in the background. */
export interface SpanSink {
  /** Never throws and never waits: spans without room are dropped. */
  take(spans: readonly SpanData[]): void;
  /** Sends the spans that it has. */
  stop(): Promise<void>;
}
