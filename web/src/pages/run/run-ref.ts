// How a call names a run.
import type { Run } from "@drover/proto/drover/v1/run_pb.ts";

export function refOf({ namespace, runId }: Pick<Run, "namespace" | "runId">) {
  return { namespace, run: { ref: { case: "runId", value: runId } } } as const;
}
