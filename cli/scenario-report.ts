/**
 * The results of scenarios for people: one line for each that passed, and full detail for the
 * others.
 */
import { type Difference, differences } from "@drover/simulator/expectations.ts";
import type { PlayedScenario } from "@drover/simulator/play-scenario.ts";
import type { Scenario } from "@drover/simulator/scenario.ts";
import type { ScenarioFile } from "@drover/simulator/scenario-file.ts";
import type { TimelineEntry } from "@drover/simulator/timeline.ts";
import type { Output } from "./output.ts";
import { clean, clip, durationWords } from "./words.ts";

/** One scenario that was played. */
export interface Played {
  /** As the command line named it. */
  readonly file: string;
  readonly scenario: Scenario;
  readonly result: PlayedScenario;
  readonly differences: readonly Difference[];
  readonly passed: boolean;
  readonly tookMs: number;
  readonly locate: ScenarioFile["locate"];
}

export function evaluated(
  { file, scenario, result, tookMs }: Pick<Played, "file" | "scenario" | "result" | "tookMs">,
  locate: ScenarioFile["locate"],
): Played {
  const found = differences(scenario, result);
  const passed = found.length === 0 && result.troubles.length === 0;
  return { file, scenario, result, differences: found, passed, tookMs, locate };
}

const nameColumns = 60;
const whatShownMax = 200;

export function printPlayed(played: Played, output: Output, withTimeline: boolean): void {
  const { scenario, result, passed, tookMs } = played;
  const sign = passed ? output.paint("green", "✓") : output.paint("red", "✗");
  const name = clean(scenario.name).padEnd(nameColumns);
  const virtual = durationWords(result.endedMs ?? result.playedMs);
  output.line(`  ${sign} ${name} ${output.paint("dim", `${virtual} in ${Math.round(tookMs)} ms`)}`);
  for (const difference of played.differences) printDifference(difference, played, output);
  for (const trouble of result.troubles) {
    const at = /^(scenarios\[\d+\]\S*) (.*)$/s.exec(trouble);
    output.line(
      `      ${at ? `${placeOf(at[1] ?? "", played)}  ${clean(at[2] ?? "")}` : clean(trouble)}`,
    );
  }
  const isWaiting = !passed && result.why !== "" && result.endedMs === null;
  if (isWaiting) output.line(`      after ${virtual} it is ${result.run}: ${clean(result.why)}`);
  if (!passed || withTimeline) printTimeline(result.timeline, output);
}

function printDifference(
  { path, what, expected, was }: Difference,
  played: Played,
  output: Output,
): void {
  output.line(`      ${placeOf(path, played)}  ${output.paint("bold", what)}`);
  output.line(`        expected  ${output.paint("green", clean(expected))}`);
  output.line(`        was       ${output.paint("red", clean(was))}`);
}

function placeOf(path: string, { file, locate }: Played): string {
  const { line, column } = locate(path);
  return `${file}:${line}:${column}`;
}

/** A person reads at most this many lines; --output json has the rest. */
const timelineLinesMax = 200;

function printTimeline(entries: readonly TimelineEntry[], output: Output): void {
  const shown = entries.slice(0, timelineLinesMax);
  const width = (of: (entry: TimelineEntry) => string) =>
    Math.max(0, ...shown.map((entry) => of(entry).length));
  const who = width((entry) => entry.who);
  const about = width((entry) => entry.about);
  output.line("");
  for (const entry of shown) {
    const when = durationWords(entry.atMs).padStart(9);
    const what = clip(clean(entry.what), whatShownMax);
    const style = entry.who === "supervisor" ? "yellow" : entry.who === "run" ? "cyan" : null;
    const words = `${entry.who.padEnd(who)}  ${entry.about.padEnd(about)}  ${what}`;
    output.line(`    ${output.paint("dim", when)}  ${style ? output.paint(style, words) : words}`);
  }
  const left = entries.length - shown.length;
  if (left > 0) output.line(`    … and ${left} more, in --output json`);
  output.line("");
}

/** For programs. */
export function playedJson({ file, scenario, result, passed, ...rest }: Played) {
  return {
    file,
    scenario: scenario.name,
    passed,
    run: result.run,
    reason: result.reason,
    virtual_ms: result.endedMs ?? result.playedMs,
    took_ms: Math.round(rest.tookMs),
    differences: rest.differences.map(({ path, what, expected, was }) => ({
      what,
      expected,
      was,
      ...rest.locate(path),
    })),
    troubles: [...result.troubles],
    why: result.why,
    steps: Object.fromEntries(result.steps),
    interventions: [...result.interventions],
    escalations: [...result.escalations],
    effects: [...result.effects],
    calls: Object.fromEntries(result.calls),
    timeline: result.timeline.map(({ atMs, who, about, what }) => ({
      at_ms: atMs,
      who,
      about,
      what,
    })),
  };
}
