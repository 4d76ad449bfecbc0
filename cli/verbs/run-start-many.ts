/**
 * `drover run start-many FILE.jsonl`: starts a run for each line, hundreds in one transaction.
 *
 *     {"workflow": "book-holiday", "input": {"to": "Rome"}, "key": "trip-7"}
 *
 * A refused line does not affect the others. With a key on each line, or `--key`, the command may
 * be repeated.
 */
import { create } from "@bufbuild/protobuf";
import {
  type ScheduleRequest,
  ScheduleRequestSchema,
  type ScheduleResult,
  ScheduleResultSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import { readText } from "../input.ts";
import { clean } from "../words.ts";

/** The limits of one call: 500 runs, and well below 4 MiB. */
const runsMax = 500;
const charsMax = 1_000_000;

interface Line {
  readonly no: number;
  readonly chars: number;
  readonly request: ScheduleRequest;
}

export function addRunStartMany(run: Command, ended: Ended): void {
  run
    .command("start-many")
    .description("start a run for each line of a file: workflow, version, input, key, labels")
    .argument("<file>", "JSON lines; - for a pipe")
    .option("--key <prefix>", "key of a line without one: PREFIX-LINE; makes repeating safe")
    .action(async (file: string, { key }: { key?: string }, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const counts = { started: 0, before: 0, refused: 0 };
      for (const batch of batchesOf(linesOf(file, key))) {
        const runs = batch.map(({ request }) => request);
        const { results } = await scheduler.scheduleBatch({ namespace, runs });
        for (const [at, result] of results.entries()) {
          output.data(ScheduleResultSchema, result);
          counts[whatOf(result)] += 1;
          if (whatOf(result) === "refused")
            output.note(`${file}:${batch[at]?.no}: ${clean(result.status?.message ?? "refused")}`);
        }
      }
      const { started, before, refused } = counts;
      const words = [`started ${started}`, `${before} already started`, `${refused} refused`];
      if (output.format === "table") output.line(words.join(", "));
      ended(refused === 0 ? exitCodes.done : exitCodes.failed);
    });
}

function whatOf({ status, created }: ScheduleResult): "started" | "before" | "refused" {
  if (status?.code !== 0) return "refused";
  return created ? "started" : "before";
}

function linesOf(file: string, prefix: string | undefined): readonly Line[] {
  const lines = readText(file).split("\n");
  const read = lines.flatMap((text, at): Line[] => {
    const no = at + 1;
    if (text.trim() === "") return [];
    return [{ no, chars: text.length, request: requestOf(text, `${file}:${no}`, prefix, no) }];
  });
  if (read.length === 0) throw usageFailure(`${file} has no lines`, "one JSON object in each line");
  return read;
}

const fields = ["workflow", "version", "input", "key", "priority", "labels"];

/** The server validates the values; here only their types are checked. */
function requestOf(
  text: string,
  position: string,
  prefix: string | undefined,
  no: number,
): ScheduleRequest {
  const wrong = (what: string) =>
    usageFailure(`${position}: ${what}`, `{"workflow": "NAME", "input": {}, "key": "KEY"}`);
  const given = parsed(text);
  if (given === null) throw wrong("is not a JSON object");
  const unknown = Object.keys(given).find((name) => !fields.includes(name));
  if (unknown !== undefined) throw wrong(`"${clean(unknown)}" is not one of ${fields.join(", ")}`);
  const {
    workflow,
    version = 0,
    input,
    key = keyOf(prefix, no),
    priority = 0,
    labels = {},
  } = given;
  if (typeof workflow !== "string") throw wrong("workflow must be a name");
  if (typeof key !== "string") throw wrong("key must be a text");
  if (!isCount(version) || !isCount(priority))
    throw wrong("version and priority are whole numbers");
  if (!isLabels(labels)) throw wrong("labels must be texts by name");
  return create(ScheduleRequestSchema, {
    target: { case: "workflow", value: { name: workflow, version } },
    ...(input === undefined
      ? {}
      : { input: { body: { case: "json" as const, value: JSON.stringify(input) } } }),
    key,
    priority,
    labels,
  });
}

function keyOf(prefix: string | undefined, no: number): string {
  return prefix === undefined ? "" : `${prefix}-${no}`;
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isLabels(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((one) => typeof one === "string");
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}

function* batchesOf(lines: readonly Line[]): Generator<readonly Line[]> {
  let batch: Line[] = [];
  let chars = 0;
  for (const line of lines) {
    if (batch.length === runsMax || (batch.length > 0 && chars + line.chars > charsMax)) {
      yield batch;
      batch = [];
      chars = 0;
    }
    batch.push(line);
    chars += line.chars;
  }
  if (batch.length > 0) yield batch;
}
