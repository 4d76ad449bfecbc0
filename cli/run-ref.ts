/** A run on the command line: its id, `key:NAME`, or `--key NAME`. */
import { create } from "@bufbuild/protobuf";
import { type RunRef, RunRefSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { usageFailure } from "./failure.ts";

export interface RunRefOptions {
  readonly key?: string | undefined;
}

const keyPrefix = "key:";

export function addRunRef(command: Command): Command {
  return command
    .argument("[run]", "id of the run, or key:NAME")
    .option("--key <name>", "the key that the run was started with, instead of its id");
}

export function runRefOf(run: string | undefined, { key }: RunRefOptions): RunRef {
  if (run !== undefined && key !== undefined)
    throw usageFailure("a run is named by its id or by --key, not both", "leave one of them out");
  const named = key ?? (run?.startsWith(keyPrefix) ? run.slice(keyPrefix.length) : undefined);
  if (named !== undefined) return create(RunRefSchema, { ref: { case: "key", value: named } });
  if (run === undefined) throw usageFailure("which run? Give its id or --key", "drover run list");
  return create(RunRefSchema, { ref: { case: "runId", value: run } });
}
