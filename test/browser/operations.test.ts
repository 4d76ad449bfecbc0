/**
 * The pages that operate: workflows, queues and agents, supervisors, escalations, schedules,
 * interventions, audit; full, empty, on a narrow screen, and while servers come and go.
 */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { spawnDroverServer } from "../support/drover-server.ts";
import { until } from "../support/until.ts";
import { checkScreen as checkScreenOf, closeBrowser, sharedPage, visit } from "./browser.ts";
import { type OperationsWorld, openOperationsWorld } from "./operations-world.ts";

let world: OperationsWorld;
let page: Page;

beforeAll(async () => {
  world = await openOperationsWorld();
});
afterAll(async () => {
  await closeBrowser();
  await world?.stop();
});
beforeEach(async (context) => {
  page = await sharedPage(context, world.server.address);
  page.setDefaultTimeout(8_000);
});

async function open(path: string): Promise<void> {
  await visit(page, path);
  await page.getByRole("heading", { level: 1 }).waitFor();
}

const checkScreen = (name: string) => checkScreenOf(page, name);
const holds = (what: string, isSo: () => Promise<boolean>) =>
  until(what, async () => ((await isSo()) ? true : null));

describe.for([
  ["/workflows", "workflows", "book-holiday"],
  ["/workflows/book-holiday", "workflow", "Versions"],
  ["/queues", "queues", "travel"],
  ["/queues/mail", "queue", "send-letter"],
  ["/supervisors", "supervisors", "All 256 partitions have a supervisor"],
  ["/escalations", "escalations", "it is unknown whether it took effect"],
  ["/schedules", "schedules", "every-night"],
  ["/schedules/every-night", "schedule", "Next times"],
  ["/interventions", "interventions", "an agent stopped sending heartbeats"],
  ["/audit", "audit", "registered a version of workflow"],
] as const)("the page %s", ([path, name, shows]) => {
  it("shows what is there, with no defect and nothing that hinders a reader", async () => {
    await open(path);
    await page.getByText(shows).locator("visible=true").first().waitFor();
    await checkScreen(name);
  });
});

describe("a namespace in which nothing is", () => {
  it.for([
    ["workflows", "No workflow is registered"],
    ["queues", "No queue yet"],
    ["escalations", "No open escalation"],
    ["schedules", "No schedule"],
    ["interventions", "No intervention yet"],
  ] as const)("shows that on the page %s, and what comes there", async ([name, sentence]) => {
    await world.call("OperatorService/CreateNamespace", { name: "quiet" });
    await open(`/ns/quiet/${name}`);
    await page.getByText(sentence).waitFor();
    await checkScreen(`${name}-empty`);
  });
});

describe("a narrow screen", () => {
  it.for([
    "workflows/book-holiday",
    "queues",
    "queues/mail",
    "supervisors",
    "interventions",
    "audit",
  ])("shows %s without a sideways way", async (path) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(`/${path}`);
    await page
      .getByRole("heading", { level: 2 })
      .first()
      .or(page.getByRole("list"))
      .first()
      .waitFor();
    const over = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    expect(over).toBeLessThanOrEqual(0);
    await checkScreen(`narrow-${path.replace("/", "-")}`);
  });
});

describe("the interventions", () => {
  it("are filtered by rule and run, in the address, and lead to the run", async () => {
    await open("/interventions");
    await page.getByLabel("Rule").selectOption("lease");
    await page
      .getByText("an agent stopped sending heartbeats")
      .locator("visible=true")
      .first()
      .waitFor();
    expect(new URL(page.url()).search).toBe("?rule=lease");
    const entries = page.getByRole("list", { name: /newest first/ }).getByRole("listitem");
    expect(await entries.count()).toBe(1);
    const text = (await entries.first().textContent()) ?? "";
    expect(text).toMatch(/crunch of nightly-report, attempt 1/);
    expect(text).toMatch(/after it was due/);
    await page.keyboard.press("Escape");
    await page.getByLabel("Run id").fill(crypto.randomUUID());
    await page.getByText("No intervention matches these filters").waitFor();
    await checkScreen("interventions-filtered");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page
      .getByRole("link", { name: /crunch of nightly-report/ })
      .first()
      .click();
    await page.waitForURL(/\/runs\//);
  });
});

describe("the audit", () => {
  it("says who did what, is filtered in its address, and leads to the queue", async () => {
    await fetch(`http://${world.server.address}/drover.v1.OperatorService/PauseQueue`, {
      method: "POST",
      headers: { "content-type": "application/json", "drover-by": "J%C3%BCrgen" },
      body: JSON.stringify({ queue: "audited", reason: "the relay is down" }),
    });
    await open("/audit?by=J%C3%BCrgen");
    const entries = page.getByRole("list", { name: /newest first/ }).getByRole("listitem");
    await entries.getByText("paused queue").waitFor();
    expect(await entries.count()).toBe(1);
    await entries.getByText("the relay is down").first().click();
    await entries.getByText("Jürgen, not verified").waitFor();
    await checkScreen("audit-open");
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export as JSON lines" }).click();
    const path = await (await saved).path();
    const lines = readFileSync(path, "utf8").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).action)).toEqual(["queue.pause"]);
    await page.getByLabel("Subject").fill("queue/other");
    await page.getByText("No change matches these filters").waitFor();
    expect(new URL(page.url()).searchParams.get("subject")).toBe("queue/other");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByRole("link", { name: "audited" }).click();
    await page.waitForURL(/\/queues\/audited$/);
  });

  it("has the name that the browser remembers", async () => {
    await open("/audit");
    await page.evaluate("localStorage.setItem('drover.name', 'Zoë')");
    const asked = page.waitForRequest(/ListAudit/);
    expect((await asked).headers()["drover-by"]).toBe("Zo%C3%AB");
    await page.evaluate("localStorage.removeItem('drover.name')");
  });
});

describe("hand-overs", () => {
  it("are listed of one partition, and of all", async () => {
    await open("/supervisors");
    await page.getByLabel("Partition", { exact: true }).fill("17");
    await page.getByRole("heading", { name: "Hand-overs of partition 17" }).waitFor();
    const rows = page.getByRole("table", { name: "Hand-overs" }).getByRole("row");
    await holds("one row is left below the head", async () => (await rows.count()) === 2);
    await page.getByLabel("List all of them").check();
    await page.getByRole("table", { name: "Partitions" }).waitFor();
    await checkScreen("supervisors-partition");
  });
});

describe("a second server", () => {
  it("has its share of the partitions, and is reported when it is killed", async () => {
    const second = await spawnDroverServer(world.server.connectionString);
    onTestFinished(() => second.signal("SIGKILL"));
    await open("/supervisors");
    // Partitions move a few at a time, so that no run is left alone for long.
    const owners = page.getByRole("list", { name: "Owners" }).getByRole("listitem");
    await holds("the second one has some", async () => {
      const shares = (await owners.allTextContents()).filter(
        (one) => !one.startsWith("no supervisor"),
      );
      return shares.length === 2;
    });
    await checkScreen("supervisors-two");
    await second.signal("SIGKILL");
    await page.getByText("its owner was lost").first().waitFor({ timeout: 20_000 });
    await page.getByText("silent").waitFor();
    await checkScreen("supervisors-lost");
    await page.getByText("All 256 partitions have a supervisor").waitFor({ timeout: 20_000 });
  });
});

describe("the keyboard", () => {
  it("goes to a page by two letters, along its rows, and into one", async () => {
    await open("/");
    await page.keyboard.press("g");
    await page.keyboard.press("w");
    await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
    await page.getByRole("link", { name: "book-holiday" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("o");
    await page.getByRole("heading", { name: /book-holiday v\d/, level: 1 }).waitFor();
  });
});
