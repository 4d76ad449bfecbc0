/**
 * Secrets of an agent, from files or from its environment, and their removal from all that leaves
 * it: outputs, messages, lines of logs.
 *
 * A file is read anew for each use, so that a secret may be replaced while the agent runs; the
 * values that were used before are still removed.
 */
import { readFile } from "node:fs/promises";
import { isJsonObject, type Json } from "@drover/server/expressions/json.ts";
import type { Schema } from "./schema-check.ts";
import { mapOf, TEXT } from "./settings-file.ts";

/** From one of the two. */
export interface SecretSource {
  readonly env?: string;
  readonly file?: string;
  /** Text before the value, as "Bearer ". */
  readonly prefix?: string;
}

export const SECRET: Schema = {
  ...mapOf({ env: TEXT, file: TEXT, prefix: TEXT }),
  anyOf: [{ required: ["env"] }, { required: ["file"] }],
};

export interface Secrets {
  /** The value with its prefix. Throws an error without the value if there is none. */
  read(name: string, source: SecretSource): Promise<string>;
  /** The text without the values of secrets that were read. */
  hide(text: string): string;
  /** The value, and the texts and keys in it, without them. */
  hideIn(value: Json): Json;
}

/** Shorter values would be found within ordinary words. */
const CHARACTERS_MIN = 8;

export function createSecrets(env: Readonly<Record<string, string | undefined>>): Secrets {
  /** What must not leave, with the text in its place; the longest first. */
  let hidden: readonly (readonly [text: string, instead: string])[] = [];

  function learn(name: string, value: string): void {
    const instead = `[secret ${name}]`;
    const known = new Set(hidden.map(([text]) => text));
    const forms = formsOf(value).filter((text) => !known.has(text));
    if (forms.length === 0) return;
    const all = [...hidden, ...forms.map((text) => [text, instead] as const)];
    hidden = all.sort(([a], [b]) => b.length - a.length);
  }

  const hide = (text: string) =>
    hidden.reduce((left, [secret, instead]) => left.replaceAll(secret, () => instead), text);

  function hideIn(value: Json): Json {
    if (typeof value === "string") return hide(value);
    if (isJsonObject(value))
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [hide(k), hideIn(v)]));
    return Array.isArray(value) ? value.map(hideIn) : value;
  }

  return Object.freeze({
    async read(name: string, { env: variable, file, prefix = "" }: SecretSource) {
      const text = file === undefined ? env[variable ?? ""] : await readFile(file, "utf8");
      const value = (text ?? "").replace(/\r?\n$/, "");
      const where = file === undefined ? `the variable ${variable}` : `the file ${file}`;
      if (value.length < CHARACTERS_MIN)
        throw new Error(
          `the secret "${name}" has ${value.length} characters in ${where}: it needs ${CHARACTERS_MIN}, so that it can be removed from texts`,
        );
      learn(name, value);
      return prefix + value;
    },
    hide,
    hideIn,
  });
}

/** A service may answer with what it was sent in one of these forms. */
function formsOf(value: string): readonly string[] {
  const quoted = JSON.stringify(value).slice(1, -1);
  const base64 = Buffer.from(value).toString("base64").replace(/=+$/, "");
  const forms = [value, quoted, encodeURIComponent(value), base64, base64Url(base64)];
  // `user:password` of Basic authentication: the password alone is as secret.
  const decoded = Buffer.from(value, "base64").toString("utf8");
  const [, password = ""] = /^[\x20-\x7e]+:([\x20-\x7e]+)$/.exec(decoded) ?? [];
  return [...new Set([...forms, decoded.includes(":") ? password : ""])].filter(
    (text) => text.length >= CHARACTERS_MIN,
  );
}

function base64Url(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_");
}
