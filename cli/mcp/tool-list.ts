/** All tools, and those that a server offers. */
import { usageFailure } from "../failure.ts";
import { clean } from "../words.ts";
import { PERSON_TOOLS } from "./person-tools.ts";
import { READ_TOOLS } from "./read-tools.ts";
import { RUN_TOOLS } from "./run-tools.ts";
import type { Tool } from "./tool.ts";

export const TOOLS: readonly Tool[] = [...READ_TOOLS, ...PERSON_TOOLS, ...RUN_TOOLS];

export interface Selection {
  /** No tool that changes something. */
  readonly readOnly: boolean;
  /** The names of the tools that are allowed; null: all. */
  readonly names: readonly string[] | null;
}

/** Throws CliFailure for a name of no tool, and for a tool that `readOnly` does not allow. */
export function selectTools({ readOnly, names }: Selection): readonly Tool[] {
  for (const name of names ?? []) {
    const tool = TOOLS.find((one) => one.name === name);
    if (!tool)
      throw usageFailure(
        `--tools names "${clean(name)}", which is no tool`,
        `--tools with some of ${TOOLS.map((one) => one.name).join(",")}`,
      );
    if (readOnly && tool.kind !== "read")
      throw usageFailure(
        `--tools names ${name}, which changes something, and --read-only does not allow that`,
        "leave one of them out",
      );
  }
  return TOOLS.filter(
    ({ name, kind }) => (names?.includes(name) ?? true) && (!readOnly || kind === "read"),
  );
}
