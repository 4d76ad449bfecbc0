// Which trace a run is part of: asked for when it begins, and stored with it.
import type { RunHead, RunId } from "../store/run-head.ts";
import type { TraceContext } from "../store/trace.ts";
import type { ScheduleRequest } from "./scheduler.ts";

export interface RunTraces {
  /** `given`: by whoever schedules it; null: he has said nothing. */
  begin(runId: RunId, given: TraceContext | null): TraceContext;
  /** Of a child: a trace of its own, which is sampled if its parent's is. */
  child(runId: RunId, parent: RunHead): Promise<TraceContext>;
}

/** What is to begin, with the trace that it is part of. */
export function withTrace<Item extends { readonly request: ScheduleRequest }>(
  { traces }: { readonly traces?: RunTraces | undefined },
  item: Item,
  runId: RunId,
): Item {
  if (!traces) return item;
  const trace = traces.begin(runId, item.request.trace ?? null);
  return { ...item, request: { ...item.request, trace } };
}
