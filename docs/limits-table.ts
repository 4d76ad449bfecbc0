/**
 * The table of all limits in docs/NAMESPACES.md, between two comments. The rest of the page is
 * written by hand.
 */
import {
  defaultLimit,
  hardLimit,
  LIMIT_NAMES,
  LIMITS,
  type LimitUnit,
  whereToChange,
} from "../server/api/operator/limit-list.ts";
import { words } from "./duration-words.ts";

const BEGIN =
  "<!-- limits: made by `node docs/generate.ts` from server/api/operator/limit-list.ts -->";
const END = "<!-- limits: end -->";

/** The page with the table as it should be. */
export function withLimits(page: string): string {
  const [before = "", rest = ""] = page.split(BEGIN);
  const [, after = ""] = rest.split(END);
  return `${before}${BEGIN}\n\n${table()}\n\n${END}${after}`;
}

function table(): string {
  const rows = LIMIT_NAMES.map((name) => {
    const { what, unit, source } = LIMITS[name];
    const change = whereToChange(source);
    const value = valueWords(defaultLimit(source), unit);
    const most = change === "" ? "" : valueWords(hardLimit(source), unit);
    return `| ${[`\`${name}\``, what, value, most, change && `\`${change}\``].join(" | ")} |`;
  });
  const head = "| limit | of | default | at most | change |\n| --- | --- | --- | --- | --- |";
  return [head, ...rows].join("\n");
}

const KIB = 1_024;
const BINARY = ["bytes", "KiB", "MiB", "GiB", "TiB"];

function valueWords(value: number | null, unit: LimitUnit): string {
  if (value === null) return "none";
  switch (unit) {
    case "bytes": {
      const power = Math.min(BINARY.length - 1, Math.floor(Math.log(value) / Math.log(KIB)));
      return `${(value / KIB ** power).toLocaleString("en")} ${BINARY[power]}`;
    }
    case "ms":
      return words(value);
    default:
      return value.toLocaleString("en");
  }
}
