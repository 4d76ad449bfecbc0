// The trace that a run is part of: determined when it begins, and stored with it.
import type { RunHead, RunId } from "../store/run-head.ts";
import type { TraceContext } from "../store/trace.ts";
import type { ScheduleRequest } from "./scheduler.ts";

export interface RunTraces {
  /** `given`: the trace context of the caller; null: it has given none. */
  begin(runId: RunId, given: TraceContext | null): TraceContext;
  /** A child has a trace of its own, which is sampled if its parent's is. */
  child(runId: RunId, parent: RunHead): Promise<TraceContext>;
}

/** The item that is to begin, with the trace that it is part of. */
export function withTrace<Item extends { readonly request: ScheduleRequest }>(
  { traces }: { readonly traces?: RunTraces | undefined },
  item: Item,
  runId: RunId,
): Item {
  if (!traces) return item;
  const trace = traces.begin(runId, item.request.trace ?? null);
  return { ...item, request: { ...item.request, trace } };
}
