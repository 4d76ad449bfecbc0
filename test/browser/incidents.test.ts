/**
 * Five incidents, each planted for real, found on the Overview, understood and put right by a
 * person with at most four clicks. What the person types is no click: a dialog has its first field
 * in focus, and Tab leads to the next. What came of it is read back through the API.
 */
import { type AgentOptions, createAgent, UnknownError } from "@drover/sdk";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../sdk/typescript/client.ts";
import type { StepSettings } from "../../sdk/typescript/workflow.ts";
import { silentLog } from "../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { callJson } from "../support/json-call.ts";
import { until } from "../support/until.ts";
import { closeBrowser, openPage, picture, seriousFindings } from "./browser.ts";

type Handlers = AgentOptions["handlers"];

const CLICKS_MAX = 4;

let server: TestServer;
let client: Client;
let page: Page;
let clicks = 0;
/** Used by one test alone: a server remembers for a minute which agents poll a queue. */
let queue = "";
let tests = 0;
let running: readonly ReturnType<typeof createAgent>[] = [];

beforeAll(async () => {
  server = await startDroverServer(undefined, {
    circuits: { minOutcomes: 4, cooldownMs: 300_000 },
  });
  client = createClient({ address: server.address });
});
afterAll(async () => {
  await closeBrowser();
  client?.close();
  await server?.stop();
});
beforeEach(async (context) => {
  page = await openPage(context, server.address);
  page.setDefaultTimeout(15_000);
  clicks = 0;
  queue = `tills-${++tests}`;
});
/**
 * An incident that is over leaves nothing behind that calls for a person. An agent that failed is
 * forgotten a minute after its last call, so it stops first.
 */
afterEach(async () => {
  await Promise.all(running.map((agent) => agent.stop()));
  running = [];
  await page.goto("/");
  await page.getByText("Nothing needs attention.").waitFor({ timeout: 90_000 });
});

async function operate(method: string, body: object): Promise<void> {
  const answer = await callJson(server.address, `OperatorService/${method}`, body);
  if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer.body)}`);
}

async function startAgent(handlers: Handlers, name = "a"): Promise<void> {
  const { address } = server;
  const id = `${queue}-${name}`;
  const agent = createAgent({
    address,
    id,
    version: "2.0",
    queues: [queue],
    handlers,
    log: silentLog,
  });
  agent.start();
  running = [...running, agent];
  await until(`${id} asks for work`, async () => {
    const { agents } = await client.operations.agents({ agentId: id });
    return agents.length === 1 ? true : null;
  });
}

async function startRun(more: Partial<StepSettings> = {}): Promise<string> {
  const steps = [{ ...more, id: "charge", task: "charge", queue }];
  return (await client.schedule({ workflow: { workflow: "shop", steps } })).runId;
}

/** Opens the Overview, where this is shown of the incident. */
async function onOverview(name: string, ...texts: readonly RegExp[]): Promise<Locator> {
  await page.goto("/");
  const expected = texts[0] ?? /./;
  const needs = page.getByRole("region", { name: "Needs attention" });
  const line = needs.getByRole("listitem").filter({ hasText: expected });
  await line.waitFor();
  for (const one of texts) expect(await line.textContent()).toMatch(one);
  await checkScreen(`incident-${name}-1`);
  return line;
}

async function checkScreen(name: string): Promise<void> {
  await picture(page, name);
  expect(await seriousFindings(page)).toEqual([]);
}

/** The one way in which anything is clicked here. */
async function click(what: Locator): Promise<void> {
  await what.click();
  clicks++;
}

/** The page that explains it, of which these words are understood. */
async function explains(name: string, ...texts: readonly (string | RegExp)[]): Promise<void> {
  for (const one of texts) await page.getByText(one).locator("visible=true").first().waitFor();
  await checkScreen(`incident-${name}-2`);
}

/** Orders it, and in the dialog that explains what will happen fills in the fields and confirms. */
async function act(name: string, fields: Readonly<Record<string, string>> = {}): Promise<void> {
  await click(page.getByRole("button", { name, exact: true }));
  const dialog = page.getByRole("dialog");
  for (const [field, text] of Object.entries(fields))
    await dialog.getByLabel(new RegExp(`^${field}`)).fill(text);
  await checkScreen(`incident-${name.toLowerCase().replaceAll(" ", "-")}`);
  await click(dialog.locator("button[type=submit]"));
  await dialog.waitFor({ state: "detached" });
}

async function ends(runId: string): Promise<string> {
  const { state } = await client.waitRun(runId);
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
  return state;
}

const done: Handlers = { charge: async () => ({ charged: true }) };

describe("no agent for a queue", () => {
  test("as none was started: the page names what to start, and the Overview clears by itself", async () => {
    const runId = await startRun();
    const line = await onOverview("no-agent", /No agent polls queue tills-\d for charge/);
    await click(line.getByRole("link"));
    await explains(
      "no-agent",
      "and no agent polls for it. Start one",
      `queues: ["${queue}"]`,
      '"charge"',
    );
    await page.getByRole("link", { name: "Overview" }).focus();
    await page.keyboard.press("Enter");
    await line.waitFor();
    await startAgent(done);
    expect(await ends(runId)).toBe("COMPLETED");
    await page.getByText("Nothing needs attention.").waitFor();
    expect(clicks).toBe(1);
  });

  test("as a pin keeps its tasks for a version that is gone: the pin is taken back", async () => {
    await startAgent(done);
    const pin = { queue, workflow: "shop", agentVersion: "1.0" };
    await operate("PinQueue", pin);
    const runId = await startRun();
    const line = await onOverview(
      "pin",
      /No agent of version 1\.0 polls queue tills-\d for charge/,
    );
    await click(line.getByRole("link"));
    await explains("pin", /because of a pin, and none polls for it\. Remove the pin below/);
    await act("Unpin shop");
    expect(await ends(runId)).toBe("COMPLETED");
    expect(clicks).toBe(3);
  });

  test("as all of its agents are cordoned: they are uncordoned", async () => {
    await startAgent(done);
    await operate("CordonAgent", { version: "2.0", by: "ada", why: "2.0 leaks" });
    const runId = await startRun();
    const expected = /Agents of version 2\.0 get no new tasks since .*, set by ada: 2\.0 leaks/;
    const line = await onOverview("cordon", expected);
    await click(line.getByRole("link"));
    await explains("cordon", "agents of version 2.0", "2.0 leaks");
    await act("Uncordon agents of version 2.0");
    expect(await ends(runId)).toBe("COMPLETED");
    expect(clicks).toBe(3);
  });
});

test("an open circuit: an operator closes it once the service is back", async () => {
  const remote = { isUp: false };
  const handlers: Handlers = {
    charge: async () => {
      if (!remote.isUp) throw new UnknownError("bank-down", "the bank is down");
      return { charged: true };
    },
  };
  for (const name of ["a", "b"]) await startAgent(handlers, name);
  const retry = { attempts: 100, initial: "50ms", factor: 1, jitter: 0 } as const;
  const runs = await Promise.all(Array.from({ length: 6 }, () => startRun({ retry })));
  const line = await onOverview(
    "circuit",
    /The circuit of charge in queue tills-\d opened/,
    /tasks failed within 60 s/,
    /The next probe task runs in .*; if it succeeds, the circuit closes/,
  );
  await click(line.getByRole("link"));
  await explains("circuit", /is open: .* tasks failed within 60 s/, /The next probe task runs in/);
  remote.isUp = true;
  await act("Close circuit: charge", {
    "Your name": "ada",
    Reason: "the bank is back",
  });
  for (const runId of runs) expect(await ends(runId)).toBe("COMPLETED");
  expect(clicks).toBe(3);
});

test("an ambiguous payment: the bank is asked by its key, and has it", async () => {
  const bank = new Map<string, string>();
  await startAgent({
    charge: async ({ idempotencyKey }) => {
      bank.set(idempotencyKey, "r-17");
      throw new UnknownError("connection-lost", "the bank hung up after the card was sent");
    },
  });
  const runId = await startRun({ effects: "once" });
  const expected = [
    /charge of shop: whether "charge" took effect is unknown/,
    /the bank hung up/,
  ] as const;
  const line = await onOverview("payment", ...expected);
  await click(line.getByRole("link"));
  await explains("payment", "Key in the remote service", "by its key, whether it took effect");
  const keyText = await page.locator("dd .mono", { hasText: "/charge/" }).innerText();
  expect(bank.get(keyText.split(/\s/)[0] ?? "")).toBe("r-17");
  await act("It is done", { Output: '{"receipt":"r-17"}', "Your name": "ada" });
  expect(await ends(runId)).toBe("COMPLETED");
  expect({ clicks, charged: bank.size }).toEqual({ clicks: 3, charged: 1 });
});

test("a stalled step: it makes no progress after 47 %, and is tried anew", async () => {
  const disk = { isFull: true };
  await startAgent({
    charge: (_task, { progress, signal }) => {
      progress({ fraction: 0.47 });
      if (!disk.isFull) return Promise.resolve({ charged: true });
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  const runId = await startRun({
    onFailure: "escalate",
    retry: { attempts: 1 },
    timeouts: { stall: "1s", heartbeat: "3s" },
  });
  const line = await onOverview("stall", /charge of shop: .* its progress stalled/);
  await click(line.getByRole("link"));
  await explains("stall", "it made no progress", "47 %", "Check what the agent waited for");
  disk.isFull = false;
  await act("Try again", { "Your name": "ada", Reason: "the disk was full" });
  expect(await ends(runId)).toBe("COMPLETED");
  expect(clicks).toBe(3);
});

test("a paused namespace: an operator forgot to resume it", async () => {
  await startAgent(done);
  await operate("PauseNamespace", { reason: "moving house" });
  const runId = await startRun();
  const line = await onOverview("paused", /The whole namespace, since .*: moving house/);
  await click(line.getByRole("link"));
  await explains("paused", "all queues are paused: moving house");
  await act("Resume all queues");
  expect(await ends(runId)).toBe("COMPLETED");
  expect(clicks).toBe(3);
});
