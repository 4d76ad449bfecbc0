/**
 * Where a command writes. Data goes to standard output, in the format that was asked for; what is
 * said about it (notes, hints, errors) to standard error, so that a pipe gets data alone.
 *
 *     table   for people; colours if the stream is a terminal
 *     json    one document in the JSON form of protobuf
 *     yaml    the same in YAML
 *     jsonl   the same, one line for each item or state
 */
import { styleText } from "node:util";
import { type DescMessage, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import type { stringify } from "yaml";
import type { Format } from "./global-options.ts";
import { createScreen, type Screen } from "./screen.ts";

export type Style = "bold" | "dim" | "green" | "red" | "yellow" | "cyan";

export interface Output {
  readonly format: Format;
  /** A terminal on which lines may be drawn anew. */
  readonly screen: Screen | null;
  line(text: string): void;
  note(text: string): void;
  /** Notes the command to go on with: whole, so that it can be copied. */
  next(command: string): void;
  /** What a command says at its end to mean the same server and namespace as this one. */
  readonly again: string;
  /** The text in a style where standard output shows it, else as it is. */
  paint(style: Style, text: string): string;
  /** In the format that was asked for; in `table` nothing. */
  data<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): void;
  /** The same for what is no message of the contract. */
  value(value: JsonValue): void;
}

let writeYaml: typeof stringify | undefined;

/** Before anything is written: loads what other formats need not wait for. */
export async function prepareOutput(format: Format): Promise<void> {
  if (format === "yaml") writeYaml = (await import("yaml")).stringify;
}

export function createOutput(format: Format, colours: boolean, again = ""): Output {
  const { stdout, stderr } = process;
  const line = (text: string) => void stdout.write(`${text}\n`);
  const value = (of: JsonValue) => {
    if (format !== "table") line(written[format](of));
  };
  return Object.freeze({
    format,
    screen: format === "table" && stdout.isTTY ? createScreen(stdout) : null,
    line,
    note: (text: string) => void stderr.write(`${text}\n`),
    next: (command: string) => void stderr.write(`  next: ${command}${again}\n`),
    again,
    paint: (style: Style, text: string) =>
      colours ? styleText(style, text, { stream: stdout }) : text,
    data: (desc: DescMessage, message: MessageShape<DescMessage>) => {
      if (format !== "table") value(toJson(desc, message));
    },
    value,
  });
}

const written: Readonly<Record<Exclude<Format, "table">, (value: JsonValue) => string>> = {
  json: (value) => JSON.stringify(value, null, 2),
  yaml: (value) => {
    if (!writeYaml) throw new Error("prepareOutput was not called before data is written as YAML");
    return writeYaml(value).trimEnd();
  },
  jsonl: (value) => JSON.stringify(value),
};
