// The rows of the timeline, and the position of a time on it.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Attempt, Intervention, ItemCounts, Step } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { placeOf } from "../../words/step-name.ts";
import { type WaitSpan, waitsOf } from "./timeline-waits.ts";

export interface Row {
  /** Id of the step; "" for the run as a whole. */
  readonly step: string;
  readonly attempts: readonly Attempt[];
  readonly interventions: readonly Intervention[];
  readonly waits: readonly WaitSpan[];
  /** Set for a map, whose items share this row. */
  readonly items: ItemCounts | null;
}

export interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * One row for each step, in the order of the definition, also without an attempt; events of
 * `load[3]` are in the row of `load`. The run has a row if a supervisor acted on it.
 */
export function rowsOf(of: GetRunResponse): readonly Row[] {
  const attemptsOf = Map.groupBy(of.attempts, mapOf);
  const interventionsOf = Map.groupBy(of.interventions, mapOf);
  const waits = waitsOf(of, { attemptsOf, interventionsOf });
  const rowOf = (step: string, items: Step["items"]): Row => ({
    step,
    attempts: attemptsOf.get(step) ?? [],
    interventions: interventionsOf.get(step) ?? [],
    waits: waits.get(step) ?? [],
    items: items ?? null,
  });
  return [
    ...(interventionsOf.has("") ? [rowOf("", undefined)] : []),
    ...of.steps.map(({ id, items }) => rowOf(id, items)),
  ];
}

/** `load` for `load[3]`. */
function mapOf({ stepId }: { readonly stepId: string }): string {
  return placeOf(stepId).step;
}

export function msOf(at: Attempt["startedTime"]): number {
  return at === undefined ? 0 : timestampMs(at);
}

export function percent(at: number, { fromMs, toMs }: Scale): string {
  const share = (at - fromMs) / (toMs - fromMs);
  return `${Math.max(0, Math.min(1, share)) * 100}%`;
}

export function width(from: number, to: number, { fromMs, toMs }: Scale): string {
  return `${(Math.max(0, to - Math.max(from, fromMs)) / (toMs - fromMs)) * 100}%`;
}
