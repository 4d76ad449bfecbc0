// The command palette: by the keyboard alone, to everything that has a name.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";
import { type OperationsWorld, openOperationsWorld } from "./operations-world.ts";

let world: OperationsWorld;
beforeAll(async () => {
  world = await openOperationsWorld();
});
afterAll(async () => {
  await closeBrowser();
  await world?.stop();
});

/** Types once the palette has the focus: it is opened by code that comes after the page. */
async function typeInto(page: Page, text: string): Promise<void> {
  const focused = () => page.evaluate<string | undefined>("document.activeElement?.role");
  await expect.poll(focused, { timeout: 30_000 }).toBe("combobox");
  await page.keyboard.type(text);
}

test.for([
  ["superv", "Supervisors", "/supervisors"],
  ["holiday", "book-holiday", "/workflows/book-holiday"],
  ["trav", "travel", "/queues/travel"],
  ["payments-1", "payments-1", "/queues?agent="],
  ["quarter", "every-quarter", "/schedules/every-quarter"],
])("%s leads to %s by the keyboard alone", async ([typed = "", name = "", to = ""], context) => {
  const page = await sharedPage(context, world.server.address);
  await visit(page, "/runs");
  await page.getByRole("table", { name: "Runs" }).waitFor();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: "Go to" });
  await typeInto(page, typed);
  const places = page.getByRole("listbox", { name: "Places" });
  await places.getByRole("option", { name }).first().waitFor();
  const current = places.getByRole("option", { selected: true });
  for (let downs = 0; downs < 10; downs++) {
    if ((await current.textContent())?.startsWith(name)) break;
    await page.keyboard.press("ArrowDown");
  }
  // What the field says is current is the selected option.
  const selected = await current.getAttribute("id");
  expect(await field.getAttribute("aria-activedescendant")).toBe(selected);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => `${url.pathname}${url.search}`.startsWith(to));
  expect(await page.getByRole("dialog").count()).toBe(0);
});

test("a run is found by its whole id or key, though newer ones fill the list", async (context) => {
  const { server, call } = world;
  const asked = { workflow: { name: "charge-card" }, key: "the-old-one" };
  await call("SchedulerService/Schedule", asked);
  const runs = Array.from({ length: 200 }, () => ({ workflow: { name: "book-holiday" } }));
  await call("SchedulerService/ScheduleBatch", { runs });
  const page = await sharedPage(context, server.address);
  await visit(page, "/");
  await page.getByRole("button", { name: "Go to" }).click();
  await typeInto(page, "the-old-one");
  const option = page.getByRole("option", { name: "the-old-one charge-card" });
  await option.waitFor();
  // What was searched is said.
  await page.getByRole("group", { name: "Runs, among the newest 200" }).waitFor();
  await checkScreen(page, "palette");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "the-old-one" }).waitFor();
  const runId = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await page.keyboard.press("Control+k");
  await typeInto(page, runId.toUpperCase());
  await option.waitFor();
  await page.keyboard.press("Escape");
});

test("Escape closes it, and a name that nothing has is said to be none", async (context) => {
  const page = await sharedPage(context, world.server.address);
  await visit(page, "/workflows");
  await page.getByRole("table", { name: "Workflows" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Overview" }).waitFor();
  await typeInto(page, "no such name");
  await page.getByText("Nothing has this name.").waitFor();
  expect(await page.getByRole("listbox", { name: "Places" }).getByRole("option").count()).toBe(0);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(new URL(page.url()).pathname).toBe("/workflows");
});

test("the help names it, and Enter opens the current row of a list", async (context) => {
  const page = await sharedPage(context, world.server.address);
  await visit(page, "/workflows");
  await page.getByRole("table", { name: "Workflows" }).waitFor();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Shortcuts" });
  await help.getByText("go to a page, or to anything by its name").waitFor();
  await help.getByText("Enter", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/workflows/charge-card");
});
