// The steps of a definition with their expressions and schemas compiled. The definition was checked
// before it was stored. A part that cannot be compiled all the same holds its problem, which is
// reported when the part is used.
import type {
  Definition,
  MapWork,
  StepDefinition,
  StepRules,
} from "../core/definition/definition.ts";
import type { Payload } from "../core/model/payload.ts";
import { expressionsOf, scopes } from "./definition-expressions.ts";
import type { Compiled, Expression } from "./expression.ts";
import { jsonOfPayload, parseJson } from "./json.ts";
import { compileSchema } from "./schema.ts";
import {
  compileCondition,
  compileList,
  compileTemplate,
  compileTime,
  type Template,
} from "./template.ts";
import type { ExpressionScope } from "./types.ts";

export interface CompiledStep {
  readonly when: Compiled<Expression> | null;
  readonly until: Compiled<Expression> | null;
  /** null: the input of the run. */
  readonly input: CompiledInput | null;
  readonly inputAsIs: Payload | null;
  /** By strategy of the plan, from 1. */
  readonly fallbacks: readonly (CompiledInput | null)[];
  readonly output: PayloadCheck | null;
  readonly form: PayloadCheck | null;
  /** Of a map; else null. */
  readonly map: CompiledMap | null;
  /** The steps that its expressions refer to: ids by number. */
  readonly refers: ReadonlyMap<number, string>;
  /**
   * The step runs last: its expressions see every step without a result as CANCELLED, whether it
   * has started or not.
   */
  readonly always: boolean;
}

/** The parts of a map beyond those of a step. */
export interface CompiledMap {
  readonly over: Compiled<Expression>;
  /** null: the input of the run. */
  readonly gateInput: CompiledInput | null;
  readonly gateInputAsIs: Payload | null;
  /** The queues that contain expressions, by their text. */
  readonly queues: ReadonlyMap<string, CompiledInput>;
}

/** An input as it was written: a template, or a payload that is passed on unchanged. */
type CompiledInput =
  | { readonly kind: "template"; readonly template: Template; readonly constant: boolean }
  | { readonly kind: "carried" }
  | { readonly kind: "broken"; readonly message: string };

/** The problem of a payload by a schema; null: none. */
type PayloadCheck = (payload: Payload | null) => string | null;

export function compileSteps({ workflow, steps }: Definition): readonly CompiledStep[] {
  const shapes = steps.map(expressionsOf);
  const scopeOf = scopes(shapes);
  const numbers = new Map(steps.map(({ id }, no) => [id, no]));
  return steps.map((step, no) => {
    const shape = shapes[no];
    if (!shape) throw new Error(`${workflow} has no step ${no}`);
    return compileStep(step, scopeOf(shape), numbers);
  });
}

function compileStep(
  step: StepDefinition,
  scope: ExpressionScope,
  numbers: ReadonlyMap<string, number>,
): CompiledStep {
  const when = step.when === undefined ? null : compileCondition(step.when, scope);
  const until =
    step.kind === "wait" && step.until !== undefined ? compileTime(step.until, scope) : null;
  const input = step.input ? compileInput(step.input, scope) : null;
  const fallbacks = (step.fallback ?? []).map((fallback) =>
    fallback.input ? compileInput(fallback.input, scope) : null,
  );
  const map = step.kind === "map" ? compileMap(step, scope) : null;
  const others = map ? [map.gateInput, ...map.queues.values()] : [];
  const named = new Set([
    ...[when, until, map?.over].flatMap((one) => (one?.ok ? one.expression.steps : [])),
    ...[input, ...others, ...fallbacks].flatMap((one) =>
      one?.kind === "template" ? one.template.steps : [],
    ),
  ]);
  return {
    when,
    until,
    map,
    input,
    inputAsIs: step.input ?? null,
    fallbacks,
    // The message of a failure is shown to whoever may see the run, as are the lines of its log.
    output: compilePayloadCheck(step.outputSchema, step.logs !== "off"),
    form: step.kind === "approval" ? compilePayloadCheck(step.form) : null,
    refers: byNumber(named, numbers),
    always: step.always ?? false,
  };
}

function byNumber(
  ids: ReadonlySet<string>,
  numbers: ReadonlyMap<string, number>,
): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const id of ids) {
    const no = numbers.get(id);
    if (no !== undefined) found.set(no, id);
  }
  return found;
}

function compileMap(
  { over, queue, verify, compensate, fallback, waves }: StepRules & MapWork,
  scope: ExpressionScope,
): CompiledMap {
  const written = [
    queue,
    verify?.queue,
    compensate?.queue,
    ...(fallback ?? []).map((one) => one.queue),
  ];
  const queues = written.filter((name) => name?.includes("${")).map((name) => name ?? "");
  const gateInput = waves?.gate?.input ?? null;
  const outside = { ...scope, hasItem: false };
  return {
    over: compileList(over, outside),
    gateInput: gateInput && compileInput(gateInput, outside),
    gateInputAsIs: gateInput,
    queues: new Map(
      queues.map((name) => [
        name,
        compileInput({ kind: "json", json: JSON.stringify(name) }, scope),
      ]),
    ),
  };
}

function compileInput(payload: Payload, scope: ExpressionScope): CompiledInput {
  if (payload.kind !== "json") return { kind: "carried" };
  const parsed = parseJson(payload.json);
  if (!parsed.ok) return { kind: "broken", message: parsed.message };
  const compiled = compileTemplate(parsed.value, scope, "input");
  if (compiled.ok) {
    const constant = !payload.json.includes("${");
    return { kind: "template", template: compiled.template, constant };
  }
  return { kind: "broken", message: compiled.problems.map(({ message }) => message).join("; ") };
}

/** `showsValue`: a problem quotes what the payload has at its place. */
export function compilePayloadCheck(
  schema: Payload | undefined,
  showsValue = false,
): PayloadCheck | null {
  if (!schema) return null;
  if (schema.kind !== "json") return brokenSchema("it is not JSON");
  const parsed = parseJson(schema.json);
  if (!parsed.ok) return brokenSchema(parsed.message);
  const compiled = compileSchema(parsed.value);
  if (!compiled.ok) return brokenSchema(compiled.message);
  return (payload) => {
    const json = jsonOfPayload(payload);
    return json === undefined
      ? "it is not JSON, and its schema asks for it"
      : compiled.check(json, showsValue);
  };
}

function brokenSchema(message: string): PayloadCheck {
  return () => `its schema is none: ${message}`;
}

/** Whether any of the step's parts is evaluated over facts. */
export function asksFacts({ when, until, map, input, fallbacks }: CompiledStep): boolean {
  const renders = input?.kind === "template" && !input.constant;
  const asks = when !== null || until !== null || map !== null;
  return asks || renders || fallbacks.some((one) => one !== null);
}
