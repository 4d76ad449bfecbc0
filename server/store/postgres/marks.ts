// Marks as the statement takes them that looks for ready rows.
import { type LaneRange, rangesOf, type Watermark } from "../watermarks.ts";
import { columns } from "./columns.ts";

/** Of each lane the ranges in which it is walked, as arrays within three columns. */
export function rangeArrays(
  lanes: readonly { readonly lane: number }[],
  marks: readonly Watermark[],
): unknown[] {
  const arrayOf = (ranges: readonly LaneRange[], value: (range: LaneRange) => unknown): string =>
    `{${ranges.map(value).join()}}`;
  const looks = rangesOf(
    lanes.map(({ lane }) => lane),
    marks,
  );
  return columns(
    looks,
    (ranges) => arrayOf(ranges, ({ priority }) => priority),
    (ranges) => arrayOf(ranges, ({ from }) => from),
    (ranges) => arrayOf(ranges, ({ lastPriority }) => lastPriority),
  );
}
