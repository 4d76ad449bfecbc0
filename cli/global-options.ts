/** The options of the whole program. This file loads nothing that only verbs need. */
import { type Command, Option } from "commander";

export const formats = ["table", "wide", "name", "json", "yaml", "jsonl"] as const;
export type Format = (typeof formats)[number];

/** The settings file in the current folder. */
export const defaultConfigFile = "drover.yaml";

export const defaultAddress = "127.0.0.1:7420";
export const defaultNamespace = "default";

/** The options of the whole program, as commander gives them. */
export interface GlobalOptions {
  readonly address: string;
  readonly namespace: string;
  readonly token?: string;
  readonly output: Format;
  readonly color: boolean;
  readonly config?: string;
}

export function addGlobalOptions(program: Command): void {
  program
    .addOption(
      new Option("--address <host:port>", "the server to call, or where to listen")
        .env("DROVER_ADDRESS")
        .default(defaultAddress),
    )
    .addOption(
      new Option("--namespace <name>", "the namespace of the command")
        .env("DROVER_NAMESPACE")
        .default(defaultNamespace),
    )
    .addOption(
      new Option("--token <token>", "the API token, if the server requires one").env(
        "DROVER_TOKEN",
      ),
    )
    .addOption(
      new Option(
        "-o, --output <format>",
        "table for people, or wide with whole texts and times; name, json, yaml or jsonl for programs",
      )
        .choices(formats)
        .env("DROVER_OUTPUT")
        .default("table"),
    )
    .addOption(
      new Option(
        "--config <file>",
        "settings in YAML; by default drover.yaml in the current folder",
      ).env("DROVER_CONFIG"),
    )
    .option("--no-color", "no colours, even on a terminal; as NO_COLOR in the environment");
}
