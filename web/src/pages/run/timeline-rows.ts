// The rows of the timeline, and the position of a time on it.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Attempt, Intervention, ItemCounts } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";

export interface Row {
  /** Id of the step; "" for the run as a whole. */
  readonly step: string;
  readonly attempts: readonly Attempt[];
  readonly interventions: readonly Intervention[];
  /** Set for a map, whose items share this row. */
  readonly items: ItemCounts | null;
}

export interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
}

/** In the order of the definition; events of `load[3]` are in the row of `load`. */
export function rowsOf({ steps, attempts, interventions }: GetRunResponse): readonly Row[] {
  const attemptsOf = Map.groupBy(attempts, mapOf);
  const interventionsOf = Map.groupBy(interventions, mapOf);
  const known = ["", ...steps.map(({ id }) => id)];
  return known
    .filter((id) => attemptsOf.has(id) || interventionsOf.has(id))
    .map((step) => ({
      step,
      attempts: attemptsOf.get(step) ?? [],
      interventions: interventionsOf.get(step) ?? [],
      items: steps.find(({ id }) => id === step)?.items ?? null,
    }));
}

/** `load` for `load[3]`; ids of steps contain no brackets. */
function mapOf({ stepId }: { readonly stepId: string }): string {
  const at = stepId.indexOf("[");
  return at === -1 ? stepId : stepId.slice(0, at);
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
