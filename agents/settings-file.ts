/**
 * The file with the settings of a ready-made agent: YAML, checked against a JSON Schema. Each
 * problem has its line and column. The keys that every such agent has are here.
 */
import { readDocument } from "@drover/server/definition-text/document.ts";
import { jsonText } from "@drover/server/definition-text/json-text.ts";
import { nearestPlace } from "@drover/server/definition-text/nodes.ts";
import {
  createTextProblems,
  type Place,
  withPlace,
} from "@drover/server/definition-text/problems.ts";
import { durationForm, durationMs } from "@drover/server/duration-text.ts";
import { type Checked, checkOf, type Schema, type ValueProblem } from "./schema-check.ts";

/** Settings that do not depend on what the agent does. */
export interface AgentSettings {
  /** Its name, for people. */
  readonly agent: string;
  /** Default: the queue "default". */
  readonly queues?: readonly string[];
  /** Name of the task that it performs; the default is the kind of the agent. */
  readonly task?: string;
  /** Most tasks at a time. Default 10. */
  readonly slots?: number;
}

const NAME: Schema = { type: "string", pattern: "^[A-Za-z0-9._-]{1,128}$" };

export const DURATION: Schema = {
  type: "string",
  minLength: 1,
  pattern: durationForm.source,
  description: "a duration, as 250ms, 30s or 1h30m",
};

/** Text that a person writes for a header, a variable or a file. */
export const TEXT: Schema = { type: "string", minLength: 1, maxLength: 4_096 };

/** A map with these keys and no others. */
export function mapOf(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema {
  return { type: "object", additionalProperties: false, required, properties };
}

/** A map whose keys are chosen by the author. */
export function namedMap(of: Schema, names: string): Schema {
  return { type: "object", additionalProperties: of, propertyNames: { pattern: names } };
}

export const AGENT_PROPERTIES: Readonly<Record<string, Schema>> = {
  agent: NAME,
  queues: { type: "array", items: NAME, minItems: 1, maxItems: 100 },
  task: NAME,
  slots: { type: "integer", minimum: 1, maximum: 10_000 },
};

/**
 * Reads texts of settings, of the form that the schema describes. `problemsOf` finds what a schema
 * cannot say.
 */
export function settingsReader<T extends AgentSettings>(
  schema: Schema,
  problemsOf: (settings: T) => readonly ValueProblem[],
): (text: string) => Checked<T> {
  const check = checkOf<T>(schema);
  return (text) => {
    const problems = createTextProblems("agent");
    const document = readDocument(text, problems, "agent");
    const places = new Map<string, Place>();
    const reading = { document, problems, places };
    const json = document.root === null ? undefined : jsonText(document.root, "", reading);
    if (json === undefined) return { kind: "bad", problems: problems.list };
    const checked = check(JSON.parse(json));
    const found = checked.kind === "good" ? problemsOf(checked.value) : checked.problems;
    if (checked.kind === "good" && found.length === 0) return checked;
    const placed = ({ path, message }: ValueProblem): ValueProblem => ({
      path: path || "text",
      message: withPlace(message, nearestPlace(path, places) ?? { line: 1, column: 1 }),
    });
    return { kind: "bad", problems: found.map(placed) };
  };
}

/** In milliseconds; the schema has checked the text. */
export function msOf(duration: string | undefined, byDefault: string): number {
  return durationMs(duration ?? byDefault) ?? 0;
}
