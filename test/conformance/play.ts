/**
 * Plays one scenario with one agent, to its end or its end of patience, and reports how it went.
 */
import type { Command } from "./program.ts";
import { brokenRules } from "./rules.ts";
import type { Scenario } from "./scenario.ts";
import { openStage, type Servers } from "./stage.ts";

export type Outcome =
  | { readonly kind: "passed"; readonly ms: number }
  | { readonly kind: "failed"; readonly ms: number; readonly why: string };

/** The longest scenario takes about 15 s on an idle machine. */
const playMsMax = 180_000;

export async function play(
  scenario: Scenario,
  command: Command,
  servers: Servers,
): Promise<Outcome> {
  const startedMs = performance.now();
  const stage = await openStage(scenario.name, command, servers);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`not over within ${playMsMax} ms`)),
    playMsMax,
  );
  let why: string | null = null;
  try {
    await Promise.race([scenario.play(stage), late.promise]);
    const broken = brokenRules(stage);
    if (broken.length > 0) why = broken.join("\n");
  } catch (error) {
    why = error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    clearTimeout(timer);
    await stage.close();
  }
  const ms = Math.round(performance.now() - startedMs);
  if (why === null) return { kind: "passed", ms };
  const output = stage.programs.map(({ id, written }) => `--- ${id}\n${written().slice(-6_000)}`);
  return { kind: "failed", ms, why: `${why}\n${output.join("\n")}` };
}
