/**
 * Incidents, each understood from the Overview of its namespace with at most three clicks: the page
 * names the cause and what to do next. What a person types is no click.
 */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { type Incidents, type Planted, plantIncidents } from "../support/planted-incidents.ts";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";

const CLICKS_MAX = 3;

let server: TestServer;
let incidents: Incidents;
let page: Page;
let clicks = 0;
const ends: (() => Promise<void> | void)[] = [];
beforeAll(async () => {
  server = await startDroverServer();
  incidents = plantIncidents({ address: server.address, atEnd: (end) => ends.push(end) });
  await Promise.all(Object.values(incidents));
});
afterAll(async () => {
  await closeBrowser();
  await Promise.all(ends.map((end) => end()));
  await server?.stop();
});
beforeEach(async (context) => {
  page = await sharedPage(context, server.address);
  page.setDefaultTimeout(8_000);
});

async function openOverview({ namespace }: Planted): Promise<void> {
  clicks = 0;
  await visit(page, `/ns/${namespace}/`);
}

/** The line of the Overview about it, on which all of this is said. */
async function lineOf(...texts: readonly (string | RegExp)[]): Promise<Locator> {
  const line = texts.reduce<Locator>(
    (lines, hasText) => lines.filter({ hasText }),
    page.getByRole("main").getByRole("listitem"),
  );
  await line.first().waitFor();
  return line.first();
}

/** The one way in which anything is clicked here. */
async function click(what: Locator): Promise<void> {
  await what.click();
  clicks++;
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
}

/** The page says this, and is kept as a picture. */
async function says(name: string, ...texts: readonly (string | RegExp)[]): Promise<void> {
  for (const one of texts)
    await page.getByRole("main").getByText(one).locator("visible=true").first().waitFor();
  await checkScreen(page, `cause-${name}`);
}

const link = (name: string | RegExp) => page.getByRole("main").getByRole("link", { name });
const button = (name: string | RegExp) => page.getByRole("button", { name });

/** The run that the list shows, which has only one. */
async function openOnlyRun(runId: string): Promise<void> {
  await click(page.locator(`a[href$="/runs/${runId}"]`).first());
}

describe("a map with failed items", () => {
  test("that were tolerated: each failed item with its error", async () => {
    await openOverview(await incidents.toleratedItems);
    const line = await lineOf("load of nightly-load", "bad-row", "3 failed");
    await click(line.getByRole("link", { name: "See the last run" }));
    await says("tolerated", "completed, 1 warning", "3 of 200 items failed, and 5 may");
    await click(page.getByRole("region", { name: "Warnings" }).getByRole("button"));
    const items = page.getByRole("table", { name: "Items of load" });
    for (const bad of [17, 101, 150]) await items.getByText(`row ${bad} has no customer`).waitFor();
    await checkScreen(page, "cause-tolerated-items");
  });

  test("none of which may fail: the failed item, its error, and the retry of the run", async () => {
    await openOverview(await incidents.failedItem);
    await lineOf("load of nightly-load", "bad-row", "row 101 has no customer");
    const line = await lineOf("load of nightly-load", "1 of 200 items failed, and 0 may");
    await click(line.getByRole("link", { name: "See the last run" }));
    await says("untolerated", '"load" failed: drover.items: 1 of 200 items failed, and 0 may.');
    await button("Retry").first().waitFor();
    await click(page.locator(".graph-node").first());
    const items = page.getByRole("table", { name: "Items of load" });
    await items.getByRole("row").nth(1).getByText("row 101 has no customer").waitFor();
    await checkScreen(page, "cause-untolerated-items");
  });
});

describe("a schedule whose workflow is paused", () => {
  test("from the Overview: the pause, its reason, and where it ends", async () => {
    await openOverview(await incidents.pausedWorkflow);
    const line = await lineOf(/Workflow hourly-report, since .*: the disk is full/);
    await click(line.getByRole("link", { name: "Resume it" }));
    await says("paused-workflow", "the disk is full");
    await button("Resume").waitFor();
  });

  test("from the schedule: the same", async () => {
    await openOverview(await incidents.pausedWorkflow);
    await click(page.getByRole("navigation").getByRole("link", { name: "Schedules" }));
    await click(link("reports"));
    await says(
      "schedule-of-paused-workflow",
      /Workflow hourly-report is paused since .*: the disk is full/,
    );
    await click(link("resume it"));
    await button("Resume").waitFor();
  });
});

test("a signal with a wrong name: the name that the run waits for", async () => {
  const { runId, ...incident } = await incidents.misnamedSignal;
  await openOverview(incident);
  await click(link("1 waiting for a signal"));
  await openOnlyRun(runId);
  await says("misnamed", 'waits for the signal "payment"', "send the signal");
});

test("a lost callback token: who has deferred the outcome, and the button to complete it", async () => {
  const { runId, ...incident } = await incidents.lostCallback;
  await openOverview(incident);
  await click(link("1 waiting for a callback"));
  await openOnlyRun(runId);
  await says(
    "deferred",
    /"deliver" waits for the outcome that courier-1 has deferred.*; in 24 h its outcome counts as unknown/,
  );
  await button("Complete").waitFor();
});

test("two agents of one id, one of which fails: its instance, its error, and its cordon", async () => {
  await openOverview(await incidents.failingTwin);
  await lineOf("send of welcome", "no-template", "the template welcome.html is missing");
  const line = await lineOf(/Agent mail-1 .* at send of queue default/, /succeed with 100 %/);
  await click(line.getByRole("link", { name: "See the agent" }));
  await says("twins", "2 live instances", "(this one)", "failing");
  await button(/^Cordon/)
    .first()
    .waitFor();
});

test("a wrong output: the step, the path, and the value that came", async () => {
  await openOverview(await incidents.wrongOutput);
  const line = await lineOf("quote of price", "drover.schema", 'but is "nine hundred"');
  await click(line.getByRole("link", { name: "See the last run" }));
  await says(
    "schema",
    /its output does not match output_schema: cents must be an integer, but is "nine hundred"/,
  );
});

test("an agent that fails at every attempt: the agent, its error, and the runs that retry", async () => {
  await openOverview(await incidents.failingAgent);
  await lineOf("send of newsletter", "smtp-421", "too many connections", "30 failed attempts");
  await link("30 retrying").waitFor();
  const line = await lineOf(/Agent mailer-1 .* at send of queue default/, "30 of 30");
  await checkScreen(page, "cause-failing-agent-overview");
  await click(line.getByRole("link", { name: "See the agent" }));
  await says("failing-agent", "failing", "30 of 30 failed");
});

test("a tenant without a free agent: which label has all slots, and since when", async () => {
  await openOverview(await incidents.starvedTenant);
  await click(page.getByRole("navigation").getByRole("link", { name: "Queues and agents" }));
  await click(link("default"));
  await says(
    "starved",
    /5 tasks wait while agents hold 4, each for .+ or longer/,
    /4 have the label tenant=acme, 4 are of workflow sync-tenant/,
    "To serve the others, start another agent.",
  );
});

test("an approval that nobody has given: who may give it, and the decision", async () => {
  await openOverview(await incidents.openApproval);
  const line = await lineOf(/approve of release-funds/, /treasury/);
  await click(line.getByRole("link").last());
  await says("approval", /treasury or ada/);
  await button(/^(Decide|Approve)/)
    .first()
    .waitFor();
});

test("a queue without agents: the code that starts one", async () => {
  await openOverview(await incidents.unservedQueue);
  const line = await lineOf(/No agent polls queue gpu for encode/);
  await click(line.getByRole("link", { name: "See the queue" }));
  await says("unserved", "and no agent polls for it. Start one", 'queues: ["gpu"]');
});

test("an agent whose clock is wrong: by how much, and what to do", async () => {
  await openOverview(await incidents.wrongClock);
  await click(page.getByRole("navigation").getByRole("link", { name: "Queues and agents" }));
  await says("wrong-clock-list", "wrong clock");
  await click(link("idle"));
  await says("wrong-clock", /(1 h|59 min) behind; run NTP on its machine/);
});

describe("a payment", () => {
  test("whose undo failed: why, and the answers that a person can give", async () => {
    await openOverview(await incidents.failedUndo);
    const line = await lineOf("could not be undone", "the payment of r-17 is settled");
    await click(line.getByRole("link").last());
    await says("failed-undo", '"charge" could not be undone after 1 try', "too-late");
    await button("Try again").waitFor();
  });

  test("whose outcome is unknown: the key to ask the bank by, and the answers", async () => {
    await openOverview(await incidents.unknownPayment);
    const line = await lineOf('whether "charge" took effect is unknown');
    await click(line.getByRole("link").last());
    await says("unknown", "Key in the remote service", "by its key, whether it took effect");
    await button("It is done").waitFor();
  });
});
