// Compares the result of a scenario with its expectations: each difference is one sentence.
import { durationText } from "@drover/server/core/definition/duration-text.ts";
import type { PlayedScenario } from "./play-scenario.ts";
import type { Range, Scenario } from "./scenario.ts";
import { hasAtLeast } from "./scenario-file.ts";

export interface Difference {
  /** The path of the expectation, as `scenarios[0].expect.steps.hotel`. */
  readonly path: string;
  /** As `steps.hotel`. */
  readonly what: string;
  readonly expected: string;
  readonly was: string;
}

/** Interventions of a normal run; a scenario need not expect them. */
const ROUTINE = /^(?:backoff|settle|timer|start)\b/;

export function differences(
  { expect, path }: Scenario,
  came: PlayedScenario,
): readonly Difference[] {
  const found: Difference[] = [];
  const differs = (what: string, expected: string, was: string): void =>
    void found.push({ path: `${path}.expect.${what}`, what, expected, was });
  const runWords = came.reason === "UNSPECIFIED" ? came.run : `${came.run} (${came.reason})`;

  if (expect.run !== null && expect.run !== came.run) differs("run", expect.run, runWords);
  if (expect.reason !== null && expect.reason !== came.reason)
    differs("reason", expect.reason, came.reason === "UNSPECIFIED" ? "none" : came.reason);
  if (expect.withinMs !== null && (came.endedMs ?? Number.POSITIVE_INFINITY) > expect.withinMs)
    differs("within", `ended after ${durationText(expect.withinMs)} at the latest`, endWords(came));
  for (const [name, state] of expect.steps) {
    const was = came.steps.get(name) ?? NOT_BEGUN;
    if (was !== state) differs(`steps.${name}`, state, was);
  }
  listDiffers("interventions", expect.interventions, came.interventions, ROUTINE);
  listDiffers("escalations", expect.escalations, came.escalations, null);
  orderDiffers();
  for (const [state, range] of expect.times) {
    const atMs = came.reached.find((one) => one.state === state)?.atMs;
    if (atMs === undefined) differs(`times.${state}`, range.text, "it never came to that");
    else if (!within(atMs, range)) differs(`times.${state}`, range.text, durationText(atMs));
  }
  for (const [task, range] of expect.calls) {
    const calls = came.calls.get(task) ?? 0;
    if (!within(calls, range)) differs(`calls.${task}`, range.text, String(calls));
  }
  if (expect.effects !== null) {
    const expected = setText(expect.effects);
    const was = setText(came.effects);
    if (expected !== was) differs("effects", expected, was);
  }
  for (const [kind, wanted, had] of [
    ["outputs", expect.outputs, came.outputs],
    ["inputs", expect.inputs, came.inputs],
  ] as const)
    for (const [name, payload] of wanted)
      if (payload.kind === "json" && !hasAtLeast(payload, had.get(name)))
        differs(`${kind}.${name}`, `at least ${payload.json}`, had.get(name) ?? "none");
  return found;

  function listDiffers(
    what: string,
    expected: readonly string[] | null,
    all: readonly string[],
    optional: RegExp | null,
  ): void {
    if (expected === null) return;
    let at = 0;
    const shown: string[] = [];
    for (const one of all) {
      if (one === expected[at]) at += 1;
      else if (optional?.test(one)) continue;
      shown.push(one);
    }
    if (listText(shown) !== listText(expected)) differs(what, listText(expected), listText(shown));
  }

  function orderDiffers(): void {
    let from = 0;
    for (const [place, state] of expect.order.entries()) {
      const at = came.reached.findIndex((one, index) => index >= from && one.state === state);
      const before = expect.order[place - 1];
      if (at === -1) {
        const ever = came.reached.find((one) => one.state === state);
        const was = ever ? `it came before, after ${durationText(ever.atMs)}` : "it never came";
        differs(`order[${place}]`, before === undefined ? state : `${state}, after ${before}`, was);
        return;
      }
      from = at + 1;
    }
  }
}

/** The state of a step without a row, and of an item that does not exist yet. */
const NOT_BEGUN = "BLOCKED";

function within(value: number, { least, most }: Range): boolean {
  return value >= least && value <= most;
}

function endWords({ endedMs, run, playedMs }: PlayedScenario): string {
  if (endedMs !== null) return `ended after ${durationText(endedMs)}`;
  return `still ${run} after ${durationText(playedMs)}`;
}

function listText(items: readonly string[]): string {
  return items.length === 0 ? "none" : items.join(", ");
}

function setText(items: readonly string[]): string {
  return listText([...items].sort());
}
