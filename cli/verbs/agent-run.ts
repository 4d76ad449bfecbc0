/**
 * `drover agent http` and `drover agent shell`: ready-made agents. They run until SIGTERM, and
 * their settings are in a file of their own (docs/READY-AGENTS.md).
 */
import { readFileSync } from "node:fs";
import { errorMessage } from "@drover/server/errors.ts";
import type { Command } from "commander";
import { baseUrlsOf } from "../client.ts";
import { contextOf } from "../context.ts";
import { CliFailure, type Ended, exitCodes, usageFailure } from "../failure.ts";
import { addLogOption, type LogOptions, logOf } from "../log-options.ts";
import { addTraceOptions, type TraceOptions, traceOf } from "../trace-options.ts";
import { clean } from "../words.ts";

interface RunAgentOptions extends LogOptions, TraceOptions {
  readonly check?: boolean;
}

const KINDS = {
  http: "run an agent whose steps are requests to services, without code",
  shell: "run an agent whose steps are commands of this machine, without code",
} as const;

type Kind = keyof typeof KINDS;

export function addRunAgentVerbs(agent: Command, ended: Ended, version: string): void {
  addRunAgent(agent, "http", ended, version);
  addRunAgent(agent, "shell", ended, version);
}

function addRunAgent(agent: Command, kind: Kind, ended: Ended, version: string): void {
  addLogOption(addTraceOptions(agent.command(kind)))
    .description(KINDS[kind])
    .argument("<file>", "its settings, in YAML: docs/READY-AGENTS.md")
    .option("--check", "only check the file and the secrets that it names")
    .action(async (file: string, options: RunAgentOptions, command: Command) => {
      const { output, connectionOptions } = contextOf(command);
      const { prepareAgent, runAgent } = await import("@drover/agents/run-agent.ts");
      const prepared = await prepareAgent(kind, textOf(file), process.env);
      if (prepared.kind === "bad") throw refused(file, prepared.problems);
      const { task, queues, settings } = prepared.agent;
      if (options.check) {
        output.note(`${clean(file)} is valid`);
        ended(exitCodes.done);
        return;
      }
      const {
        address,
        token = "",
        tls = {},
        namespace,
        plaintextToken = false,
      } = connectionOptions;
      const urls = baseUrlsOf(address).map((url) => new URL(url));
      const isTls = urls.some(({ protocol }) => protocol === "https:");
      const { caFile: ca, clientCertFile: cert, clientKeyFile: key } = tls;
      output.line(`agent ${settings.agent} performs ${task} of ${queues.join(", ")}`);
      await runAgent(prepared.agent, {
        address: urls.map(hostAndPort),
        namespace,
        token,
        plaintextToken,
        ...(isTls && { tls: { ca, cert, key } }),
        version,
        log: logOf(options),
        traceUrl: traceOf(options)?.url,
      });
      ended(exitCodes.done);
    });
}

function hostAndPort({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw usageFailure(`cannot read ${clean(file)}: ${clean(errorMessage(error))}`);
  }
}

function refused(
  file: string,
  problems: readonly { readonly path: string; readonly message: string }[],
): CliFailure {
  const [first] = problems;
  const alone = problems.length === 1 && first?.path === "";
  return new CliFailure(
    alone ? `${clean(file)}: ${clean(first.message)}` : `${clean(file)} has mistakes`,
    {
      code: exitCodes.usage,
      next: "correct the file, and check it with --check",
      fields: alone ? [] : problems,
    },
  );
}
