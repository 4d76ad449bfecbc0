/**
 * What a person does to workflows, queues, agents, escalations and schedules: each action is done
 * in a real browser, and its effect is read back through the API.
 */
import { createAgent } from "@drover/sdk";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { at, listAt, textAt } from "../support/json-call.ts";
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
const button = (name: string | RegExp): Locator => page.getByRole("button", { name });
const dialog = (): Locator => page.getByRole("dialog");

/** Opens the dialog of an action, fills it in, and does it. */
async function act(name: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
  await page.getByRole("button", { name, exact: true }).click();
  const asked = dialog();
  for (const [field, value] of Object.entries(fields))
    await asked.getByLabel(new RegExp(`^${field}`)).fill(value);
  const text = (await asked.textContent()) ?? "";
  await asked.locator("button[type=submit]").click();
  await asked.waitFor({ state: "detached" });
  return text;
}

const holds = (what: string, isSo: () => Promise<boolean>) =>
  until(what, async () => ((await isSo()) ? true : null));

describe("an escalation", () => {
  /** The newest open question. */
  async function firstOpen(): Promise<{ runId: string; id: string; path: string }> {
    const [one] = listAt(await world.call("OperatorService/ListEscalations", {}), "escalations");
    const [runId, id] = [textAt(one, "runId"), textAt(one, "id")];
    return { runId, id, path: `/escalations/${runId}/${id}` };
  }
  const escalation = async ({ runId, id }: { runId: string; id: string }) =>
    world.call("OperatorService/GetEscalation", { run: { runId }, escalationId: id });

  it("is found in the list, read, claimed and answered with an output: its run completes", async () => {
    const question = await firstOpen();
    await open("/escalations");
    await page.locator(`a[href="${question.path}"]`).click();
    await page.getByRole("heading", { name: "What happened" }).waitFor();
    await page.getByText("connection-lost: the bank hung up").first().waitFor();
    await checkScreen("escalation");

    await act("Claim", { "Your name": "ada" });
    await page.getByText("claimed by ada").waitFor();
    expect(at(await escalation(question), "escalation", "claimedBy")).toBe("ada");

    await button("It is done").click();
    const asked = dialog();
    expect(await asked.textContent()).toContain("Step charge counts as done");
    expect(await asked.getByLabel("Your name").inputValue()).toBe("ada");
    await checkScreen("escalation-answer");
    await asked.getByLabel("Output, as JSON").fill('{"charged": 42}');
    await asked.getByLabel("Reason").fill("the bank has it");
    await asked.getByRole("button", { name: "It is done" }).click();
    await page.getByText("Answer recorded: succeed.").waitFor();
    await page.getByText("succeed, by ada (not verified): the bank has it").waitFor();
    await checkScreen("escalation-closed");

    const after = await escalation(question);
    expect(at(after, "escalation", "answer")).toMatchObject({ answer: "succeed", by: "ada" });
    expect(at(after, "step", "output", "json")).toBe('{"charged": 42}');
    const run = await world.call("SchedulerService/GetRun", { run: { runId: question.runId } });
    expect(at(run, "run", "state")).toBe("RUN_STATE_COMPLETED");
  });

  it("is not answered with what is no JSON, and the field shows why", async () => {
    const question = await firstOpen();
    await open(question.path);
    await button("Try again with another input").click();
    const asked = dialog();
    await asked.getByLabel("Complete input, as JSON").fill("{card: 1}");
    await asked.getByLabel("Your name").fill("ada");
    await asked.getByLabel("Reason").fill("another card");
    await asked.getByRole("button", { name: "Try again with another input" }).click();
    const field = asked.getByLabel("Complete input, as JSON");
    const text = await field.evaluate((of) => String(Reflect.get(of, "validationMessage")));
    expect(text).toMatch(/^This is not JSON/);
    await asked.getByRole("button", { name: "Close" }).click();
    expect(at(await escalation(question), "escalation", "closedTime")).toBeUndefined();
  });

  it("is released by the person who claimed it, and claimed by another", async () => {
    const question = await firstOpen();
    const claimedBy = async () => at(await escalation(question), "escalation", "claimedBy");
    await open(question.path);
    await act("Claim", { "Your name": "ada" });
    await page.getByText("claimed by ada").waitFor();
    expect(await act("Take over", { "Your name": "grace" })).toContain("from ada");
    await page.getByText("claimed by grace").waitFor();
    expect(await claimedBy()).toBe("grace");
    expect(await act("Release")).toContain("grace no longer claims it");
    await button("Claim").waitFor();
    expect(await claimedBy()).toBeUndefined();
  });

  it("ends its run with the answer to fail it, after a warning", async () => {
    const question = await firstOpen();
    await open(question.path);
    const text = await act("Fail the run", { "Your name": "ada", Reason: "the card was refused" });
    expect(text).toContain("This cannot be undone");
    await holds("the run has failed", async () => {
      const run = await world.call("SchedulerService/GetRun", { run: { runId: question.runId } });
      return at(run, "run", "state") === "RUN_STATE_FAILED";
    });
  });

  it("that is not there is shown as missing", async () => {
    const { path } = await firstOpen();
    await visit(page, `${path}9`);
    await page.getByText("Could not load the escalation").waitFor();
    await checkScreen("escalation-missing");
  });
});

describe("a queue", () => {
  const queue = async (name: string) => world.call("OperatorService/GetQueue", { queue: name });

  it("is paused with a reason, and resumed", async () => {
    await open("/queues/mail");
    expect(await act("Pause", { Reason: "the printer burns" })).toContain(
      "Agents finish the tasks that they have",
    );
    await page.getByText("paused", { exact: true }).first().waitFor();
    expect(at(await queue("mail"), "queue", "pause", "reason")).toBe("the printer burns");
    await checkScreen("queue-paused");
    await act("Resume");
    await button("Pause").waitFor();
    expect(at(await queue("mail"), "queue", "pause")).toBeUndefined();
  });

  it("gets limits, and loses them", async () => {
    await open("/queues/travel");
    await act("Limits", { "Most tasks in progress at a time": "3", "Most tasks a second": "0.5" });
    await page.getByText("3 in progress; 0.5 a second, 1 at once", { exact: true }).waitFor();
    expect(at(await queue("travel"), "queue", "limits")).toMatchObject({
      leased: 3,
      perSecond: 0.5,
    });
    await act("Limits", {
      "Most tasks in progress at a time": "",
      "Most tasks a second": "",
      "Burst: most tasks at once": "",
    });
    await holds("the limits are gone", async () => {
      const leased = at(await queue("travel"), "queue", "limits", "leased") ?? 0;
      return leased === 0;
    });
  });

  it("gives a workflow to one version of agents alone, and to all again", async () => {
    await open("/queues/travel");
    await act("Pin a workflow", { Workflow: "book-holiday", "Version of the agents": "2.1" });
    await button("Unpin book-holiday").waitFor();
    expect(listAt(await queue("travel"), "pins")).toMatchObject([
      { workflow: "book-holiday", agentVersion: "2.1" },
    ]);
    await act("Unpin book-holiday");
    await page.getByText("go to agents of any version").waitFor();
    expect(listAt(await queue("travel"), "pins")).toEqual([]);
  });

  it("has the circuit of a task held open, and released", async () => {
    const circuits = async () =>
      listAt(await world.call("OperatorService/ListCircuits", {}), "circuits");
    await open("/queues/mail");
    await act("Open circuit: send-letter", { "Your name": "ada", Reason: "out of stamps" });
    await page.getByText("held open").waitFor();
    expect(await circuits()).toMatchObject([
      { queue: "mail", task: "send-letter", setting: "CIRCUIT_SETTING_OPEN", why: "out of stamps" },
    ]);
    await open("/queues");
    await page.getByText("by ada: out of stamps").waitFor();
    await checkScreen("queues-circuit");
    await act("Release: send-letter");
    await page.getByText("All circuits are closed").waitFor();
    expect(await circuits()).toEqual([]);
  });

  it("has a circuit held closed, whatever fails, and released", async () => {
    const settings = async () =>
      listAt(await world.call("OperatorService/ListCircuits", {}), "circuits").map((of) =>
        [at(of, "task"), at(of, "setting"), at(of, "setBy")].join(" "),
      );
    await open("/queues/mail");
    const text = await act("Keep closed: send-letter", { "Your name": "ada" });
    expect(text).toContain("All tasks are handed out at once, however many fail");
    await page.getByText("kept closed").waitFor();
    expect(await settings()).toEqual(["send-letter CIRCUIT_SETTING_CLOSED ada"]);
    await act("Release: send-letter");
    await button("Keep closed: send-letter").waitFor();
    expect(await settings()).toEqual([]);
  });

  it("is paused and resumed with all others of the namespace", async () => {
    const pause = async () =>
      at(await world.call("OperatorService/GetOverview", {}), "namespacePause");
    await open("/queues");
    await act("Pause all queues", { Reason: "moving house" });
    await page.getByText("all queues are paused: moving house").waitFor();
    expect(await pause()).toMatchObject({ reason: "moving house" });
    await act("Resume all queues");
    await button("Pause all queues").waitFor();
    expect(await pause()).toBeUndefined();
  });
});

describe("an agent", () => {
  const cordons = async () =>
    listAt(await world.call("OperatorService/ListCordons", {}), "cordons");

  it("gets nothing new while it is cordoned by its own name", async () => {
    await open("/queues");
    await page.getByRole("link", { name: "travel-1" }).click();
    const named = { "Your name": "ada", Reason: "its disk is full" };
    expect(await act("Cordon", named)).toContain("travel-1");
    await page.getByText("agent travel-1, by ada: its disk is full").waitFor();
    expect(await cordons()).toMatchObject([{ agentId: "travel-1", why: "its disk is full" }]);
    await act("Uncordon agent travel-1");
    await button("Cordon").first().waitFor();
    expect(await cordons()).toEqual([]);
  });

  it("is one of two instances of its name, and is cordoned alone", async () => {
    const again = createAgent({
      address: world.server.address,
      id: "travel-1",
      version: "2.2",
      queues: ["elsewhere"],
      handlers: { nothing: async () => null },
    });
    again.start();
    onTestFinished(() => again.stop());
    await open("/queues");
    await page.getByText("2 instances").first().waitFor();
    await page.getByRole("link", { name: "travel-1" }).first().click();
    await page.getByText("2 live instances").waitFor();
    await page.getByText(/^They differ in .*version/).waitFor();
    await checkScreen("agent-instances");
    await act("Cordon this instance", { "Your name": "ada", Reason: "one too many" });
    await page.getByText(/instance [0-9a-f]{8} of agent travel-1, by ada: one too many/).waitFor();
    expect(await cordons()).toMatchObject([{ sessionAgentId: "travel-1", why: "one too many" }]);
    await page.getByRole("button", { name: /^Uncordon instance/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Uncordon" }).click();
    await button("Cordon this instance").waitFor();
    expect(await cordons()).toEqual([]);
  });

  it("shows what it holds and how far it is, and is cordoned and uncordoned by its version", async () => {
    await open("/queues");
    await page.getByRole("link", { name: "reports-1" }).click();
    await page.getByText("47 %").waitFor();
    await checkScreen("agent");
    await act("Cordon its version", { "Your name": "ada", Reason: "3.0 leaks" });
    await page.getByText("agents of version 3.0, by ada: 3.0 leaks").waitFor();
    expect(await cordons()).toMatchObject([{ version: "3.0", cordonedBy: "ada" }]);
    await act("Uncordon agents of version 3.0");
    await button("Cordon its version").waitFor();
    expect(await cordons()).toEqual([]);
  });
});

describe("a workflow", () => {
  const workflow = async () =>
    world.call("SchedulerService/GetWorkflow", { name: "book-holiday", includeDurations: true });

  it("shows how long its steps have taken", async () => {
    await open("/workflows/book-holiday?version=1");
    await page.getByText("not the default").waitFor();
    await open("/workflows/book-holiday");
    const durations = page.getByRole("region", { name: "Durations" });
    const row = durations.getByRole("row").filter({ hasText: "flight" });
    await row
      .getByText(/^\d+ ms$/)
      .first()
      .waitFor();
    await checkScreen("workflow");
  });

  it("is paused and resumed, and gets another default version", async () => {
    await open("/workflows/book-holiday");
    await act("Pause", { Reason: "prices are wrong" });
    await button("Resume").waitFor();
    expect(at(await workflow(), "workflow", "pause", "reason")).toBe("prices are wrong");
    await act("Resume");
    await button("Pause").waitFor();
    expect(at(await workflow(), "workflow", "pause")).toBeUndefined();
    expect(await act("Make default: v1")).toContain("Open runs keep their version");
    await button("Make default: v2").waitFor();
    expect(at(await workflow(), "workflow", "defaultVersion")).toBe(1);
  });
});

describe("a schedule", () => {
  const schedule = async (name: string) =>
    at(await world.call("SchedulerService/GetSchedule", { name }), "schedule");

  it("is paused, and resumed with its next time", async () => {
    await open("/schedules/every-night");
    await act("Pause", { Reason: "holidays" });
    await page.getByText("None while it is paused.").waitFor();
    expect(at(await schedule("every-night"), "pause", "reason")).toBe("holidays");
    await act("Resume");
    await page
      .getByText(/02:30:00 Europe\/Berlin/)
      .first()
      .waitFor();
    expect(at(await schedule("every-night"), "pause")).toBeUndefined();
  });

  it("begins a run at once, and those that were missed", async () => {
    await open("/schedules/every-quarter");
    await act("Start a run now");
    await page.getByText("person", { exact: true }).waitFor();
    const started = listAt(await schedule("every-quarter"), "last");
    expect(started).toMatchObject([
      { cause: "OCCURRENCE_CAUSE_TRIGGER", outcome: "OCCURRENCE_OUTCOME_STARTED" },
    ]);

    await button("Backfill").click();
    await dialog()
      .getByText(/^\d+ times: \d+ runs would start, 0 have one already\.$/)
      .waitFor();
    await checkScreen("schedule-backfill");
    await dialog().getByRole("button", { name: "Start them" }).click();
    await page.getByText(/^9[5-7] runs started for 9[5-7] times\.$/).waitFor();
    await page.getByText("backfill", { exact: true }).first().waitFor();
    await checkScreen("schedule-fires");
    expect(listAt(await schedule("every-quarter"), "last").length).toBe(50);
  });
});
