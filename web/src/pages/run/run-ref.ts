// How a call names a run.
import type { Run } from "@drover/proto/drover/v1/run_pb.ts";

export function refOf({ namespace, runId }: Pick<Run, "namespace" | "runId">) {
  return { namespace, run: { ref: { case: "runId", value: runId } } } as const;
}

const KEPT_AS = "drover.name";

/** The name that the user last stated; it is not verified. */
export function statedName(): string {
  return localStorage.getItem(KEPT_AS) ?? "";
}

export function keepStatedName(name: string): void {
  localStorage.setItem(KEPT_AS, name);
}
