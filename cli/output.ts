/**
 * The output of a command. Data goes to standard output, in the requested format; notes, hints and
 * errors go to standard error, so that a pipe gets data only.
 *
 *     table   for people; on a terminal with colours, ages, and no wider than it
 *     wide    the same with whole texts and times
 *     name    the names of a list, or the run that was started, as other commands take them
 *     json    one document in the JSON form of protobuf
 *     yaml    the same in YAML
 *     jsonl   the same, one line for each item or state
 */
import { styleText } from "node:util";
import { type DescMessage, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import type { stringify } from "yaml";
import type { Format } from "./global-options.ts";
import { columnsIfUnknown, createScreen, type Screen } from "./screen.ts";
import { ageWords, timeWords } from "./words.ts";

export type Style = "bold" | "dim" | "green" | "red" | "yellow" | "cyan";

export interface Output {
  /** What is wide is a table, too. */
  readonly format: Exclude<Format, "wide">;
  /** The width that tables fit in; null: tables are not cut. */
  readonly columns: number | null;
  /** Texts are not cut, however long they are. */
  readonly isWide: boolean;
  /** A time in a list: its age while tables are cut, else the time. */
  when(timestamp: Timestamp | undefined): string;
  /** Set if standard output is a terminal that can be redrawn. */
  readonly screen: Screen | null;
  line(text: string): void;
  note(text: string): void;
  /** A note with the next command, complete, so that it can be copied. */
  next(command: string): void;
  /** Flags for further commands, so that they use the same server and namespace. */
  readonly again: string;
  /** The text in a style if standard output supports it, else unchanged. */
  paint(style: Style, text: string): string;
  /** Writes the names with `-o name`, else nothing. */
  names(names: readonly string[]): void;
  /** Writes in the requested format; for `table` and `name` nothing. */
  data<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): void;
  /** The same for a value that is no message of the contract. */
  value(value: JsonValue): void;
}

let writeYaml: typeof stringify | undefined;

/** Called before any output: loads what only one format needs. */
export async function prepareOutput(format: Format): Promise<void> {
  if (format === "yaml") writeYaml = (await import("yaml")).stringify;
}

export function createOutput(asked: Format, colours: boolean, again = ""): Output {
  const { stdout, stderr } = process;
  const format = asked === "wide" ? "table" : asked;
  const isCut = asked === "table" && stdout.isTTY;
  const line = (text: string) => void stdout.write(`${text}\n`);
  const value = (of: JsonValue) => {
    if (format !== "table" && format !== "name") line(written[format](of));
  };
  return Object.freeze({
    format,
    /** A watched terminal may change its size. */
    get columns() {
      return isCut ? stdout.columns || columnsIfUnknown : null;
    },
    isWide: asked === "wide",
    when: (time: Timestamp | undefined) =>
      !isCut || !time ? timeWords(time) : ageWords(Date.now() - timestampMs(time)),
    screen: format === "table" && stdout.isTTY ? createScreen(stdout) : null,
    line,
    note: (text: string) => void stderr.write(`${text}\n`),
    next: (command: string) => void stderr.write(`  next: ${command}${again}\n`),
    again,
    paint: (style: Style, text: string) =>
      colours ? styleText(style, text, { stream: stdout }) : text,
    names: (names: readonly string[]) => {
      if (format === "name") for (const name of names) line(name);
    },
    data: (desc: DescMessage, message: MessageShape<DescMessage>) => {
      if (format !== "table" && format !== "name") value(toJson(desc, message));
    },
    value,
  });
}

const written: Readonly<
  Record<Exclude<Format, "table" | "wide" | "name">, (value: JsonValue) => string>
> = {
  json: (value) => JSON.stringify(value, null, 2),
  yaml: (value) => {
    if (!writeYaml) throw new Error("prepareOutput was not called before data is written as YAML");
    return writeYaml(value).trimEnd();
  },
  jsonl: (value) => JSON.stringify(value),
};
