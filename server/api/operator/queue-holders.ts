// What holds the slots of agents while other tasks of their queue wait: what most of the runs have
// in common whose tasks agents hold.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { QueueHoldersSchema } from "@drover/proto/drover/v1/queue_pb.ts";
import type { QueueHolding } from "../../store/operators.ts";

/** Most labels, and most workflows. */
const SHARES_MAX = 5;

interface Share {
  readonly label: string;
  readonly value: string;
}

/** `leased`: how many tasks of the queue agents hold, perhaps more than were read. */
export function holdersMessage(
  holdings: readonly QueueHolding[],
  leased: number,
): Exclude<MessageInitShape<typeof QueueHoldersSchema>, { $typeName: string }> {
  const labels = holdings.flatMap((one) =>
    Object.entries(one.labels).map(([label, value]) => ({ label, value })),
  );
  const workflows = holdings.map(({ workflow }) => ({ label: "", value: workflow }));
  const least = holdings.length / 2;
  return {
    tasks: holdings.length,
    more: leased > holdings.length,
    lastGrantedTime: timestampFromMs(Math.max(...holdings.map(({ grantedAt }) => grantedAt))),
    shares: [...frequent(labels, least), ...frequent(workflows, least)],
  };
}

/** Those that occur at least so often, the most frequent first. */
function frequent(shares: readonly Share[], least: number) {
  const alike = Map.groupBy(shares, ({ label, value }) => JSON.stringify([label, value]));
  return [...alike.values()]
    .flatMap(([first, ...others]) => (first ? [{ ...first, tasks: 1 + others.length }] : []))
    .filter(({ tasks }) => tasks >= least)
    .sort((a, b) => b.tasks - a.tasks)
    .slice(0, SHARES_MAX);
}
