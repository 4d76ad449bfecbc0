// Watermarks in the form in which the statements that scan ready rows take them.
import { type LaneRange, rangesOf, type Watermark } from "../watermarks.ts";
import { columns } from "./columns.ts";

/** The ranges in which each lane is scanned, as arrays within three columns. */
export function rangeArrays(
  lanes: readonly { readonly lane: number }[],
  marks: readonly Watermark[],
): Readonly<Record<string, string>> {
  const arrayOf = (ranges: readonly LaneRange[], value: (range: LaneRange) => unknown): string =>
    `{${ranges.map(value).join()}}`;
  const all = rangesOf(
    lanes.map(({ lane }) => lane),
    marks,
  );
  return columns(all, {
    priorities: (ranges) => arrayOf(ranges, ({ priority }) => priority),
    firsts: (ranges) => arrayOf(ranges, ({ from }) => from),
    lasts: (ranges) => arrayOf(ranges, ({ lastPriority }) => lastPriority),
  });
}
