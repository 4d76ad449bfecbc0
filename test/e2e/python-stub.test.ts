/**
 * The contract is enough: an agent in another language, with generated code only, performs, undoes,
 * and is replaced when it dies.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Client, createClient } from "../../sdk/typescript/client.ts";
import type { WorkflowSpec } from "../../sdk/typescript/workflow.ts";
import { startDroverServer } from "../support/drover-server.ts";
import { type PythonEnv, preparePython, stubFolder } from "../support/python-env.ts";

const installMs = 120_000;
let env: PythonEnv;

beforeAll(async () => {
  env = await preparePython();
}, installMs);

beforeEach((context) => {
  if (env.kind === "missing") context.skip(env.why);
});

function python(): string {
  if (env.kind === "missing") throw new Error(env.why);
  return env.python;
}

const greeting: WorkflowSpec = {
  workflow: "greeting",
  steps: [
    {
      id: "hello",
      task: "greet",
      queue: "greetings",
      timeouts: { heartbeat: "2s" },
      compensate: { task: "ungreet", timeouts: { heartbeat: "2s" } },
    },
  ],
};

async function givenClient(): Promise<{ client: Client; address: string }> {
  const server = await startDroverServer();
  onTestFinished(() => server.stop());
  const client = createClient({ address: server.address });
  onTestFinished(() => client.close());
  return { client, address: server.address };
}

function givenAgent(address: string, id: string, ...flags: string[]): ChildProcess {
  const program = join(stubFolder, "agent.py");
  const child = spawn(python(), [program, "--address", address, "--id", id, ...flags], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" },
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  return child;
}

describe("a Python agent with generated code only", () => {
  test("performs a step, and ends by itself at SIGTERM", async () => {
    const { client, address } = await givenClient();
    const agent = givenAgent(address, "py-1");
    const { runId } = await client.schedule({ workflow: greeting, input: { name: "Ada" } });
    expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
    const { steps, attempts } = await client.getRun(runId, { attempts: true });
    expect(steps[0]).toMatchObject({ state: "SUCCEEDED", output: { said: "Hello, Ada!" } });
    expect(attempts).toMatchObject([{ agentId: "py-1", outcome: "SUCCESS", late: false }]);
    agent.kill("SIGTERM");
    expect(await once(agent, "exit")).toEqual([0, null]);
  });

  test("undoes a step when a later one fails for good", async () => {
    const { client, address } = await givenClient();
    givenAgent(address, "py-1");
    const bad = { id: "bad", task: "greet", queue: "greetings", needs: ["hello"], input: {} };
    const workflow = { ...greeting, steps: [...greeting.steps, bad] };
    const { runId } = await client.schedule({ workflow, input: { name: "Ada" } });
    const run = await client.waitRun(runId);
    expect(run).toMatchObject({ state: "COMPENSATED", reason: "STEP_FAILED" });
    const { steps, attempts } = await client.getRun(runId, { attempts: true });
    expect(steps[1]).toMatchObject({ state: "FAILED", error: { code: "bad-input" } });
    expect(steps[0]?.undoState).toBe("DONE");
    const undo = attempts.find(({ kind }) => kind === "COMPENSATE");
    expect(undo).toMatchObject({ outcome: "SUCCESS", output: { unsaid: "Hello, Ada!" } });
  });

  test("is replaced by another one when it is killed in the middle of a task", async () => {
    const { client, address } = await givenClient();
    const slow = givenAgent(address, "py-slow", "--slow", "600");
    const { runId } = await client.schedule({ workflow: greeting, input: { name: "Ada" } });
    await expect
      .poll(async () => (await client.getRun(runId)).steps[0]?.agentId, { timeout: 20_000 })
      .toBe("py-slow");
    slow.kill("SIGKILL");
    givenAgent(address, "py-second");
    expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
    const { attempts, interventions } = await client.getRun(runId, {
      attempts: true,
      interventions: true,
    });
    expect(attempts).toMatchObject([
      { agentId: "py-slow", outcome: "UNKNOWN", failure: { code: "drover.lost" } },
      { agentId: "py-second", outcome: "SUCCESS" },
    ]);
    expect(interventions.map(({ rule }) => rule)).toContain("lease");
  });
});

test("the generated Python code is that of the contract", async () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-python-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const script = join(stubFolder, "generate.sh");
  await promisify(execFile)("sh", [script, folder], { env: { ...process.env, PYTHON: python() } });
  expect(filesOf(folder)).toEqual(filesOf(join(stubFolder, "gen")));
});

function filesOf(folder: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    if (path.endsWith(".py")) files[path] = readFileSync(join(folder, path), "utf8");
  }
  return files;
}
