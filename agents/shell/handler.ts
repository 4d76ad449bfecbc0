/**
 * The handler of the task `shell`: it performs, verifies and undoes steps by commands that the
 * settings of the agent name. The exit code is the outcome; what it does not say for certain is
 * unknown.
 */

import {
  cannotTell,
  didNotHappen,
  type Handler,
  happened,
  PermanentError,
  type Answer as Reply,
  type Task,
  type TaskContext,
  TransientError,
  UnknownError,
} from "@drover/sdk";
import type { Json } from "@drover/server/expressions/json.ts";
import { compileSchema } from "@drover/server/expressions/schema.ts";
import { compileTemplate, renderTemplate } from "@drover/server/expressions/template.ts";
import { badInput, factsOf, jsonOf, keyOf } from "../facts.ts";
import { outputLost, withoutSecrets } from "../report.ts";
import { checkOf, type Schema } from "../schema-check.ts";
import type { Secrets } from "../secrets.ts";
import { mapOf, msOf } from "../settings-file.ts";
import { activeTraceHeaders } from "../tracing.ts";
import { type ProcessEnd, type ProcessOutput, type ProcessSpec, runProcess } from "./process.ts";
import {
  COMMAND_SCOPE,
  type CommandSettings,
  type ExitPattern,
  type ShellSettings,
} from "./settings.ts";

export interface ShellWorld {
  readonly settings: ShellSettings;
  readonly secrets: Secrets;
}

interface ShellInput {
  readonly command: string;
  readonly args?: Json;
  /** The command that finds out whether the effect exists. */
  readonly verify?: string;
  readonly undo?: string;
}

const NAME: Schema = { type: "string", minLength: 1 };
const checkInput = checkOf<ShellInput>(
  mapOf({ command: NAME, args: {}, verify: NAME, undo: NAME }, ["command"]),
);

export const KILL_AFTER = "5s";
const OUTPUT_BYTES = 256 * 1024;
/** All that a command has of the agent's own environment is nothing. */
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

export function createShellHandler({ settings, secrets }: ShellWorld): Handler {
  return async (task, context) => {
    try {
      const { name, args } = commandOf(task);
      const command = settings.commands[name];
      if (!command)
        throw badInput(
          `there is no command "${name}" in the settings of the agent: ${Object.keys(settings.commands).join(", ")}`,
        );
      const spec = await specOf(command, args, task, secrets);
      const end = await runProcess(spec, context.signal);
      context.log.info({ command: name, end: end.kind }, `ran ${name}`);
      return replyTo(end, { name, command, task, context, secrets });
    } catch (error) {
      throw withoutSecrets(error, secrets, context.signal);
    }
  };
}

function commandOf(task: Task): { readonly name: string; readonly args: Json } {
  const checked = checkInput(task.input());
  if (checked.kind === "bad") {
    const [first] = checked.problems;
    throw badInput([first?.path, first?.message].filter(Boolean).join(": "));
  }
  const { command, verify, undo, args = {} } = checked.value;
  const name = { perform: command, verify, compensate: undo }[task.kind];
  if (name !== undefined) return { name, args };
  const key = task.kind === "verify" ? "verify" : "undo";
  throw badInput(`the step has a ${task.kind} task, and its input names no command for \`${key}\``);
}

async function specOf(
  command: CommandSettings,
  args: Json,
  task: Task,
  secrets: Secrets,
): Promise<ProcessSpec> {
  const { stdin = "json", env = {}, cwd, timeout } = command;
  const [program = "", ...rest] = argumentsOf(command, args, task);
  return {
    program,
    args: rest,
    cwd,
    env: {
      ...ENVIRONMENT,
      ...variablesOf(task),
      ...env,
      ...(await secretVariables(command, secrets)),
    },
    stdin: stdin === "json" ? JSON.stringify(inputOf(args, task)) : "",
    outputBytesMax: command.output_bytes ?? OUTPUT_BYTES,
    timeoutMs: timeout === undefined ? null : msOf(timeout, ""),
    killAfterMs: msOf(command.kill_after, KILL_AFTER),
  };
}

function argumentsOf({ run, args: schema }: CommandSettings, args: Json, task: Task) {
  const checked = schema && compileSchema(schema);
  const problem = checked?.ok ? checked.check(args) : null;
  if (problem) throw badInput(`args: ${problem}`);
  const compiled = compileTemplate(run, COMMAND_SCOPE, "run");
  if (!compiled.ok) throw new Error("the settings were read without a check of their templates");
  const facts = new Map<string, Json>([...factsOf(task), ["args", args]]);
  const found = renderTemplate(compiled.template, { named: facts });
  if (!found.ok) throw badInput(found.message);
  const parts: readonly Json[] = Array.isArray(found.value) ? found.value : [];
  return parts.map((part, at) => {
    const isText = typeof part === "string" || typeof part === "number";
    if (isText && !String(part).includes("\0")) return String(part);
    throw badInput(
      `the argument ${at} of the command is no text or number: ${JSON.stringify(part)}`,
    );
  });
}

/** The task, for a program. */
function inputOf(args: Json, task: Task): Json {
  return {
    args,
    kind: task.kind,
    key: keyOf(task),
    output: jsonOf(task.output()),
    run: task.runId,
    step: task.stepId,
    item: task.item,
    attempt: task.attempt,
    fence: task.fence,
  };
}

function variablesOf(task: Task): Readonly<Record<string, string>> {
  const { traceparent } = activeTraceHeaders();
  return {
    DROVER_IDEMPOTENCY_KEY: task.idempotencyKey,
    DROVER_EFFECT_KEY: keyOf(task),
    DROVER_KIND: task.kind,
    DROVER_RUN: task.runId,
    DROVER_STEP: task.stepId,
    DROVER_ATTEMPT: String(task.attempt),
    DROVER_FENCE: String(task.fence),
    ...(traceparent !== undefined && { TRACEPARENT: traceparent }),
  };
}

async function secretVariables({ secrets: sources = {} }: CommandSettings, secrets: Secrets) {
  try {
    const read = Object.entries(sources).map(
      async ([name, source]) => [name, await secrets.read(name, source)] as const,
    );
    return Object.fromEntries(await Promise.all(read));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TransientError("secret-unreadable", why);
  }
}

interface Ran {
  readonly name: string;
  readonly command: CommandSettings;
  readonly task: Task;
  readonly context: TaskContext;
  readonly secrets: Secrets;
}

/** Throws what is no success. */
function replyTo(end: ProcessEnd, ran: Ran): Reply | Json {
  const { name, task, context, secrets } = ran;
  if (end.kind === "stopped") throw context.signal.reason;
  if (end.kind === "not-started") {
    const message = `${name} could not be started: ${end.message}`;
    if (task.kind === "verify") return cannotTell(message);
    throw new TransientError("not-started", message, { noEffect: task.fence === 1 });
  }
  const complaint = end.stderr.trim();
  const sentence = secrets.hide(
    `${name} ${endWords(end)}${complaint === "" ? "" : `: ${complaint}`}`,
  );
  if (task.kind === "verify") return verified(end, ran, sentence);
  if (end.kind !== "exited") throw new UnknownError(end.kind, sentence);
  if (end.code === 0) return outputOf(end, ran);
  const { permanent = [], transient = [] } = ran.command.exit ?? {};
  const code = `exit-${end.code}`;
  if (fits(end.code, permanent)) throw new PermanentError(code, sentence);
  if (fits(end.code, transient)) throw new TransientError(code, sentence);
  throw new UnknownError(code, sentence);
}

function verified(end: ProcessEnd, ran: Ran, sentence: string): Reply {
  if (end.kind !== "exited") return cannotTell(sentence);
  if (fits(end.code, ran.command.exit?.did_not ?? [])) return didNotHappen();
  if (end.code !== 0) return cannotTell(sentence);
  const output = textOrJson(end, ran);
  return output.ok ? happened(output.value) : cannotTell(`${ran.name}: ${output.problem}`);
}

function endWords(end: Exclude<ProcessEnd, { kind: "not-started" | "stopped" }>): string {
  if (end.kind === "exited") return `ended with the code ${end.code}`;
  return end.kind === "killed" ? `was killed by ${end.signal}` : "took longer than its timeout";
}

/** It is done, whatever is wrong with what it has written. */
function outputOf(end: ProcessOutput, ran: Ran): Reply | Json {
  const output = textOrJson(end, ran);
  return output.ok ? output.value : outputLost(`${ran.name}: ${output.problem}`);
}

function textOrJson({ stdout, isCut }: ProcessOutput, { command, secrets }: Ran) {
  const { stdout: form = "text", output_bytes: most = OUTPUT_BYTES } = command;
  if (isCut)
    return { ok: false, problem: `its output has more than ${most} bytes (output_bytes)` } as const;
  if (form === "text") return { ok: true, value: secrets.hide(stdout) } as const;
  if (stdout.trim() === "") return { ok: true, value: null } as const;
  try {
    const value: Json = JSON.parse(stdout);
    return { ok: true, value: secrets.hideIn(value) } as const;
  } catch {
    return { ok: false, problem: "its output is no JSON" } as const;
  }
}

function fits(code: number, patterns: readonly ExitPattern[]): boolean {
  return patterns.some((pattern) => {
    if (typeof pattern === "number") return pattern === code;
    const [from = "", to = ""] = pattern.split("-");
    return code >= Number(from) && code <= Number(to);
  });
}
