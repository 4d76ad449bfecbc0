// The spans of a server's own work. A transaction moves runs of several traces at once, so it has
// its own trace, with a link to each of them.
import { createHash } from "node:crypto";
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Trace } from "../../store/trace.ts";
import { SERVER_SPANS, type SpanData, type SpanLink } from "../spans.ts";

/** A batch contains some hundred runs; receivers keep 128 links of a span. */
const LINKS_MAX = 128;

export interface Committed {
  /** The kind of batch: advance, schedule, claim, occurrences … */
  readonly name: string;
  /** The time of the transaction, by the database's clock. */
  readonly now: EpochMs;
  /** How long it took, until the commit was known. */
  readonly ms: number;
  /** Runs or tasks that it changed. */
  readonly items: number;
  /** Unique for each batch. */
  readonly id: string;
  /** Links to the sampled runs or tasks that it changed. */
  readonly links: readonly SpanLink[];
}

/** null: nothing that it changed is sampled. */
export function batchSpan({ name, now, ms, items, id, links }: Committed): SpanData | null {
  if (links.length === 0) return null;
  const hash = createHash("sha256").update(`batch ${name} ${id}`).digest("hex");
  return {
    of: "batch",
    name: `batch ${name}`,
    role: SERVER_SPANS.batch.role,
    traceId: hash.slice(0, 32),
    spanId: hash.slice(32, 48),
    parentId: null,
    state: "",
    startMs: now,
    endMs: now + ms,
    error: null,
    attributes: { "drover.batch.items": items },
    links: links.slice(0, LINKS_MAX),
  };
}

interface CallEnded {
  readonly service: string;
  readonly method: string;
  /** The trace of the caller, with the caller's span. */
  readonly caller: Trace;
  /** 8 bytes, hex. */
  readonly spanId: string;
  readonly startMs: number;
  readonly endMs: number;
  /** A stable reason or code; null: the call succeeded. */
  readonly error: string | null;
}

export function callSpan(ended: CallEnded): SpanData {
  const { service, method, caller, spanId, startMs, endMs, error } = ended;
  return {
    of: "call",
    name: `call ${method}`,
    role: SERVER_SPANS.call.role,
    traceId: caller.traceId,
    spanId,
    parentId: caller.callerId,
    state: caller.state,
    startMs,
    endMs: Math.max(startMs, endMs),
    error,
    links: [],
    attributes: {
      "rpc.method": `${service}/${method}`,
      ...(error === null ? {} : { "error.type": error }),
    },
  };
}
