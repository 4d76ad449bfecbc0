// Compares the result of a scenario with its expectations: each difference is one sentence.

import type { Payload } from "@drover/server/core/model/payload.ts";
import { durationText } from "@drover/server/duration-text.ts";
import type { PlayedScenario } from "./play-scenario.ts";
import type { Expectations, Range, Scenario } from "./scenario.ts";
import { hasAtLeast } from "./scenario-file.ts";

export interface Difference {
  /** The path of the expectation, as `scenarios[0].expect.steps.hotel`. */
  readonly path: string;
  /** As `steps.hotel`. */
  readonly what: string;
  readonly expected: string;
  readonly was: string;
}

type Found = Omit<Difference, "path">;

/** Interventions of a normal run; a scenario need not expect them. */
const ROUTINE = /^(?:backoff|settle|timer|start)\b/;
/** The state of a step without a row, and of an item that does not exist yet. */
const NOT_BEGUN = "BLOCKED";

export function differences(
  { expect, path }: Scenario,
  came: PlayedScenario,
): readonly Difference[] {
  const found = [
    ...ofEnd(expect, came),
    ...ofSteps(expect, came),
    ...ofList("interventions", expect.interventions, came.interventions, ROUTINE),
    ...ofList("escalations", expect.escalations, came.escalations, null),
    ...ofOrder(expect, came),
    ...ofTimes(expect, came),
    ...ofCalls(expect, came),
    ...ofEffects(expect, came),
    ...ofPayloads("outputs", expect.outputs, came.outputs),
    ...ofPayloads("inputs", expect.inputs, came.inputs),
  ];
  return found.map(({ what, expected, was }) => ({
    path: `${path}.expect.${what}`,
    what,
    expected,
    was,
  }));
}

function ofEnd({ run, reason, withinMs }: Expectations, came: PlayedScenario): readonly Found[] {
  const found: Found[] = [];
  const cameReason = came.reason === "UNSPECIFIED" ? null : came.reason;
  if (run !== null && run !== came.run) {
    const was = cameReason === null ? came.run : `${came.run} (${cameReason})`;
    found.push({ what: "run", expected: run, was });
  }
  if (reason !== null && reason !== came.reason)
    found.push({ what: "reason", expected: reason, was: cameReason ?? "none" });
  if (withinMs !== null && (came.endedMs ?? Number.POSITIVE_INFINITY) > withinMs) {
    const expected = `ended after ${durationText(withinMs)} at the latest`;
    found.push({ what: "within", expected, was: endWords(came) });
  }
  return found;
}

function ofSteps({ steps }: Expectations, came: PlayedScenario): readonly Found[] {
  return [...steps].flatMap(([name, expected]) => {
    const was = came.steps.get(name) ?? NOT_BEGUN;
    return unequal(`steps.${name}`, expected, was);
  });
}

/** Those that match `optional` need not be expected. */
function ofList(
  what: string,
  expected: readonly string[] | null,
  all: readonly string[],
  optional: RegExp | null,
): readonly Found[] {
  if (expected === null) return [];
  let at = 0;
  const shown: string[] = [];
  for (const one of all) {
    if (one === expected[at]) at += 1;
    else if (optional?.test(one)) continue;
    shown.push(one);
  }
  return unequal(what, listText(expected), listText(shown));
}

/** The first state that was not reached after the one before it. */
function ofOrder({ order }: Expectations, { reached }: PlayedScenario): readonly Found[] {
  let from = 0;
  for (const [place, state] of order.entries()) {
    const at = reached.findIndex((one, index) => index >= from && one.state === state);
    if (at === -1) {
      const before = order[place - 1];
      const ever = reached.find((one) => one.state === state);
      const was = ever ? `it came before, after ${durationText(ever.atMs)}` : "it never came";
      const expected = before === undefined ? state : `${state}, after ${before}`;
      return [{ what: `order[${place}]`, expected, was }];
    }
    from = at + 1;
  }
  return [];
}

function ofTimes({ times }: Expectations, { reached }: PlayedScenario): readonly Found[] {
  return [...times].flatMap(([state, range]) => {
    const atMs = reached.find((one) => one.state === state)?.atMs;
    if (atMs !== undefined && within(atMs, range)) return [];
    const was = atMs === undefined ? "it never came to that" : durationText(atMs);
    return [{ what: `times.${state}`, expected: range.text, was }];
  });
}

function ofCalls({ calls }: Expectations, came: PlayedScenario): readonly Found[] {
  return [...calls].flatMap(([task, range]) => {
    const count = came.calls.get(task) ?? 0;
    if (within(count, range)) return [];
    return [{ what: `calls.${task}`, expected: range.text, was: String(count) }];
  });
}

function ofEffects({ effects }: Expectations, came: PlayedScenario): readonly Found[] {
  if (effects === null) return [];
  return unequal("effects", setText(effects), setText(came.effects));
}

function ofPayloads(
  what: "outputs" | "inputs",
  wanted: ReadonlyMap<string, Payload>,
  had: ReadonlyMap<string, string>,
): readonly Found[] {
  return [...wanted].flatMap(([name, payload]) => {
    const was = had.get(name);
    if (payload.kind !== "json" || hasAtLeast(payload, was)) return [];
    return [{ what: `${what}.${name}`, expected: `at least ${payload.json}`, was: was ?? "none" }];
  });
}

function unequal(what: string, expected: string, was: string): readonly Found[] {
  return expected === was ? [] : [{ what, expected, was }];
}

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
