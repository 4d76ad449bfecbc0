/** `drover limits`: every limit that holds in the namespace, and how much of it is used. */
import {
  GetLimitsResponseSchema,
  type Limit,
  LimitScope,
} from "@drover/proto/drover/v1/namespace_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { printTable } from "../table.ts";
import { clean, durationWords } from "../words.ts";

export function addLimits(program: Command, ended: Ended): void {
  program
    .command("limits")
    .description("list all limits, how much of them is used, and where to change them")
    .option("--changeable", "only those that can be changed")
    .action(async ({ changeable = false }: { changeable?: boolean }, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.getLimits({ namespace });
      const limits = answer.limits.filter(({ scope }) => !changeable || scope !== LimitScope.FIXED);
      output.data(GetLimitsResponseSchema, { ...answer, limits });
      if (output.format === "table")
        printTable(
          output,
          ["LIMIT", "VALUE", "USED", "DEFAULT", "AT MOST", "OF", "CHANGE"],
          limits.map(rowOf),
        );
      ended(exitCodes.done);
    });
}

function rowOf(limit: Limit): readonly string[] {
  const { name, what, unit, value, defaultValue, used, hardLimit, change } = limit;
  const isFixed = limit.scope === LimitScope.FIXED;
  return [
    clean(name),
    valueWords(value, unit, "none"),
    valueWords(used, unit, ""),
    isFixed ? "" : valueWords(defaultValue, unit, "none"),
    isFixed ? "" : valueWords(hardLimit, unit, ""),
    clean(what),
    clean(change),
  ];
}

const KIB = 1_024;
const BINARY = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

function valueWords(value: number | undefined, unit: string, absent: string): string {
  if (value === undefined) return absent;
  switch (unit) {
    case "bytes":
      return bytesWords(value);
    case "ms":
      return durationWords(value);
    default:
      return String(Math.round(value * 1_000) / 1_000);
  }
}

/** `256 KiB`, `1.5 GiB`, `100 bytes` */
function bytesWords(bytes: number): string {
  const power = Math.min(
    BINARY.length - 1,
    bytes < KIB ? 0 : Math.floor(Math.log(bytes) / Math.log(KIB)),
  );
  return `${Math.round((bytes / KIB ** power) * 10) / 10} ${BINARY[power]}`;
}
