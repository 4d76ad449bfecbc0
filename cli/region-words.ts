/** A region without supervisors, and the command that starts one. */
import type { LateRegion } from "@drover/proto/drover/v1/overview_pb.ts";
import { clean, counted } from "./words.ts";

/** `no supervisor for region "eu" (256 partitions)`, or `for 3 of 256 partitions of region "eu"` */
export function unwatchedWords({ region, unwatched, partitions }: LateRegion): string {
  const name = `region "${clean(region)}"`;
  return unwatched === partitions
    ? `no supervisor for ${name} (${counted(partitions, "partition")})`
    : `no supervisor for ${unwatched} of ${counted(partitions, "partition")} of ${name}`;
}

export function supervisorCommand({ region }: Pick<LateRegion, "region">): string {
  return `drover supervisor --region ${clean(region)}`;
}
