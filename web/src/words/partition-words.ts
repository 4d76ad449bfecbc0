// Supervisors, and reasons for hand-overs of partitions, in the words of the command line.
import {
  HandOverReason,
  type Partition,
  type Supervisor,
} from "@drover/proto/drover/v1/partition_pb.ts";
import type { Standing } from "../parts/badge.tsx";

const reasons: Readonly<Record<number, string>> = {
  [HandOverReason.FIRST]: "nobody had had it",
  [HandOverReason.GIVEN_BACK]: "it was given back",
  [HandOverReason.LOST]: "its owner was gone",
};

export function handOverWords(reason: HandOverReason): string {
  return reasons[reason] ?? "unknown";
}

export function partitionStanding({
  watched,
  late,
}: Pick<Partition, "watched" | "late">): Standing {
  if (!watched) return { tone: "bad", word: "nobody watches" };
  return late ? { tone: "warning", word: "late" } : { tone: "ok", word: "watched" };
}

export function supervisorStanding({ alive }: Pick<Supervisor, "alive">): Standing {
  return alive ? { tone: "ok", word: "watching" } : { tone: "bad", word: "silent" };
}
