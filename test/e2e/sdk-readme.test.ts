/** The examples in the README of the SDK run as they stand there, against a real server. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startDroverServer } from "../support/drover-server.ts";

const root = join(import.meta.dirname, "../..");

const text = readFileSync(join(root, "sdk/typescript/README.md"), "utf8");
const examples = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);

test.each([
  [
    "books the flight",
    /"book-flight"/,
    { state: "COMPLETED", flight: { booking: "flight-to-Lisbon" } },
  ],
  [
    "finds the charge of which the answer was lost, and makes no second one",
    /"find-charge"/,
    { state: "COMPLETED", pay: { charge: 1 }, charges: 1 },
  ],
  [
    "waits for people, a slow service, a callback and a signal",
    /deferred\(\)/,
    {
      state: "COMPLETED",
      looks: 3,
      pack: { boxes: 2 },
      ship: { parcel: "p-7" },
      delivered: { to: "the neighbour" },
    },
  ],
  [
    "goes on as a person says",
    /escalations\.resolve/,
    { state: "COMPLETED", send: { transfer: "t-9" } },
  ],
])("an example %s, and ends by itself", async (_name, mark, expected) => {
  const code = examples.find((example) => mark.test(example)) ?? "";
  const server = await startDroverServer();
  onTestFinished(() => server.stop());
  // Within the repository, where a package of the workspace is found by its name.
  const folder = mkdtempSync(join(ownFolder(), "readme-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "example.ts"), code);
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "example.ts")], {
    env: { ...process.env, DROVER_ADDRESS: server.address },
  });
  expect(JSON.parse(stdout)).toMatchObject(expected);
});

test("no example is left out", () => {
  expect(examples).toHaveLength(4);
});

function ownFolder(): string {
  const folder = join(root, ".drover");
  mkdirSync(folder, { recursive: true });
  return folder;
}

test("the agent of the first example is under 30 lines", () => {
  const agent = /^const agent = .*?^agent\.start\(\);$/ms.exec(text)?.[0] ?? "";
  expect(agent.split("\n").length).toBeGreaterThan(3);
  expect(agent.split("\n").length).toBeLessThan(30);
});
