/**
 * The documentation site as a reader gets it: built from the tree, served as files, with every
 * request to another host refused. It is searched, linked into, read in both themes and on a phone.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, type TestContext, test } from "vitest";
import { type StaticSite, serveFolder } from "../support/static-site.ts";
import { treeRoot } from "../support/tree.ts";
import { checkScreen, closeBrowser, openPage, picture } from "./browser.ts";

const WAIT = { timeout: 15_000 };

let site: StaticSite;
beforeAll(async () => {
  const vitepress = join(treeRoot, "node_modules/vitepress/bin/vitepress.js");
  await promisify(execFile)(process.execPath, [vitepress, "build"], {
    cwd: join(treeRoot, "site"),
  });
  site = await serveFolder(join(treeRoot, "site/dist"));
}, 300_000);
afterAll(async () => {
  await closeBrowser();
  await site?.close();
});

/** A page of the site in a window that reaches no other host; asking one fails the test. */
async function openSite(context: TestContext, path: string): Promise<Page> {
  const page = await openPage(context, site.address);
  const others: string[] = [];
  await page.route(
    ({ host }) => host !== site.address,
    async (route) => {
      others.push(route.request().url());
      await route.abort();
    },
  );
  onTestFinished(() => expect(others).toEqual([]));
  await page.goto(path);
  await page.locator("main h1").waitFor(WAIT);
  return page;
}

test("the home page leads to the tutorial, and shows the groups of the index", async (context) => {
  const page = await openSite(context, "/");
  const navigation = page.getByRole("navigation", { name: "Sidebar Navigation" });
  await navigation.getByRole("heading", { name: "How-to" }).waitFor(WAIT);
  await checkScreen(page, "site-home");
  await navigation.getByRole("link", { name: "Tutorial" }).click();
  await page.getByRole("heading", { level: 1, name: /tutorial/i }).waitFor(WAIT);
  expect(new URL(page.url()).pathname).toBe("/tutorial");
});

test("the search finds a reason, and leads to its page", async (context) => {
  const page = await openSite(context, "/workflows");
  await page.keyboard.press("Control+k");
  const field = page.getByRole("searchbox");
  await field.waitFor(WAIT);
  await field.fill("KEYS_UNAVAILABLE");
  const found = page.getByRole("option").filter({ hasText: "KEYS_UNAVAILABLE" }).first();
  await found.waitFor(WAIT);
  await picture(page, "site-search");
  await found.click();
  await page.getByRole("heading", { level: 1, name: "KEYS_UNAVAILABLE" }).waitFor(WAIT);
});

test("a deep link shows its heading", async (context) => {
  const page = await openSite(context, "/reference/api/scheduler-service#cancelrun");
  const heading = page.locator("#cancelrun");
  await heading.waitFor(WAIT);
  await expect
    .poll(async () => Math.round((await heading.boundingBox())?.y ?? -1))
    .toSatisfy((y: number) => y >= 0 && y < 200);
  await checkScreen(page, "site-api");
});

test("a diagram is a picture, in the colours of the theme", async (context) => {
  const page = await openSite(context, "/states");
  const diagram = page.locator(".diagram svg").first();
  await diagram.getByText("PENDING", { exact: true }).first().waitFor(WAIT);
  await checkScreen(page, "site-states");
});

test("an address that the site does not have is said to be missing", async (context) => {
  const page = await openPage(context, site.address);
  await page.goto("/no-such-page");
  await page.getByText("404").waitFor(WAIT);
});

const NARROW = [
  "/",
  "/cli",
  "/states",
  "/metrics",
  "/sdk/go",
  "/reference/settings",
  "/reference/api/",
  "/reference/api/scheduler-service",
  "/reference/errors/",
  "/reference/errors/token_required",
];

test.for(NARROW)("nothing of %s scrolls sideways on a phone", async (path, context) => {
  const page = await openSite(context, path);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect
    .poll(() => page.evaluate<number>("document.documentElement.scrollWidth"))
    .toBeLessThanOrEqual(390);
});
