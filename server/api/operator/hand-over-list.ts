// Hand-overs of partitions, newest first.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { HandOverReason, type HandOverSchema } from "@drover/proto/drover/v1/partition_pb.ts";
import type { OperatorStore } from "../../store/operator-store.ts";
import type { HandOverPage, HandOverRecord } from "../../store/operators.ts";
import type { HandOverReason as StoredReason } from "../../store/partition-session.ts";
import type { Handlers } from "../calls/mount.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { timeField } from "../calls/time-field.ts";
import { pageOf } from "../run/run-list.ts";

const REASONS: Readonly<Record<StoredReason, HandOverReason>> = Object.freeze({
  first: HandOverReason.FIRST,
  "given-back": HandOverReason.GIVEN_BACK,
  lost: HandOverReason.LOST,
});

export function createHandOverCalls({
  store,
}: {
  readonly store: Pick<OperatorStore, "operators">;
}): Pick<Handlers<typeof OperatorService>, "listHandOvers"> {
  return {
    async listHandOvers({ partition = null, pageSize, pageToken }) {
      const list = `hand-overs ${partition ?? "all"}`;
      const page = pageOf(list, pageSize);
      const last = parsePageToken(list, pageToken, (item) => placeFrom(item) !== null);
      const after = last === null ? null : placeFrom(last);
      const rows = await store.operators.handOvers({ partition, after, limit: page.limit + 1 });
      return {
        handOvers: rows.slice(0, page.limit).map(handOverMessage),
        nextPageToken: page.nextToken(rows, (row) =>
          [row.takenAt, row.partition, row.epoch].join(" "),
        ),
      };
    },
  };
}

/** `TIME PARTITION EPOCH`, from a page token; null: the text has another form. */
function placeFrom(text: string): HandOverPage["after"] {
  const found = /^(\d{1,15}) (\d{1,5}) (\d{1,15})$/.exec(text);
  if (!found) return null;
  const [takenAt = 0, partition = 0, epoch = 0] = found.slice(1).map(Number);
  return { takenAt, partition, epoch };
}

function handOverMessage({
  partition,
  epoch,
  node,
  address,
  why,
  takenAt,
  leftAt,
}: HandOverRecord): MessageInitShape<typeof HandOverSchema> {
  return {
    partition,
    epoch: BigInt(epoch),
    supervisor: node,
    address: address ?? "",
    reason: REASONS[why],
    takenTime: timestampFromMs(takenAt),
    ...timeField("leftTime", leftAt),
  };
}
