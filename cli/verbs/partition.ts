/**
 * `drover partition list` and `history`, `drover supervisor list`: the owners of partitions, how
 * late they are, and the owners before.
 */
import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  type HandOver,
  HandOverReason,
  HandOverSchema,
  ListHandOversResponseSchema,
  ListPartitionsResponseSchema,
  ListSupervisorsResponseSchema,
  type Partition,
  PartitionSchema,
  SupervisorSchema,
} from "@drover/proto/drover/v1/partition_pb.ts";
import type { Command } from "commander";
import { wholeNumber } from "../context.ts";
import type { Ended } from "../failure.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import { between, clean, durationWords, timeWords } from "../words.ts";

/** The maximum of the database's smallint. */
const partitionMax = 32_767;

export function addPartitionVerbs(partition: Command, ended: Ended): void {
  addPartitionList(partition, ended);
  addHistory(partition, ended);
}

function addHistory(partition: Command, ended: Ended): void {
  const verb = partition
    .command("history")
    .description(
      "list the supervisors of a partition, or of all, over time, and the reason of each hand-over",
    )
    .argument("[partition]", "its number; all by default", wholeNumber(0, partitionMax))
    .option("--limit <n>", "most hand-overs to list", wholeNumber(1, limitMax), 50);
  addList(verb, ended, {
    ofCluster: true,
    headers: ["TAKEN", "PARTITION", "EPOCH", "BY", "ADDRESS", "REASON", "LEFT", "OWNED FOR"],
    read({ operator }, { limit }: { readonly limit: number }, [number]) {
      const asked = number === undefined ? {} : { partition: Number(number) };
      return readPages<HandOver>(limit, async (page) => {
        const answer = await operator.listHandOvers({ ...asked, ...page });
        return { items: answer.handOvers, nextPageToken: answer.nextPageToken };
      });
    },
    item: HandOverSchema,
    document: ({ items: handOvers, nextPageToken }) =>
      documentOf(ListHandOversResponseSchema, { handOvers, nextPageToken }),
    row: (one, output) => [
      output.when(one.takenTime),
      String(one.partition),
      String(one.epoch),
      clean(one.supervisor),
      clean(one.address),
      reasons[one.reason] ?? `reason ${one.reason}`,
      output.when(one.leftTime),
      between(one.takenTime, one.leftTime),
    ],
    none: "no supervisor has owned it yet",
  });
}

const reasons: Readonly<Record<number, string>> = {
  [HandOverReason.FIRST]: "first owner",
  [HandOverReason.GIVEN_BACK]: "returned by its owner",
  [HandOverReason.LOST]: "its owner was lost",
};

function addPartitionList(partition: Command, ended: Ended): void {
  const verb = partition
    .command("list")
    .description("list the partitions of all runs: the supervisor of each, and its lateness")
    .option("--late", "only partitions without a supervisor, or late ones (--overdue)");
  addList(verb, ended, {
    ofCluster: true,
    headers: ["PARTITION", "REGION", "SUPERVISOR", "ADDRESS", "TAKEN", "HAND-OVERS", "LATENESS"],
    async read(
      { operator },
      { late = false }: { readonly late?: boolean; readonly limit?: number },
    ) {
      const { items } = await readPages<Partition>(limitMax, async (page) => {
        const answer = await operator.listPartitions(page);
        return { items: answer.partitions, nextPageToken: answer.nextPageToken };
      });
      return { items: late ? items.filter((one) => one.late) : items, nextPageToken: "" };
    },
    item: PartitionSchema,
    document: ({ items: partitions }) => documentOf(ListPartitionsResponseSchema, { partitions }),
    row: (one, output) => [
      String(one.partition),
      clean(one.region),
      watcherWords(one),
      clean(one.address),
      output.when(one.takenTime),
      String(one.epoch),
      one.lag ? durationWords(durationMs(one.lag)) : "",
    ],
    nameOf: ({ partition: number }) => String(number),
    none: "every partition has a supervisor, and none is late",
  });
}

function watcherWords({ watched, supervisor, lastSeenTime }: Partition): string {
  if (watched) return clean(supervisor);
  if (supervisor === "") return "none";
  const seen = lastSeenTime ? `, last seen ${timeWords(lastSeenTime)}` : "";
  return `none; ${clean(supervisor)} was lost${seen}`;
}

export function addSupervisorVerbs(supervisor: Command, ended: Ended): void {
  const verb = supervisor
    .command("list")
    .description("list the supervisors, and the number of partitions of each");
  addList(verb, ended, {
    ofCluster: true,
    headers: ["SUPERVISOR", "ADDRESS", "SINCE", "LAST SEEN", "PARTITIONS", ""],
    async read({ operator }) {
      const { supervisors } = await operator.listSupervisors({});
      return { items: supervisors, nextPageToken: "" };
    },
    item: SupervisorSchema,
    document: ({ items: supervisors }) =>
      documentOf(ListSupervisorsResponseSchema, { supervisors }),
    row: (one, output) => [
      clean(one.id),
      clean(one.address),
      output.when(one.startedTime),
      output.when(one.lastSeenTime),
      String(one.partitions),
      one.alive ? "" : "silent",
    ],
    none: "no supervisor\n  next: drover server starts one",
  });
}
