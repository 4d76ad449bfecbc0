/**
 * Starts a ready-made agent from the text of its settings, and runs it until it is asked to stop.
 * Everything that the settings name is read at the start, so that a mistake is found there and not
 * by a task.
 */

import { type AgentOptions, createAgent, type Handler } from "@drover/sdk";
import type { LogConfig } from "@drover/server/config.ts";
import { createLog } from "@drover/server/telemetry/log.ts";
import { createHttpHandler } from "./http/handler.ts";
import { hostsOf } from "./http/hosts.ts";
import { readHttpSettings } from "./http/settings.ts";
import type { ValueProblem } from "./schema-check.ts";
import { createSecrets, type SecretSource, type Secrets } from "./secrets.ts";
import type { AgentSettings } from "./settings-file.ts";
import { msOf } from "./settings-file.ts";
import { createShellHandler, KILL_AFTER } from "./shell/handler.ts";
import { readShellSettings } from "./shell/settings.ts";
import { startTracing } from "./tracing.ts";

export const AGENT_KINDS = ["http", "shell"] as const;
export type AgentKind = (typeof AGENT_KINDS)[number];

export interface ReadyAgent {
  readonly settings: AgentSettings;
  /** Name of its task. */
  readonly task: string;
  readonly queues: readonly string[];
  readonly handler: Handler;
  /** The longest time that the handler needs to stop. */
  readonly stopMs: number;
}

export type Prepared =
  | { readonly kind: "good"; readonly agent: ReadyAgent }
  /** Each message of a problem of the text ends with its line and column. */
  | { readonly kind: "bad"; readonly problems: readonly ValueProblem[] };

export async function prepareAgent(
  kind: AgentKind,
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Prepared> {
  const secrets = createSecrets(env);
  try {
    return kind === "http" ? await httpAgent(text, secrets) : await shellAgent(text, secrets);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "bad", problems: [{ path: "", message }] };
  }
}

async function httpAgent(text: string, secrets: Secrets): Promise<Prepared> {
  const read = readHttpSettings(text);
  if (read.kind === "bad") return read;
  const settings = read.value;
  await readAll(
    settings.hosts.map((host) => host.secrets),
    secrets,
  );
  const world = { settings, hosts: hostsOf(settings), secrets, nowMs: Date.now };
  return ready(settings, "http", createHttpHandler(world), 0);
}

async function shellAgent(text: string, secrets: Secrets): Promise<Prepared> {
  const read = readShellSettings(text);
  if (read.kind === "bad") return read;
  const settings = read.value;
  const commands = Object.values(settings.commands);
  await readAll(
    commands.map((command) => command.secrets),
    secrets,
  );
  const stopMs = Math.max(0, ...commands.map(({ kill_after: after }) => msOf(after, KILL_AFTER)));
  return ready(settings, "shell", createShellHandler({ settings, secrets }), stopMs);
}

function ready(
  settings: AgentSettings,
  kind: AgentKind,
  handler: Handler,
  stopMs: number,
): Prepared {
  const { task = kind, queues = ["default"] } = settings;
  return { kind: "good", agent: { settings, task, queues, handler, stopMs } };
}

/** Throws an error for a secret that is not there. */
async function readAll(
  groups: readonly (Readonly<Record<string, SecretSource>> | undefined)[],
  secrets: Secrets,
): Promise<void> {
  for (const group of groups)
    for (const [name, source] of Object.entries(group ?? {})) await secrets.read(name, source);
}

export interface RunOptions extends Pick<AgentOptions, "address" | "tls" | "token"> {
  readonly plaintextToken?: boolean;
  readonly namespace: string;
  readonly version: string;
  readonly log: LogConfig;
  /** URL of an OTLP receiver; undefined: no span is sent. */
  readonly traceUrl: string | undefined;
}

/** A handler that has been asked to stop needs a little longer than its processes. */
const STOP_MARGIN_MS = 5_000;

/** Resolves when the agent has stopped, after SIGTERM or SIGINT. */
export async function runAgent(ready: ReadyAgent, options: RunOptions): Promise<void> {
  const { settings, task, queues, handler, stopMs } = ready;
  const { log, traceUrl, ...connection } = options;
  const stopTracing = startTracing(settings.agent, traceUrl);
  const agent = createAgent({
    ...connection,
    id: settings.agent,
    queues,
    slots: settings.slots ?? 10,
    handlers: { [task]: handler },
    cancelGrace: stopMs + STOP_MARGIN_MS,
    handleSignals: true,
    log: createLog(log),
  });
  agent.start();
  try {
    await agent.done;
  } finally {
    await stopTracing();
  }
}
