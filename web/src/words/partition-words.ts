// Supervisors, and reasons for hand-overs of partitions, in the words of the command line.
import {
  HandOverReason,
  type Partition,
  type Supervisor,
} from "@drover/proto/drover/v1/partition_pb.ts";
import type { Status } from "../parts/badge.tsx";

const reasons: Readonly<Record<number, string>> = {
  [HandOverReason.FIRST]: "first owner",
  [HandOverReason.GIVEN_BACK]: "returned by its owner",
  [HandOverReason.LOST]: "its owner was lost",
};

export function handOverWords(reason: HandOverReason): string {
  return reasons[reason] ?? "unknown";
}

export function partitionStatus({ watched, late }: Pick<Partition, "watched" | "late">): Status {
  if (!watched) return { tone: "bad", word: "no supervisor" };
  return late ? { tone: "warning", word: "late" } : { tone: "ok", word: "watched" };
}

export function supervisorStatus({ alive }: Pick<Supervisor, "alive">): Status {
  return alive ? { tone: "ok", word: "watching" } : { tone: "bad", word: "silent" };
}
