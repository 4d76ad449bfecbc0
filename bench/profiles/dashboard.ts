// The dashboard in a real Chromium over a history of 100,000 runs: how soon something is seen, and
// how long the browser is held up by one task while a person scrolls through all of them, and while
// he opens a run of 500 steps.
import { type Browser, chromium, type Page } from "playwright-core";
import { createClient } from "../../sdk/typescript/index.ts";
import { loadHistory } from "../bulk-history.ts";
import { settle } from "../bulk-rows.ts";
import { makeListed } from "../listed-runs.ts";
import type { Measured, Wish } from "../profile.ts";
import { openWorld } from "../world.ts";
import { ROOMY } from "./chain.ts";

const LONG = { runs: 100_000, steps: 500, opens: 10 };
const SHORT = { runs: 20_000, steps: 500, opens: 3 };
const DAYS = 7;
/** As much as a wheel moves at a time, and so often that a second of it is 60 frames. */
const WHEEL = { px: 1_200, pauseMs: 16 };
const SCROLL_MS_MAX = 240_000;
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];

type Row = {
  readonly page: string;
  readonly first_paint_ms: number;
  /** When what the page is about is there. */
  readonly content_ms: number;
  readonly longest_task_ms: number;
  /** Longer than 50 ms. */
  readonly long_tasks: number;
  readonly rows_seen: number | null;
};

export async function dashboard({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const world = await openWorld(ROOMY);
  const executablePath = process.env.DROVER_CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ARGS });
  try {
    const { originals } = await makeListed(world.address, form.runs);
    const reportRuns = (done: number, all: number) => log(`${done} of ${all} runs`);
    await loadHistory(world.database, { of: originals, days: DAYS, log: reportRuns });
    await settle(world.database);
    const wide = await startWide(world.address, form.steps);
    const open = (path: string, content: string) =>
      opened(browser, `http://${world.address}${path}`, content);
    const rows: Row[] = [];
    const pages = [
      ["overview", "/", ".tile-value"],
      ["runs", "/runs", "[aria-rowindex]"],
      [`run of ${form.steps} steps`, `/runs/${wide}`, ".graph-node"],
    ] as const;
    for (const [name, path, content] of pages) {
      const samples: Row[] = [];
      for (let n = 0; n < form.opens; n++)
        samples.push(await sample(name, await open(path, content)));
      rows.push(middleOf(samples));
    }
    rows.push(await scrolled(await open("/runs", "[aria-rowindex]"), form.runs, log));
    rows.push(await moved(await open(`/runs/${wide}`, ".graph-node")));
    const columns = Object.keys(rows[0] ?? {});
    return { settings: { ...form, days: DAYS, chromium: browser.version() }, columns, rows };
  } finally {
    await browser.close();
    await world.stop();
  }
}

async function startWide(address: string, count: number): Promise<string> {
  const client = createClient({ address });
  const steps = Array.from({ length: count }, (_, n) => ({
    id: `step-${n}`,
    task: "act",
    queue: "nobody",
    needs: n < 20 ? [] : [`step-${n - 20}`],
  }));
  const { runId } = await client.schedule({ workflow: { workflow: "wide", steps } });
  client.close();
  return runId;
}

/** A page with nothing in its cache, which notes every long task from its begin on. */
async function opened(browser: Browser, url: string, content: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_440, height: 900 } });
  await page.addInitScript(`
    globalThis.longTasks = [];
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longTasks.push(duration);
    }).observe({ type: "longtask", buffered: true });
  `);
  await page.goto(url);
  await page.locator(content).first().waitFor({ timeout: 30_000 });
  return page;
}

async function sample(name: string, page: Page): Promise<Row> {
  const content = Number(await page.evaluate("performance.now()"));
  const paint = Number(
    await page.evaluate('performance.getEntriesByName("first-contentful-paint")[0]?.startTime'),
  );
  const row = { page: name, first_paint_ms: paint, content_ms: content, ...(await tasksOf(page)) };
  await page.close();
  return { ...row, rows_seen: null };
}

async function tasksOf(page: Page) {
  const found: unknown = await page.evaluate("longTasks");
  const tasks = Array.isArray(found) ? found.map(Number) : [];
  return { longest_task_ms: Math.max(0, ...tasks), long_tasks: tasks.length };
}

/** By the first paint: the median of several page loads. */
function middleOf(samples: readonly Row[]): Row {
  const sorted = samples.toSorted((a, b) => a.first_paint_ms - b.first_paint_ms);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (!middle) throw new Error("no page was opened");
  return { ...middle, longest_task_ms: Math.max(...samples.map((one) => one.longest_task_ms)) };
}

const LAST_ROW =
  'Math.max(0, ...[...document.querySelectorAll("[aria-rowindex]")].map((r) => +r.ariaRowIndex))';

/** The wheel, without a stop, to the last run. */
async function scrolled(page: Page, runs: number, log: Wish["log"]): Promise<Row> {
  await page.evaluate("longTasks.length = 0");
  await page.locator(".table").hover();
  const until = performance.now() + SCROLL_MS_MAX;
  let seen = 0;
  for (let turns = 0; seen < runs && performance.now() < until; turns++) {
    await page.mouse.wheel(0, WHEEL.px);
    await page.waitForTimeout(WHEEL.pauseMs);
    if (turns % 60 === 0) seen = Number(await page.evaluate(LAST_ROW)) - 1;
    if (turns % 600 === 0) log(`scrolled past ${seen} runs`);
  }
  const row = await sample("runs, scrolled to the end", page);
  return { ...row, rows_seen: seen };
}

/** Zoomed out to the whole, in again, and moved about. */
async function moved(page: Page): Promise<Row> {
  await page.evaluate("longTasks.length = 0");
  await page.getByRole("button", { name: "Fit View" }).click();
  const box = await page.locator(".graph").boundingBox();
  if (!box) throw new Error("the page shows no graph");
  const x = box.x + box.width / 2;
  const y = box.y + box.height / 2;
  await page.mouse.move(x, y);
  for (let n = 0; n < 30; n++) await page.mouse.wheel(0, n < 15 ? -120 : 120);
  await page.mouse.down();
  for (let n = 0; n < 60; n++) await page.mouse.move(x + 4 * n, y + 2 * n);
  await page.mouse.up();
  return sample("run, zoomed and moved", page);
}
