import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { madeOnce } from "../support/made-once.ts";

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-made-once-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "made");
}

async function make(building: string): Promise<void> {
  writeFileSync(building, "whole");
}

test("is made by the first, and the others wait until it is whole", async () => {
  const path = newPath();
  let makers = 0;
  const one = () =>
    madeOnce(path, async (building) => {
      makers++;
      await make(building);
    }).then(() => readFileSync(path, "utf8"));
  expect(await Promise.all([one(), one(), one()])).toEqual(["whole", "whole", "whole"]);
  expect(makers).toBe(1);
  expect(readdirSync(join(path, ".."))).toEqual(["made"]);
});

test("one that fails leaves nothing, and the next tries again", async () => {
  const path = newPath();
  const failing = madeOnce(path, async (building) => {
    await make(building);
    throw new Error("no network");
  });
  await expect(failing).rejects.toThrow("no network");
  expect(readdirSync(join(path, ".."))).toEqual([]);
  await madeOnce(path, make);
  expect(existsSync(path)).toBe(true);
});

test("the lock of a process that was killed holds up nobody", async () => {
  const path = newPath();
  const { pid } = spawnSync("true");
  writeFileSync(`${path}.lock`, String(pid));
  await madeOnce(path, make);
  expect(existsSync(path)).toBe(true);
});
