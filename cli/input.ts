/**
 * Files and JSON given on the command line: read, and refused with the reason if they are invalid.
 */
import { readFileSync } from "node:fs";
import { errorMessage } from "@drover/server/errors.ts";
import { usageFailure } from "./failure.ts";

const standardInput = 0;

/** The text of a file; `-` is standard input. */
export function readText(file: string): string {
  try {
    return readFileSync(file === "-" ? standardInput : file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    const why =
      code === "ENOENT"
        ? "there is no such file"
        : code === "EISDIR"
          ? "it is a folder"
          : `${error}`;
    throw usageFailure(`cannot read ${file}: ${why}`, "give the path of a file, or - for a pipe");
  }
}

/** An option's value: JSON, or @FILE with JSON in it. It is sent as it was written. */
export function readPayload(given: string | undefined, option: string) {
  if (given === undefined) return undefined;
  return { body: { case: "json" as const, value: readJson(given, option) } };
}

function readJson(given: string, option: string): string {
  const text = given.startsWith("@") ? readText(given.slice(1)) : given;
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw usageFailure(
      `${option} is not JSON: ${errorMessage(error)}`,
      `${option} '{"name": "value"}', or ${option} @file.json`,
    );
  }
}
