// The overview of a new server: its commands are copied from the page and run as they are, and each
// step is marked as done without a reload.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { callJson } from "../support/json-call.ts";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";

const root = join(import.meta.dirname, "../..");
const WAIT = { timeout: 60_000 };

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer();
});
afterAll(async () => {
  await closeBrowser();
  await server?.stop();
});

/** A shell in a folder beside which the packages of the clone are found. */
function openShell() {
  const folder = makeTestFolder();
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const programs = join(folder, "programs");
  mkdirSync(programs);
  // What npx does with a program of node_modules.
  writeFileSync(join(programs, "npx"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const bins = [programs, join(root, "node_modules/.bin"), dirname(process.execPath)];
  const env = {
    // Among it the registry of npm.
    ...process.env,
    PATH: [...bins, process.env.PATH ?? ""].join(delimiter),
    // The Node that the project brings is this one; the tools are taken from npm's cache, which an
    // `npm ci` fills with tarballs but not always with what lists their versions.
    npm_config_prefer_offline: "true",
    npm_config_omit: "optional",
    npm_config_update_notifier: "false",
  };
  const started: ChildProcess[] = [];
  onTestFinished(async () => {
    for (const child of started.filter(({ exitCode }) => exitCode === null)) {
      // npm and its agent: a group of processes.
      if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
      await once(child, "close");
    }
    rmSync(folder, { recursive: true });
  });
  return (commands: string): { readonly ended: Promise<[number | null, string]> } => {
    const child = spawn("sh", ["-ec", commands], { cwd: folder, env, detached: true });
    started.push(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes: Buffer) => {
        output += bytes.toString();
      });
    return { ended: once(child, "close").then(([code]) => [code, output]) };
  };
}

async function copied(page: Page, step: number): Promise<string> {
  const button = page.getByRole("button", { name: `Copy the commands of step ${step}` });
  await button.click();
  await expect.poll(() => button.textContent()).toBe("Copied");
  return page.evaluate<string>("navigator.clipboard.readText()");
}

test("three steps lead from nothing to a run, each marked as done by itself", async (context) => {
  const page = await sharedPage(context, server.address);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await visit(page, "/");
  const steps = page.getByRole("region", { name: "First steps" });
  const isDone = (title: string) =>
    steps.getByRole("listitem").filter({ hasText: title }).getByText("done").waitFor(WAIT);
  await steps.getByText("0 of 3 done").waitFor(WAIT);
  expect(await page.getByText("Runs by state").count()).toBe(0);
  await checkScreen(page, "first-steps");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForFunction("document.documentElement.scrollWidth <= innerWidth");
  await checkScreen(page, "narrow-first-steps");

  const run = openShell();
  const [applied, output] = await run(await copied(page, 1)).ended;
  expect(applied, output).toBe(0);
  await isDone("Register a workflow");
  const agent = run(await copied(page, 2));
  await Promise.race([
    isDone("Start an agent"),
    agent.ended.then(([code, text]) => Promise.reject(new Error(`ended: ${code} ${text}`))),
  ]);
  const [ended, watched] = await run(await copied(page, 3)).ended;
  expect(ended, watched).toBe(0);
  expect(watched).toContain("run: completed");
  await isDone("Start a run");
  await steps.getByText("All steps are done.").waitFor(WAIT);
  await page.getByText("Runs by state").waitFor(WAIT);

  // The next visit has no need of them.
  await visit(page, "/");
  await page.getByText("Runs by state").waitFor(WAIT);
  expect(await steps.count()).toBe(0);
});

test("the commands for another namespace name it", async (context) => {
  await callJson(server.address, "OperatorService/CreateNamespace", { name: "blue" });
  const page = await sharedPage(context, server.address);
  await page.goto("/ns/blue");
  const steps = page.getByRole("region", { name: "First steps" });
  const to = `--address ${server.address} --namespace blue`;
  await steps.getByText(`npx drover workflow apply hello/seats.yaml ${to}`).waitFor(WAIT);
  await steps.getByText('set namespace: "blue" in hello/agent.ts').waitFor(WAIT);
});
