// The services of deploy/compose.yaml as a test starts them: `${NAME:-default}` is replaced.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { treeRoot } from "./tree.ts";

export const composeFile = join(treeRoot, "deploy/compose.yaml");

export interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly stop_grace_period?: string;
}

export type Services = Readonly<Record<string, Service>>;

/** A variable that is required and not in `env` is an error, as Compose says it. */
export function composeServices(env: Readonly<Record<string, string>>): Services {
  const written: unknown = parse(readFileSync(composeFile, "utf8"), { merge: true });
  const filled = (_: string, value: unknown) =>
    typeof value === "string" ? filledIn(value, env) : value;
  const { services }: { readonly services: Services } = JSON.parse(JSON.stringify(written), filled);
  return services;
}

function filledIn(text: string, env: Readonly<Record<string, string>>): string {
  const variables = /\$\{(\w+):([-?])([^}]*)\}/g;
  return text.replaceAll(variables, (_, name: string, kind: string, word: string) => {
    const value = env[name] ?? "";
    if (value !== "") return value;
    if (kind === "?") throw new Error(`${name} is not set: ${word}`);
    return word;
  });
}

/** Seconds of "35s". */
export function secondsOf(duration = ""): number {
  const [, seconds = "NaN"] = /^(\d+)s$/.exec(duration) ?? [];
  return Number(seconds);
}
