/** What every verb gets: the output, the connection, and the global options. */
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { durationMs } from "@drover/server/duration-text.ts";
import { type Command, InvalidArgumentError } from "commander";
import { type Connection, type ConnectionOptions, createConnection } from "./client.ts";
import { usageFailure } from "./failure.ts";
import { defaultNamespace, type GlobalOptions } from "./global-options.ts";
import { createOutput, type Output } from "./output.ts";
import { tokenFrom } from "./saved-contexts.ts";
import { clean } from "./words.ts";

export interface Context {
  readonly output: Output;
  readonly address: string;
  /** The name of the context that is used; empty: none. */
  readonly contextName: string;
  /** For calls that do not use `connect`. */
  readonly connectionOptions: ConnectionOptions;
  /** Flags for further commands in a namespace. */
  againIn(namespace: string): string;
  /** Created on first use: verbs that work offline need no valid address. */
  connect(): Connection;
}

/**
 * `names`: the verb prints names with `-o name`; others refuse it. `full`: a table is wide, as the
 * option `--full` asks.
 */
export function contextOf(command: Command, { names = false, full = false } = {}): Context {
  const options = command.optsWithGlobals<GlobalOptions>();
  if (options.output === "name" && !names)
    throw usageFailure(
      "-o name is for lists of what has a name, and for verbs that start a run",
      "-o table, wide, json, yaml or jsonl",
    );
  const format = full && options.output === "table" ? "wide" : options.output;
  return Object.freeze({
    output: createOutput(format, options.color, repeatedFlags(command)),
    address: options.address,
    contextName: options.context ?? "",
    get connectionOptions() {
      return connectionOf(options);
    },
    againIn: (namespace: string) => ` --namespace ${clean(namespace)}${addressFlag(command)}`,
    connect: () => createConnection(connectionOf(options)),
  });
}

/** Throws CliFailure if the place that the context names has no token. */
export function connectionOf(options: GlobalOptions): ConnectionOptions {
  const { address, namespace, plaintextToken, ca, clientCert, clientKey } = options;
  const tls = { caFile: ca, clientCertFile: clientCert, clientKeyFile: clientKey };
  return { address, namespace, token: tokenOf(options), plaintextToken, tls };
}

/** Throws CliFailure if the place that the context names has none. */
function tokenOf({
  token,
  tokenFrom: source,
}: Pick<GlobalOptions, "token" | "tokenFrom">): string | undefined {
  return token ?? (source ? tokenFrom(source) : undefined);
}

/**
 * Flags that further commands need: the environment also holds for these, this command's flags do
 * not.
 */
function repeatedFlags(command: Command): string {
  const { namespace } = command.optsWithGlobals<GlobalOptions>();
  const isOfContext = command.getOptionValueSourceWithGlobals("namespace") === "context";
  const isNamed = !isOfContext && (namespace !== defaultNamespace || isGiven(command, "namespace"));
  return `${isNamed ? ` --namespace ${clean(namespace)}` : ""}${addressFlag(command)}`;
}

function addressFlag(command: Command): string {
  const { address, context = "" } = command.optsWithGlobals<GlobalOptions>();
  const flag = isGiven(command, "address") ? ` --address ${clean(address)}` : "";
  return isGiven(command, "context") ? `${flag} --context ${clean(context)}` : flag;
}

function isGiven(command: Command, name: keyof GlobalOptions): boolean {
  return command.getOptionValueSourceWithGlobals(name) === "cli";
}

/** For options that may be repeated: `--label a=b --label c=d`. */
export function addLabel(
  text: string,
  earlier: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Labels are written as KEY=VALUE.");
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) };
}

/** For options that may be repeated: `--role a --role b`. */
export function addText(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}

export function parseTime(text: string): Timestamp {
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError("Times are written as 2026-01-31T12:00Z.");
  return timestampFromMs(ms);
}

/** In milliseconds. */
export function parseDuration(text: string): number {
  const ms = durationMs(text);
  if (ms === null) throw new InvalidArgumentError("Durations are written as 30s, 1h30m or 7d.");
  return ms;
}

/** Parses a switch, which the environment and the file may also turn off. */
export function parseSwitch(text: string): boolean {
  if (/^(yes|true|on|1)$/i.test(text)) return true;
  if (/^(no|false|off|0)$/i.test(text)) return false;
  throw new InvalidArgumentError("It is yes or no.");
}

/** Parses whole numbers for commander, which puts the option's name before the error message. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}
