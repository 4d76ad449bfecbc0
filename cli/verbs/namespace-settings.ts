/**
 * `drover namespace show`, `retention`, `limit` and `logs`: how long a namespace retains runs, its
 * limits, and whether it stores what handlers log.
 */
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import {
  GetNamespaceResponseSchema,
  type Namespace,
  type NamespaceLimits,
  SetNamespaceLimitsResponseSchema,
  SetNamespaceLogsResponseSchema,
  SetNamespaceRetentionResponseSchema,
} from "@drover/proto/drover/v1/namespace_pb.ts";
import { Argument, type Command, InvalidArgumentError } from "commander";
import { contextOf, parseDuration, wholeNumber } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import type { Output } from "../output.ts";
import { printPairs } from "../table.ts";
import { clean, durationWords, timeWords } from "../words.ts";
import { rateOf } from "./queue.ts";

export function addNamespaceSettings(noun: Command, ended: Ended): void {
  noun
    .command("show")
    .description("show the namespace: region, retention, limits, logs")
    .action(async (_options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.getNamespace({ namespace });
      output.data(GetNamespaceResponseSchema, answer);
      if (output.format === "table") printNamespace(answer.namespace, output);
      ended(exitCodes.done);
    });
  addRetention(noun, ended);
  addLimit(noun, ended);
  addLogs(noun, ended);
}

function addRetention(noun: Command, ended: Ended): void {
  noun
    .command("retention")
    .description("set how long runs of the namespace are retained after their end")
    .argument("<duration>", "1h to 3650d, or forever", retentionOf)
    .action(async (ms: number | null, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const retention = ms === null ? {} : { retention: durationFromMs(ms) };
      const answer = await operator.setNamespaceRetention({ namespace, ...retention });
      output.data(SetNamespaceRetentionResponseSchema, answer);
      if (output.format === "table")
        output.line(
          `namespace ${clean(namespace)} retains runs ${retentionWords(answer.namespace)}`,
        );
      ended(exitCodes.done);
    });
}

interface LimitOptions {
  readonly openRuns?: number;
  readonly perSecond?: number;
  readonly burst?: number;
  readonly payload?: number;
  readonly none?: boolean;
}

function addLimit(noun: Command, ended: Ended): void {
  noun
    .command("limit")
    .description("set the limits of the namespace; limits that are not given are removed")
    .option("--open-runs <n>", "most runs that have not ended", wholeNumber(1, 10_000_000))
    .option("--per-second <rate>", "most runs started per second, as 5 or 0.2", rateOf)
    .option(
      "--burst <n>",
      "most runs started at once; default: as many as in a second",
      wholeNumber(1, 100_000),
    )
    .option("--payload <bytes>", "most bytes of one payload, as 64k or 1M", bytesOf)
    .option("--none", "remove all limits")
    .action(async (options: LimitOptions, command: Command) => {
      const { openRuns = 0, perSecond = 0, burst = 0, payload = 0, none = false } = options;
      if ((openRuns + perSecond + payload === 0) !== none)
        throw usageFailure(
          "give --open-runs, --per-second or --payload, or --none",
          "drover namespace limit --help",
        );
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const limits = { openRuns, runsPerSecond: perSecond, burst, payloadBytes: payload };
      const answer = await operator.setNamespaceLimits({ namespace, limits });
      output.data(SetNamespaceLimitsResponseSchema, answer);
      const words = namespaceLimitWords(answer.namespace?.limits) || "none";
      if (output.format === "table") output.line(`namespace ${clean(namespace)} limits: ${words}`);
      ended(exitCodes.done);
    });
}

function addLogs(noun: Command, ended: Ended): void {
  noun
    .command("logs")
    .description("set whether the lines that handlers log in the namespace are stored")
    .addArgument(new Argument("<switch>", "on: store them; off: do not").choices(["on", "off"]))
    .action(async (logs: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.setNamespaceLogs({ namespace, noLogs: logs === "off" });
      output.data(SetNamespaceLogsResponseSchema, answer);
      if (output.format === "table")
        output.line(`namespace ${clean(namespace)} ${logsWords(answer.namespace)}`);
      ended(exitCodes.done);
    });
}

function printNamespace(namespace: Namespace | undefined, output: Output): void {
  if (!namespace) return;
  const { name, region, createTime, limits } = namespace;
  printPairs(output, [
    ["namespace", clean(name)],
    ["region", clean(region)],
    ["created", timeWords(createTime)],
    ["retains runs", retentionWords(namespace)],
    ["limits", namespaceLimitWords(limits) || "none"],
    ["handler logs", namespace.noLogs ? "not stored" : "stored"],
  ]);
}

/** for 30d00h after their end */
export function retentionWords(namespace: Namespace | undefined): string {
  const { retention } = namespace ?? {};
  return retention ? `for ${durationWords(durationMs(retention))} after their end` : "for ever";
}

function logsWords(namespace: Namespace | undefined): string {
  return namespace?.noLogs ? "does not store logs of handlers" : "stores logs of handlers";
}

/** 10000 open runs; 50 runs a second, 100 at once; payloads of 65536 bytes */
export function namespaceLimitWords(limits: NamespaceLimits | undefined): string {
  if (!limits) return "";
  const { openRuns, runsPerSecond, burst, payloadBytes } = limits;
  return [
    ...(openRuns > 0 ? [`${openRuns} open runs`] : []),
    ...(runsPerSecond > 0 ? [`${runsPerSecond} runs a second, ${burst} at once`] : []),
    ...(payloadBytes > 0 ? [`payloads of ${payloadBytes} bytes`] : []),
  ].join("; ");
}

function retentionOf(text: string): number | null {
  return text === "forever" ? null : parseDuration(text);
}

const BYTES_MAX = 2 * 1024 * 1024;
const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1_024, M: 1_024 * 1_024 };

function bytesOf(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,7})([kM]?)$/.exec(text) ?? [];
  const bytes = count === "" ? 0 : Number(count) * (UNITS[unit] ?? 0);
  if (bytes >= 1 && bytes <= BYTES_MAX) return bytes;
  throw new InvalidArgumentError("It must be a number of bytes up to 2M, as 65536, 64k or 1M.");
}
