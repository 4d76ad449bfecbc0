// What is preloaded does to a program what its orders say, and nothing without any.
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeEach, expect, test } from "vitest";
import { makeTestFolder } from "../support/global-postgres.ts";
import { endForLack } from "../support/required-tools.ts";
import { type Preloaded, preloadedWith, preparePreload } from "./preloaded.ts";

const run = promisify(execFile);
const folder = makeTestFolder();
const written = join(folder, "written");
let preloaded: Preloaded;

beforeEach(async (context) => {
  const preload = await preparePreload();
  if (preload.kind === "missing") return endForLack(context, "cc", preload.why);
  preloaded = preloadedWith(preload.library, join(folder, "orders"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function outputOf(program: string): Promise<string> {
  const args = ["--input-type=module", "--eval", program];
  const env = { ...process.env, ...preloaded.env };
  return (await run(process.execPath, args, { env })).stdout.trim();
}

const CLOCKS = "process.stdout.write([Date.now(), performance.now()].join(' '))";
/** What a write that makes the file longer, one that does not, and a sync come to. */
const DISK = `
  import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
  const said = [];
  const tried = (what, call) => {
    try { call(); said.push(what); } catch (error) { said.push(error.code); }
  };
  const fd = openSync(${JSON.stringify(written)}, "r+");
  tried("rewritten", () => writeSync(fd, "abcd", 0));
  tried("longer", () => writeSync(fd, "abcdefgh", 2));
  tried("synced", () => fsyncSync(fd));
  closeSync(fd);
  process.stdout.write(said.join(" "));`;

async function disk(): Promise<string> {
  await run("sh", ["-c", `printf 1234 > ${written}`]);
  return outputOf(DISK);
}

test("without an order nothing is different", async () => {
  const [wall] = (await outputOf(CLOCKS)).split(" ").map(Number);
  expect(Math.abs((wall ?? 0) - Date.now())).toBeLessThan(60_000);
  expect(await disk()).toBe("rewritten longer synced");
});

test("the wall clock jumps, and the monotonic one does not", async () => {
  preloaded.order({ clockMs: -86_400_000 });
  const [wall, monotonic] = (await outputOf(CLOCKS)).split(" ").map(Number);
  expect(Math.abs((wall ?? 0) - (Date.now() - 86_400_000))).toBeLessThan(60_000);
  expect(monotonic).toBeLessThan(60_000);
});

test("a file on a full disk can be changed, and not grow", async () => {
  preloaded.order({ isFull: true });
  expect(await disk()).toBe("rewritten ENOSPC synced");
});

test("a sync fails", async () => {
  preloaded.order({ syncFails: true });
  expect(await disk()).toBe("rewritten longer EIO");
});
