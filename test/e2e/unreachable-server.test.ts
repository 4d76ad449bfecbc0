/** An agent that cannot reach its server logs that, whatever its language: nothing else could. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freeAddress } from "../support/free-address.ts";
import { go, needsGo } from "../support/go-tool.ts";
import { preparePython } from "../support/python-env.ts";
import { endForLack } from "../support/required-tools.ts";

const root = join(import.meta.dirname, "../..");
const buildMs = 540_000;

/** What it prints until it has named a poll that failed, or has ended without. */
async function printedBy(command: string, args: readonly string[], env = {}): Promise<string> {
  const address = await freeAddress();
  const agent = spawn(command, args, {
    env: { ...process.env, DROVER_ADDRESS: address, DROVER_AGENT: "lonely", ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void agent.kill("SIGKILL"));
  let printed = "";
  agent.stderr.setEncoding("utf8");
  for await (const text of agent.stderr) {
    printed += text;
    if (printed.includes("poll failed")) break;
  }
  return printed;
}

test("TypeScript", async () => {
  const agent = `
    import { createAgent } from "@drover/sdk";
    createAgent({ address: process.env.DROVER_ADDRESS, handlers: { a: async () => null } }).start();
  `;
  const options = ["--input-type=module", "--eval", agent];
  expect(await printedBy(process.execPath, options)).toMatch(
    /DroverWarning: poll failed.*UNAVAILABLE/,
  );
});

test("Python", { timeout: buildMs }, async (context) => {
  const python = await preparePython(join(root, "sdk/python/requirements.txt"));
  if (python.kind === "missing") return endForLack(context, "python3", python.why);
  // Without logging.basicConfig, as a program that does not configure its log.
  const agent = `
import os
import drover_sdk as drover
agent = drover.Agent(os.environ["DROVER_ADDRESS"], id="lonely")
agent.task("a")(lambda task: None)
agent.run()
`;
  const env = { PYTHONPATH: join(root, "sdk/python"), PYTHONDONTWRITEBYTECODE: "1" };
  expect(await printedBy(python.python, ["-c", agent], env)).toMatch(/poll failed.*UNAVAILABLE/);
});

test("Go", { timeout: buildMs }, async (context) => {
  await needsGo(context);
  const program = join(root, ".drover/lonely-agent");
  await go(["build", "-o", program, "./examples/hello"]);
  expect(await printedBy(program, [])).toMatch(/poll failed.*[Uu]navailable/);
});
