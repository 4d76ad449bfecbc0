/**
 * The file form of scenarios, in YAML or JSON.
 *
 *     text → document → shapes (scenario-shape.ts, act-shape.ts, …) → scenarios
 *
 * Promise: a file gives exactly the scenarios that it describes, or one list of all its problems,
 * each with line, column and what would be valid. Names that the workflow does not have are
 * problems, too (scenario-names.ts).
 */
import type { Payload } from "@drover/server/core/model/payload.ts";
import { readDocument } from "@drover/server/definition-text/document.ts";
import { nearestPlace } from "@drover/server/definition-text/nodes.ts";
import { createTextProblems, type Place } from "@drover/server/definition-text/problems.ts";
import { DroverError, type FieldProblem } from "@drover/server/errors.ts";
import type { Expectations, Scenario, ScenarioEvent, Script, ScriptKey } from "./scenario.ts";
import { FILE, type FileShape, type ScenarioShape } from "./scenario-shape.ts";

export interface ScenarioFile {
  /** Paths relative to the file. */
  readonly workflow: string;
  readonly workflows: readonly string[];
  readonly scenarios: readonly Scenario[];
  /** The position of a value, by its path as `scenarios[0].expect.steps.hotel`. */
  locate(path: string): Place;
}

type ReadScenarios =
  | { readonly kind: "good"; readonly file: ScenarioFile }
  /** Each message ends with its position in the text. */
  | { readonly kind: "bad"; readonly problems: readonly FieldProblem[] };

export function readScenarios(text: string): ReadScenarios {
  const problems = createTextProblems("scenarios");
  const document = readDocument(text, problems, "scenarios");
  const places = new Map<string, Place>();
  try {
    const read = document.root && FILE.read(document.root, "", { document, problems, places });
    problems.throwIfAny();
    if (!read) throw new Error("a file of scenarios was refused without a reason");
    const { workflow, workflows, scenarios } = read;
    const file = {
      workflow,
      workflows,
      scenarios: scenarios.map((one, at) => scenarioOf(one, read, `scenarios[${at}]`)),
      locate: (path: string) => nearestPlace(path, places) ?? { line: 1, column: 1 },
    };
    return { kind: "good", file: Object.freeze(file) };
  } catch (error) {
    if (error instanceof DroverError) return { kind: "bad", problems: error.fields };
    throw error;
  }
}

const DAY_MS = 86_400_000;
/** Longer than the default timeout of a run, 7 days: a run may wait for people longer than that. */
const WITHIN_MS = 30 * DAY_MS;
const STARTS_MS = Date.UTC(2026, 0, 5, 9);

/**
 * Settings of the file hold for a scenario that does not set them; scripts are merged key by key.
 */
function scenarioOf(own: ScenarioShape, all: FileShape, path: string): Scenario {
  const { within: withinMs, ...expect } = own.expect;
  const scripts = new Map<string, Script>();
  for (const given of [all.agents, own.agents])
    for (const [key, acts] of given)
      scripts.set(key, { ...scriptKey(key), key, acts, isOwn: given === own.agents });
  return Object.freeze({
    name: own.scenario,
    input: own.input ?? all.input,
    key: own.key,
    seed: own.seed,
    startMs: own.starts ?? all.starts ?? STARTS_MS,
    withinMs: withinMs ?? WITHIN_MS,
    scripts: [...scripts.values()],
    events: own.events satisfies readonly ScenarioEvent[],
    expect: { ...expect, withinMs } satisfies Expectations,
    path,
  });
}

/** The key is valid: the shape of the file has checked it. */
function scriptKey(key: string): ScriptKey {
  const [, task = key, ownItem, step, item] =
    /^([^[\s]+)(?:\[(\d+)\])?(?: of ([^[\s]+)(?:\[(\d+)\])?)?$/.exec(key) ?? [];
  const at = item ?? ownItem;
  return { task, step: step ?? null, item: at === undefined ? null : Number(at) };
}

/** Whether the actual JSON contains at least what is expected. */
export function hasAtLeast(expected: Payload, came: string | undefined): boolean {
  if (came === undefined || expected.kind !== "json") return false;
  return covers(JSON.parse(expected.json), JSON.parse(came));
}

function covers(expected: unknown, came: unknown): boolean {
  if (Array.isArray(expected))
    return (
      Array.isArray(came) &&
      came.length === expected.length &&
      expected.every((one, at) => covers(one, came[at]))
    );
  if (typeof expected !== "object" || expected === null) return Object.is(expected, came);
  if (typeof came !== "object" || came === null || Array.isArray(came)) return false;
  const found = new Map<string, unknown>(Object.entries(came));
  return Object.entries(expected).every(
    ([key, one]) => found.has(key) && covers(one, found.get(key)),
  );
}
