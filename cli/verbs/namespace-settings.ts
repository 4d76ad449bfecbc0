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
  readonly callsPerSecond?: number;
  readonly callsBurst?: number;
  readonly storage?: number;
  readonly weight?: number;
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
    .option("--payload <bytes>", "most bytes of one payload, as 64k or 1M", bytesUpTo("2M"))
    .option("--calls-per-second <rate>", "most calls per second that read or start", rateOf)
    .option(
      "--calls-burst <n>",
      "most of these calls at once; default: as many as in a second",
      wholeNumber(1, 100_000),
    )
    .option(
      "--storage <bytes>",
      "most bytes that its runs take, as 500M or 10G",
      bytesUpTo("1024T"),
    )
    .option(
      "--weight <n>",
      "its part where namespaces compete for a server; default: 100",
      wholeNumber(1, 1_000),
    )
    .option("--none", "remove all limits")
    .action(async (options: LimitOptions, command: Command) => {
      const { none = false } = options;
      const limits = limitsOf(options);
      const isAny = Object.values(limits).some((limit) => Number(limit) > 0);
      if (isAny === none)
        throw usageFailure("give a limit, or --none", "drover namespace limit --help");
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.setNamespaceLimits({ namespace, limits });
      output.data(SetNamespaceLimitsResponseSchema, answer);
      const words = namespaceLimitWords(answer.namespace?.limits) || "none";
      if (output.format === "table") output.line(`namespace ${clean(namespace)} limits: ${words}`);
      ended(exitCodes.done);
    });
}

function limitsOf(options: LimitOptions) {
  return {
    openRuns: options.openRuns ?? 0,
    runsPerSecond: options.perSecond ?? 0,
    burst: options.perSecond === undefined ? 0 : (options.burst ?? 0),
    payloadBytes: options.payload ?? 0,
    callsPerSecond: options.callsPerSecond ?? 0,
    callsBurst: options.callsPerSecond === undefined ? 0 : (options.callsBurst ?? 0),
    storageBytes: BigInt(options.storage ?? 0),
    weight: options.weight ?? 0,
  };
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
  const { callsPerSecond, callsBurst, storageBytes, weight } = limits;
  return [
    ...(openRuns > 0 ? [`${openRuns} open runs`] : []),
    ...(runsPerSecond > 0 ? [`${runsPerSecond} runs a second, ${burst} at once`] : []),
    ...(payloadBytes > 0 ? [`payloads of ${payloadBytes} bytes`] : []),
    ...(callsPerSecond > 0 ? [`${callsPerSecond} calls a second, ${callsBurst} at once`] : []),
    ...(storageBytes > 0n ? [`${storageBytes} bytes of runs`] : []),
    ...(weight > 0 ? [`weight ${weight}`] : []),
  ].join("; ");
}

function retentionOf(text: string): number | null {
  return text === "forever" ? null : parseDuration(text);
}

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  k: 1_024,
  M: 1_024 ** 2,
  G: 1_024 ** 3,
  T: 1_024 ** 4,
};

function bytesUpTo(most: string): (text: string) => number {
  return (text) => {
    const bytes = bytesOf(text);
    if (bytes >= 1 && bytes <= bytesOf(most)) return bytes;
    throw new InvalidArgumentError(`It must be a number of bytes up to ${most}, as 64k or 1M.`);
  };
}

/** 0: it is no number of bytes. */
function bytesOf(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,15})([kMGT]?)$/.exec(text) ?? [];
  return count === "" ? 0 : Number(count) * (UNITS[unit] ?? 0);
}
