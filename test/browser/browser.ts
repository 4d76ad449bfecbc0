// A real browser for tests of the dashboard: the Chromium of this machine, driven by playwright-
// core. Every page that it opens is watched: what the policy of the dashboard refuses, what a
// script throws and what is written to the console as an error make its test fail.
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect, onTestFailed, onTestFinished, type TestContext } from "vitest";
import { endForLack } from "../support/required-tools.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Where pictures of pages are put, for people to see. */
const PICTURES = `${root}.drover/screenshots`;
const BUILT = `${root}web/dist/routes.json`;

const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-sync",
  "--disable-background-networking",
  "--disable-component-update",
];

const WIDE = { width: 1_440, height: 900 };

export type Theme = "light" | "dark";

/** DROVER_CHROMIUM, or where distributions put it; null: this machine has none. */
function chromiumPath(): string | null {
  const paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  return [process.env.DROVER_CHROMIUM ?? "", ...paths].find((at) => existsSync(at)) ?? null;
}

let browser: Promise<Browser> | null = null;
/** The window that the tests of a file use one after the other. */
let shared: { readonly page: Page; readonly wrong: string[] } | null = null;

/** The browser of this file of tests; a test without one is skipped, or fails if it is required. */
export async function openBrowser(context: TestContext): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === null)
    return endForLack(context, "chromium", "no Chromium here: apt-get install chromium");
  refuseOldBuild();
  browser ??= chromium.launch({ executablePath, args: ARGS });
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = null;
  shared = null;
}

/** What the server would show is not what web/src has: a test of it proves nothing. */
function refuseOldBuild(): void {
  const newest = Math.max(
    ...readdirSync(`${root}web/src`, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(`${entry.parentPath}/${entry.name}`).mtimeMs),
  );
  if (!existsSync(BUILT) || statSync(BUILT).mtimeMs < newest)
    throw new Error("web/dist is older than web/src: npm run dashboard");
}

/** A page of its own window, closed with the test. */
export async function openPage(
  context: TestContext,
  address: string,
  theme: Theme = "light",
): Promise<Page> {
  const { page, wrong } = await newWindow(await openBrowser(context), address, theme);
  onTestFinished(async () => {
    await page.close();
    expect(wrong).toEqual([]);
  });
  return page;
}

/**
 * The window of this file, which is wide and light again: what a page needs is loaded once, and
 * `visit` leads on as a click does. A test that fails takes the window with it.
 */
export async function sharedPage(context: TestContext, address: string): Promise<Page> {
  shared ??= await newWindow(await openBrowser(context), address, "light");
  const { page, wrong } = shared;
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ colorScheme: "light" });
  onTestFailed(async () => {
    shared = null;
    await page.close();
  });
  onTestFinished(() => expect(wrong.splice(0)).toEqual([]));
  return page;
}

/** Leads to the page with this path, which begins anew even if it was there. */
export async function visit(page: Page, path: string): Promise<void> {
  if (page.url() === "about:blank") await page.goto(path);
  else
    await page.evaluate(`(async () => {
      for (const next of ["/between-pages", ${JSON.stringify(path)}]) {
        history.pushState(null, "", next);
        await new Promise(requestAnimationFrame);
      }
    })()`);
}

async function newWindow(running: Browser, address: string, theme: Theme) {
  const page = await running.newPage({
    baseURL: `http://${address}`,
    colorScheme: theme,
    viewport: WIDE,
  });
  const wrong: string[] = [];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (message) => {
    // A server that is gone, refuses or has too much to do is what some tests are about.
    const meant = /ERR_CONNECTION|ERR_SOCKET|ERR_EMPTY|ERR_INCOMPLETE|40[0134]|429/;
    if (message.type() === "error" && !meant.test(message.text())) wrong.push(message.text());
  });
  return { page, wrong };
}

/**
 * Pictures of what is on the screen in both themes, in none of which anything hinders a reader.
 * They differ in their colours alone: of the second no more is asked.
 */
export async function checkScreen(page: Page, name: string): Promise<void> {
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    // What fades in has its colours when it has come.
    const running = "document.getAnimations().filter((a) => a.playState === 'running').length";
    await expect.poll(() => page.evaluate(running)).toBe(0);
    await picture(page, `${name}-${theme}`);
    const found = await seriousFindings(page, theme === "light" ? "everything" : "colours");
    expect([name, theme, ...found]).toEqual([name, theme]);
  }
}

/** What an accessibility checker finds that is serious, as lines. */
export async function seriousFindings(
  page: Page,
  about: "everything" | "colours" = "everything",
): Promise<readonly string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe.source);
  const only = about === "colours" ? '{ runOnly: ["cat.color"] }' : "{}";
  const found: unknown = await page.evaluate(`axe.run(document, ${only}).then(({ violations }) =>
    violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) =>
        id + ": " + nodes.slice(0, 3).map(({ html, any }) =>
          html.slice(0, 160) + " " + any.map(({ message }) => message).join(" ")).join(" | ")))`);
  return Array.isArray(found) ? found.map(String) : [`axe answered ${String(found)}`];
}

export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true });
}
