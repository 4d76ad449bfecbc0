/**
 * The settings of a shell agent: the commands that it runs, by name. A step names a command and
 * gives its arguments; it can never say what is run.
 */
import type { JsonObject } from "@drover/server/expressions/json.ts";
import { compileSchema } from "@drover/server/expressions/schema.ts";
import { compileTemplate } from "@drover/server/expressions/template.ts";
import { ANY } from "@drover/server/expressions/types.ts";
import { scopeWith } from "../facts.ts";
import type { Schema, ValueProblem } from "../schema-check.ts";
import { SECRET, type SecretSource } from "../secrets.ts";
import {
  AGENT_PROPERTIES,
  type AgentSettings,
  DURATION,
  mapOf,
  namedMap,
  settingsReader,
  TEXT,
} from "../settings-file.ts";

export interface CommandSettings {
  /** The program and its arguments, with `${...}` for what the step gives. No shell reads them. */
  readonly run: readonly string[];
  /** JSON Schema of what a step may give as `args`. Default: anything. */
  readonly args?: JsonObject;
  readonly cwd?: string;
  /** Variables beside PATH, LANG and those of the task. */
  readonly env?: Readonly<Record<string, string>>;
  /** Variables with secrets. */
  readonly secrets?: Readonly<Record<string, SecretSource>>;
  /** What standard input has: the task as JSON, or nothing. Default "json". */
  readonly stdin?: "json" | "none";
  /** How standard output is read. Default "text". */
  readonly stdout?: "json" | "text";
  /** Most bytes of standard output. Default 256 KiB. */
  readonly output_bytes?: number;
  readonly exit?: ExitSettings;
  /** Default: the time of the attempt. */
  readonly timeout?: string;
  /** From SIGTERM to SIGKILL. Default 5 s. */
  readonly kill_after?: string;
}

/** What exit codes beside 0 mean. A code that is in no list: unknown. */
export interface ExitSettings {
  readonly permanent?: readonly ExitPattern[];
  readonly transient?: readonly ExitPattern[];
  /** Of a command that verifies: it did not happen. */
  readonly did_not?: readonly ExitPattern[];
}

/** A code as 2, or a range as "64-78". */
export type ExitPattern = number | string;

export interface ShellSettings extends AgentSettings {
  readonly commands: Readonly<Record<string, CommandSettings>>;
}

const COMMAND_NAME = "^[A-Za-z0-9._-]{1,64}$";
const VARIABLE = "^[A-Za-z_][A-Za-z0-9_]*$";
const CODES: Schema = {
  type: "array",
  items: {
    type: ["integer", "string"],
    minimum: 1,
    maximum: 255,
    pattern: "^\\d{1,3}-\\d{1,3}$",
    description: 'an exit code as 2, or a range as "64-78"',
  },
};

const COMMAND: Schema = mapOf(
  {
    run: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 1_000 },
    args: { type: "object" },
    cwd: TEXT,
    env: namedMap({ type: "string" }, VARIABLE),
    secrets: namedMap(SECRET, VARIABLE),
    stdin: { enum: ["json", "none"] },
    stdout: { enum: ["json", "text"] },
    output_bytes: { type: "integer", minimum: 1, maximum: 64 * 1024 * 1024 },
    exit: mapOf({ permanent: CODES, transient: CODES, did_not: CODES }),
    timeout: DURATION,
    kill_after: DURATION,
  },
  ["run"],
);

const SETTINGS: Schema = mapOf({ ...AGENT_PROPERTIES, commands: namedMap(COMMAND, COMMAND_NAME) }, [
  "agent",
  "commands",
]);

/** Names that the arguments of a command may use: `args`, and those of the task. */
export const COMMAND_SCOPE = scopeWith(new Map([["args", ANY]]));

export const readShellSettings = settingsReader<ShellSettings>(SETTINGS, ({ commands }) =>
  Object.entries(commands).flatMap(([name, command]) => problemsOf(command, `commands.${name}`)),
);

function problemsOf({ run, args }: CommandSettings, path: string): readonly ValueProblem[] {
  const template = compileTemplate(run, COMMAND_SCOPE, `${path}.run`);
  const schema = args && compileSchema(args);
  return [
    ...(template.ok ? [] : template.problems),
    ...(!schema || schema.ok ? [] : [{ path: `${path}.args`, message: schema.message }]),
  ];
}
