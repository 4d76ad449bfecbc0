/**
 * Agents in three languages as processes, each a program that has registered an SDK of
 * OpenTelemetry and sends its own spans: queue `typescript`, `go` and `python`, task `book`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { go } from "./go-tool.ts";
import { preparePython } from "./python-env.ts";

const folder = join(import.meta.dirname, "traced-agents");
const root = join(import.meta.dirname, "../..");
const tracing = join(root, "agents-examples/stage/traced.ts");
const goProgram = join(root, ".drover/traced-agent");

export interface TracedAgents {
  readonly languages: readonly string[];
  start(address: string, receiver: string): readonly ChildProcess[];
}

/** Builds what has to be built; null with the reason where a language is not on this machine. */
export async function prepareTracedAgents(): Promise<TracedAgents | { readonly missing: string }> {
  const python = await preparePython(join(folder, "python/requirements.txt"));
  if (python.kind === "missing") return { missing: python.why };
  await go(["build", "-o", goProgram, "."], { cwd: join(folder, "go") });
  const commands: readonly (readonly [string, string, readonly string[]])[] = [
    ["typescript", process.execPath, ["--import", tracing, join(folder, "agent.ts")]],
    ["go", goProgram, []],
    ["python", python.python, [join(folder, "python/agent.py")]],
  ];
  return {
    languages: commands.map(([language]) => language),
    start: (address, receiver) =>
      commands.map(([language, command, args]) => {
        const env = {
          ...process.env,
          DROVER_ADDRESS: address,
          OTEL_SERVICE_NAME: `${language}-agent`,
          OTEL_EXPORTER_OTLP_ENDPOINT: receiver,
          PYTHONPATH: join(root, "sdk/python"),
          PYTHONDONTWRITEBYTECODE: "1",
        };
        return spawn(command, args, { env, stdio: "ignore" });
      }),
  };
}
