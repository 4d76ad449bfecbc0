/** The exit codes of the simulator's two programs: 0 only if they have proven something. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/** A bound for busy machines: some 8 s on two idle cores. */
const TIMEOUT_MS = 120_000;

async function run(program: string, ...args: readonly string[]) {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  const stdout = await text(child.stdout);
  const [status] = await closed;
  return { status, stdout };
}

describe("npm run simulate", { timeout: TIMEOUT_MS }, () => {
  test("ends with 1 if too few seeds were played, though none has a violation", async () => {
    const { status, stdout } = await run("main.ts", "--seeds", "1", "--workers", "1");
    expect(stdout).toContain("violations: in 0 seeds\nvoid: ");
    expect(stdout).toContain("not evaluated by fewer than 200 seeds");
    expect(status).toBe(1);
  });
});

describe("npm run mutants", { timeout: TIMEOUT_MS }, () => {
  const mutants = (seeds: number, name: string, ...more: readonly string[]) =>
    run("mutants/main.ts", "--seeds", String(seeds), "--only", name, ...more);

  test("ends with 0 where the mutant is caught by a known seed", async () => {
    const { status, stdout } = await mutants(50, "acknowledged before the commit");
    expect(stdout).toMatch(/commit: caught by seed \d+\n.*\n1 caught, 0 not caught\n$/s);
    expect(status).toBe(0);
  });

  test("ends with 0 where the mutant is caught by its test", async () => {
    const { status, stdout } = await mutants(0, "what a fail-over took is a defect");
    expect(stdout).toMatch(/defect: caught by test\/unit\/.*\n1 caught, 0 not caught\n$/s);
    expect(status).toBe(0);
  });

  test("ends with 1 where one gets away", async () => {
    // With a seed to begin with the one that is known to catch it is not tried.
    const { status, stdout } = await mutants(0, "acknowledged before the commit", "--seed", "1");
    expect(stdout).toMatch(/commit: NOT CAUGHT in 0 seeds\n.*\n0 caught, 1 not caught\n$/s);
    expect(status).toBe(1);
  });

  test("ends with 1 where no mutant has the name", async () => {
    expect(await mutants(1, "nothing of the kind")).toEqual({
      status: 1,
      stdout: "0 caught, 0 not caught\n",
    });
  });
});
