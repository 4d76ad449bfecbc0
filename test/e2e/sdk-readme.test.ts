/** The example in the README of the SDK runs as it stands there, against a real server. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startDroverServer } from "../support/drover-server.ts";

const root = join(import.meta.dirname, "../..");

test("the example of the SDK's README books the flight and ends by itself", async () => {
  const text = readFileSync(join(root, "sdk/typescript/README.md"), "utf8");
  const code = /^```ts\n(.*?)^```$/ms.exec(text)?.[1] ?? "";
  const server = await startDroverServer();
  onTestFinished(() => server.stop());
  // Within the repository, where a package of the workspace is found by its name.
  const folder = join(root, ".drover", `readme-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "hello.ts"), code);
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "hello.ts")], {
    env: { ...process.env, DROVER_ADDRESS: server.address },
  });
  expect(JSON.parse(stdout)).toMatchObject({
    state: "COMPLETED",
    flight: { booking: "flight-to-Lisbon" },
  });
});

test("the agent of the example is under 30 lines", () => {
  const text = readFileSync(join(root, "sdk/typescript/README.md"), "utf8");
  const agent = /^const agent = .*?^agent\.start\(\);$/ms.exec(text)?.[0] ?? "";
  expect(agent.split("\n").length).toBeGreaterThan(3);
  expect(agent.split("\n").length).toBeLessThan(30);
});
