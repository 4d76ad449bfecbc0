/**
 * A real browser for tests: headless Chromium, driven by playwright-core. Pages are opened on a
 * server's own address, looked at in both themes, and held to what axe-core finds.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";

const CHROMIUM = process.env.DROVER_CHROMIUM ?? "/usr/bin/chromium";
/** Git ignores it. */
const PICTURES = join(import.meta.dirname, "../../.drover/pictures");

export function hasBrowser(): boolean {
  return existsSync(CHROMIUM);
}

export function openBrowser(): Promise<Browser> {
  const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-sync"];
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [...flags, "--disable-background-networking", "--disable-component-update"],
  });
}

export type Theme = "light" | "dark";

/** Both themes of what is on the screen, as `.drover/pictures/NAME-light.png`. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await page.screenshot({ path: join(PICTURES, `${name}-${theme}.png`), fullPage: true });
  }
}

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

/** What axe-core calls serious or critical, in both themes: `light color-contrast: .badge`. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const found: string[] = [];
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    const violations: readonly Finding[] = await page.evaluate(
      "axe.run().then(({ violations }) => violations)",
    );
    found.push(
      ...violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${theme} ${id}: ${nodes.map(({ target }) => target).join(", ")}`),
    );
  }
  return found;
}
