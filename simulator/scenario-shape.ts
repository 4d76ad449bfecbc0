// The shape of a scenario file as a whole: settings for all scenarios, and the scenarios.
import { ACT } from "./act-shape.ts";
import { EVENT } from "./event-shape.ts";
import { EXPECT } from "./expect-shape.ts";
import { type Fields, optional, type RecordShape, record, required } from "./record-shape.ts";
import type { Act, ScenarioEvent } from "./scenario.ts";
import {
  anything,
  count,
  instant,
  list,
  matching,
  named,
  referred,
  type Shape,
  text,
} from "./shape.ts";

type ShapeOf<S> = S extends Shape<infer T> ? T : never;

export interface ScenarioShape {
  readonly scenario: string;
  readonly input: ShapeOf<typeof anything> | null;
  readonly agents: ReadonlyMap<string, readonly Act[]>;
  readonly events: readonly ScenarioEvent[];
  readonly expect: ShapeOf<typeof EXPECT>;
  readonly key: string;
  readonly starts: number | null;
  readonly seed: number;
}

export interface FileShape {
  readonly workflow: string;
  readonly workflows: readonly string[];
  readonly input: ScenarioShape["input"];
  readonly agents: ScenarioShape["agents"];
  readonly starts: number | null;
  readonly scenarios: readonly ScenarioShape[];
}

const AGENTS = named("a task", list(referred("act", ACT), { mayBeOne: true }));
const STARTS = "when the run is started; 2026-01-05T09:00:00Z, a Monday";
const NO_ACTS: ScenarioShape["agents"] = new Map();

const SCENARIO_FIELDS: Fields<ScenarioShape> = {
  scenario: required(text, "its name: what happens, in words"),
  input: optional(anything, "the input of the run", null),
  agents: optional(
    AGENTS,
    "what agents do with a task, time after time; the last act repeats. What is not named succeeds after a second, and a verify checks what is there",
    NO_ACTS,
  ),
  events: optional(
    list(referred("event", EVENT)),
    "what people do, and what befalls queues and the server",
    [],
  ),
  expect: required(referred("expect", EXPECT), "what must come of it"),
  key: optional(text, "the key of the run; `scenario`", "scenario"),
  starts: optional(instant, STARTS, null),
  seed: optional(count, "of the chance that is in jitter; 1", 1),
};

export const SCENARIO: RecordShape<ScenarioShape> = record("a scenario", SCENARIO_FIELDS);

export const FILE: RecordShape<FileShape> = record<FileShape>("a file of scenarios", {
  workflow: required(
    matching("the path of a file", /^.+\.(?:ya?ml|json)$/, "holiday.yaml"),
    "the file of the workflow, beside this one",
  ),
  workflows: optional(
    list(text),
    "files of workflows that its `run` steps begin. One that is not here is one task of its name",
    [],
  ),
  input: optional(anything, "of scenarios that have none of their own", null),
  agents: optional(
    AGENTS,
    "for all scenarios; a scenario that names a task replaces its acts",
    NO_ACTS,
  ),
  starts: optional(instant, STARTS, null),
  scenarios: required(list(SCENARIO), "the scenarios"),
});
