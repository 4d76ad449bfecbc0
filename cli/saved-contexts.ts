/**
 * Contexts: servers that a person works with, by name, in one file of the user. A context has an
 * address, a namespace, and where its token comes from; no token is ever in the file.
 *
 *     {"current": "prod", "contexts": {"prod": {"address": "https://drover.example",
 *      "namespace": "payments", "tokenVariable": "PROD_TOKEN"}}}
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { errorMessage } from "@drover/server/errors.ts";
import type { Command } from "commander";
import { type CliFailure, notThere, usageFailure } from "./failure.ts";
import { contextsFile, type GlobalOptions } from "./global-options.ts";
import { clean } from "./words.ts";

export interface SavedContext {
  readonly address: string;
  readonly namespace: string;
  /** A file whose content is the token. At most one of the two is set. */
  readonly tokenFile?: string;
  /** The environment variable that has the token. */
  readonly tokenVariable?: string;
  /** Files of PEM for TLS: authorities to trust, the certificate of the caller and its key. */
  readonly ca?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
}

export interface SavedContexts {
  /** The one that is used without `--context`. */
  readonly current?: string;
  readonly contexts: Readonly<Record<string, SavedContext>>;
}

const noContexts: SavedContexts = Object.freeze({ contexts: {} });

/** Throws CliFailure if the file cannot be read as contexts. */
export function readContexts(): SavedContexts {
  const file = contextsFile();
  if (file === undefined) return noContexts;
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return noContexts;
    throw unreadable(file, errorMessage(error));
  }
  try {
    return contextsIn(JSON.parse(text));
  } catch (error) {
    throw unreadable(file, errorMessage(error));
  }
}

function contextsIn(value: unknown): SavedContexts {
  const contexts = recordIn(recordIn(value).contexts);
  const read = Object.entries(contexts).map(([name, of]) => [name, contextIn(recordIn(of))]);
  const current = textIn(recordIn(value).current);
  return { ...(current && { current }), contexts: Object.fromEntries(read) };
}

function contextIn(of: Readonly<Record<string, unknown>>): SavedContext {
  const address = textIn(of.address);
  const namespace = textIn(of.namespace);
  if (!address || !namespace) throw new Error("a context has an address and a namespace");
  const tokenFile = textIn(of.tokenFile);
  const tokenVariable = textIn(of.tokenVariable);
  const token = { ...(tokenFile && { tokenFile }), ...(tokenVariable && { tokenVariable }) };
  const ca = textIn(of.ca);
  const clientCert = textIn(of.clientCert);
  const clientKey = textIn(of.clientKey);
  const tls = {
    ...(ca && { ca }),
    ...(clientCert && { clientCert }),
    ...(clientKey && { clientKey }),
  };
  return { address, namespace, ...token, ...tls };
}

function recordIn(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) throw new Error("it has no contexts");
  return { ...value };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function unreadable(file: string, why: string): CliFailure {
  return usageFailure(
    `cannot read the contexts of ${clean(file)}: ${clean(why)}`,
    "correct the file, or remove it and add the contexts again",
  );
}

/** Replaces the file as a whole; only the user may read it. */
export function writeContexts(contexts: SavedContexts): void {
  const file = contextsFile();
  if (file === undefined)
    throw usageFailure("there is no place for contexts", "set HOME or XDG_CONFIG_HOME");
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const written = `${file}.${process.pid}`;
  writeFileSync(written, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
  renameSync(written, file);
}

/** Throws CliFailure if there is none of this name. */
export function contextNamed(name: string, { contexts }: SavedContexts): SavedContext {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found) return found;
  throw notThere(`there is no context "${clean(name)}"`, "drover context list");
}

/**
 * Sets options of the program from the context that `--context` names, else from the current one,
 * unless a flag or the environment sets them.
 */
export function applyContext(program: Command): void {
  const saved = readContexts();
  const name = program.opts<GlobalOptions>().context ?? saved.current;
  if (name === undefined) return;
  const { address, namespace, tokenFile, tokenVariable, ...tls } = contextNamed(name, saved);
  if (program.getOptionValueSource("context") === undefined)
    program.setOptionValueWithSource("context", name, "context");
  const set = (key: string, value: unknown) => {
    const source = program.getOptionValueSource(key);
    if (source !== "cli" && source !== "env")
      program.setOptionValueWithSource(key, value, "context");
  };
  set("address", address);
  set("namespace", namespace);
  for (const [key, file] of Object.entries(tls)) set(key, file);
  set("tokenFrom", { file: tokenFile, variable: tokenVariable });
}

/** Where the token of a context comes from; neither: it has none. */
export interface TokenSource {
  readonly file?: string | undefined;
  readonly variable?: string | undefined;
}

/** The token of a context, read when a call is made; undefined: it has none. */
export function tokenFrom({ file, variable }: TokenSource): string | undefined {
  if (variable !== undefined) {
    const token = process.env[variable];
    if (token) return token;
    throw usageFailure(
      `the token of the context is in ${clean(variable)}, which is not set`,
      `set ${clean(variable)}, or --token`,
    );
  }
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw usageFailure(
      `cannot read the token of the context: ${clean(errorMessage(error))}`,
      "correct the file, or drover context add NAME with another --token-file",
    );
  }
}
