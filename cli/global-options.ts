/** The options of the whole program. This file loads nothing that only verbs need. */
import { type Command, Option } from "commander";

export const formats = ["table", "wide", "name", "json", "yaml", "jsonl"] as const;
export type Format = (typeof formats)[number];

/** The settings file in the current folder. */
export const defaultConfigFile = "drover.yaml";

export const defaultAddress = "127.0.0.1:7420";
export const defaultNamespace = "default";

/** The contexts of the user; undefined: the environment names no place for it. */
export function contextsFile(): string | undefined {
  const { XDG_CONFIG_HOME, HOME } = process.env;
  const folder = XDG_CONFIG_HOME || (HOME ? `${HOME}/.config` : undefined);
  return folder === undefined ? undefined : `${folder}/drover/contexts.json`;
}

/** The options of the whole program, as commander gives them. */
export interface GlobalOptions {
  readonly address: string;
  readonly namespace: string;
  readonly token?: string;
  readonly plaintextToken: boolean;
  readonly ca?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
  /** The name of the context that is used. */
  readonly context?: string;
  /** Where the token of the context comes from; no option, but set with those of the context. */
  readonly tokenFrom?: { readonly file?: string; readonly variable?: string };
  readonly output: Format;
  readonly color: boolean;
  readonly config?: string;
}

export function addGlobalOptions(program: Command): void {
  program
    .addOption(
      new Option(
        "--address <host:port>",
        "the server to call, several with commas, or where to listen; https://HOST:PORT calls with TLS",
      )
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
      new Option("--plaintext-token", "send the token to another machine without TLS, too")
        .default(false)
        .env("DROVER_PLAINTEXT_TOKEN"),
    )
    .addOption(
      new Option("--ca <file>", "authorities to trust for https:// (PEM), not the system's").env(
        "DROVER_CA_FILE",
      ),
    )
    .addOption(
      new Option("--client-cert <file>", "certificate for servers that ask for one (PEM)").env(
        "DROVER_CLIENT_CERT_FILE",
      ),
    )
    .addOption(
      new Option("--client-key <file>", "the key of --client-cert (PEM)").env(
        "DROVER_CLIENT_KEY_FILE",
      ),
    )
    .addOption(
      new Option(
        "--context <name>",
        "the context whose address, namespace and token are used: drover context",
      ).env("DROVER_CONTEXT"),
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
