// The evaluator of a definition: all its expressions and schemas, compiled once when its plan is
// made. The definition was checked before it was stored. If a part cannot be compiled all the same,
// the evaluator reports that when the part is used, and its step is escalated.
import type {
  Definition,
  MapWork,
  StepDefinition,
  StepRules,
} from "../core/definition/definition.ts";
import type { Evaluated, Evaluator } from "../core/model/evaluator.ts";
import type { Facts as CoreFacts, StepFacts as CoreStepFacts } from "../core/model/facts.ts";
import type { Payload } from "../core/model/payload.ts";
import { ITEMS_MAX, itemOf, numberOf } from "../core/model/step-key.ts";
import { expressionsOf, scopes } from "./definition-expressions.ts";
import type { Facts, StepFacts } from "./expression.ts";
import { type Compiled, type Evaluation, type Expression, evaluate } from "./expression.ts";
import { type Json, parseJson } from "./json.ts";
import { compileSchema } from "./schema.ts";
import {
  compileCondition,
  compileList,
  compileTemplate,
  compileTime,
  mergeInput,
  renderTemplate,
  type Template,
} from "./template.ts";
import type { ExpressionScope } from "./types.ts";

/** An item of the list that a map processes. */
interface Item {
  readonly value: Json;
}

type Problem = (value: Payload | null) => string | null;

/** An input as it was written: a template, or a payload that is passed on unchanged. */
type Input =
  | { readonly kind: "template"; readonly template: Template; readonly constant: boolean }
  | { readonly kind: "carried" }
  | { readonly kind: "broken"; readonly message: string };

/** The parts of a map beyond those of a step. */
interface CompiledMap {
  readonly over: Compiled<Expression>;
  /** null: the input of the run. */
  readonly gateInput: Input | null;
  readonly gateInputAsIs: Payload | null;
  /** The queues that contain expressions, by their text. */
  readonly queues: ReadonlyMap<string, Input>;
}

interface CompiledStep {
  readonly when: Compiled<Expression> | null;
  readonly until: Compiled<Expression> | null;
  /** null: the input of the run. */
  readonly input: Input | null;
  readonly inputAsIs: Payload | null;
  /** By strategy of the plan, from 1. */
  readonly fallbacks: readonly (Input | null)[];
  readonly output: Problem | null;
  readonly form: Problem | null;
  /** Of a map; else null. */
  readonly map: CompiledMap | null;
  /** Numbers of the steps that its expressions refer to. */
  readonly refers: readonly number[];
  /**
   * The step runs last: its expressions see every step without a result as CANCELLED, whether it
   * has begun or not.
   */
  readonly always: boolean;
}

export function evaluatorOf(definition: Definition): Evaluator {
  const shapes = definition.steps.map(expressionsOf);
  const scopeOf = scopes(shapes);
  const numbers = new Map(definition.steps.map(({ id }, no) => [id, no]));
  const ids = definition.steps.map(({ id }) => id);
  const steps = definition.steps.map((step, no) => {
    const shape = shapes[no];
    if (!shape) throw new Error(`${definition.workflow} has no step ${no}`);
    return compileStep(step, scopeOf(shape), numbers);
  });
  const inputProblem = schemaOf(definition.inputSchema);
  const at = (place: number): CompiledStep => {
    const step = steps[numberOf(place)];
    if (!step) throw new Error(`${definition.workflow} has no step ${place}`);
    return step;
  };
  const lists = createLists(ids);
  return Object.freeze({
    // The input of a child run is rendered by the pass that begins it, so that pass needs the
    // facts.
    needsFacts: steps.some(asksFacts) || definition.steps.some(({ kind }) => kind === "run"),
    factsFor: (no) => at(no).refers,
    condition(no, facts) {
      const result = evaluated(at(no).when, () => factsOf(facts, ids, at(no)));
      if (result === null) return { kind: "value", value: true };
      if (result.kind === "failed") return result;
      return typeof result.value === "boolean"
        ? { kind: "value", value: result.value }
        : { kind: "failed", message: `it is ${JSON.stringify(result.value)}, which is no bool` };
    },
    input(place, planned, facts) {
      const step = at(place);
      if (!step.map) return inputOf(step, planned, facts, ids);
      if (itemOf(place) === 0) return inputOf(gateOf(step, step.map), 0, facts, ids);
      const item = lists.item(step, step.map, place, facts);
      return item.kind === "failed" ? item : inputOf(step, planned, facts, ids, item);
    },
    itemCount(no, facts) {
      const { map } = at(no);
      const list = map ? lists.of(at(no), map, no, facts) : failed("it is no map");
      return list.kind === "failed" ? list : { kind: "value", value: list.value.length };
    },
    queue: (place, written, facts) => queueOf(at(place), place, written, facts),
    queueProblem(place, facts) {
      for (const written of at(place).map?.queues.keys() ?? []) {
        const queue = itemOf(place) === 0 ? null : queueOf(at(place), place, written, facts);
        if (queue?.kind === "failed") return queue.message;
      }
      return null;
    },
    time(no, facts) {
      const result = evaluated(at(no).until, () => factsOf(facts, ids, at(no)));
      if (result?.kind !== "value") return result ?? failed("it has no `until`");
      const time = typeof result.value === "string" ? Date.parse(result.value) : Number.NaN;
      return Number.isNaN(time)
        ? failed(`it is ${JSON.stringify(result.value)}, which is no time in RFC 3339`)
        : { kind: "value", value: time };
    },
    outputProblem(place, output) {
      const { map, output: problem } = at(place);
      // The output schema is for the map's items, not for its gate.
      return map && itemOf(place) === 0 ? null : (problem?.(output) ?? null);
    },
    formProblem: (no, form) => at(no).form?.(form) ?? null,
    inputProblem: (input) => inputProblem?.(input) ?? null,
  } satisfies Evaluator);

  function queueOf(
    step: CompiledStep,
    place: number,
    written: string,
    facts: CoreFacts,
  ): Evaluated<string> {
    const queue = step.map?.queues.get(written);
    if (!step.map || !queue) return { kind: "value", value: written };
    if (queue.kind !== "template") return failed(queue.kind === "broken" ? queue.message : "");
    const item = lists.item(step, step.map, place, facts);
    if (item.kind === "failed") return item;
    const rendered = renderTemplate(queue.template, factsOf(facts, ids, step, item));
    if (!rendered.ok) return failed(rendered.message);
    const name = rendered.value;
    return typeof name === "string" && NAME.test(name)
      ? { kind: "value", value: name }
      : failed(`it is ${JSON.stringify(name)}, which is no name of a queue`);
  }
}

/** The form of names in the contract: 1 to 128 of these characters. */
const NAME = /^[A-Za-z0-9._-]{1,128}$/;

/** A gate is a task of the map, and has no item. */
function gateOf(step: CompiledStep, map: CompiledMap): CompiledStep {
  return { ...step, map: null, input: map.gateInput, inputAsIs: map.gateInputAsIs, fallbacks: [] };
}

function compileStep(
  step: StepDefinition,
  scope: ExpressionScope,
  numbers: ReadonlyMap<string, number>,
): CompiledStep {
  const when = step.when === undefined ? null : compileCondition(step.when, scope);
  const until =
    step.kind === "wait" && step.until !== undefined ? compileTime(step.until, scope) : null;
  const input = step.input ? inputAsWritten(step.input, scope) : null;
  const fallbacks = (step.fallback ?? []).map((fallback) =>
    fallback.input ? inputAsWritten(fallback.input, scope) : null,
  );
  const map = step.kind === "map" ? compileMap(step, scope) : null;
  const others = map ? [map.gateInput, ...map.queues.values()] : [];
  const named = [
    ...[when, until, map?.over].flatMap((one) => (one?.ok ? one.expression.steps : [])),
    ...[input, ...others, ...fallbacks].flatMap((one) =>
      one?.kind === "template" ? one.template.steps : [],
    ),
  ];
  return {
    when,
    until,
    map,
    input,
    inputAsIs: step.input ?? null,
    fallbacks,
    output: schemaOf(step.outputSchema),
    form: step.kind === "approval" ? schemaOf(step.form) : null,
    refers: [...new Set(named)].flatMap((id) => numbers.get(id) ?? []),
    always: step.always ?? false,
  };
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
    gateInput: gateInput && inputAsWritten(gateInput, outside),
    gateInputAsIs: gateInput,
    queues: new Map(
      queues.map((name) => [
        name,
        inputAsWritten({ kind: "json", json: JSON.stringify(name) }, scope),
      ]),
    ),
  };
}

function asksFacts({ when, until, map, input, fallbacks }: CompiledStep): boolean {
  const renders = input?.kind === "template" && !input.constant;
  const asks = when !== null || until !== null || map !== null;
  return asks || renders || fallbacks.some((one) => one !== null);
}

function inputAsWritten(payload: Payload, scope: ExpressionScope): Input {
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

function inputOf(
  step: CompiledStep,
  planned: number,
  facts: CoreFacts,
  ids: readonly string[],
  item?: Item,
): Evaluated<Payload | null> {
  const base = baseInput(step, facts, ids, item);
  const override = planned === 0 ? null : (step.fallbacks[planned - 1] ?? null);
  if (!override || base.kind === "failed") return base;
  if (override.kind !== "template")
    return failed(override.kind === "broken" ? override.message : "a fallback's input is JSON");
  const over = renderTemplate(override.template, factsOf(facts, ids, step, item));
  if (!over.ok) return failed(over.message);
  const under = jsonOf(base.value);
  if (under === undefined) return failed("the step's input is not JSON: nothing can be merged");
  return payloadOf(mergeInput(under, over.value));
}

function baseInput(
  { input, inputAsIs, refers, always }: CompiledStep,
  facts: CoreFacts,
  ids: readonly string[],
  item?: Item,
): Evaluated<Payload | null> {
  if (!input && item) return payloadOf({ ok: true, value: item.value });
  if (!input) return { kind: "value", value: facts.run.input };
  if (input.kind === "broken") return failed(input.message);
  if (input.kind === "carried" || input.constant) return { kind: "value", value: inputAsIs };
  return payloadOf(renderTemplate(input.template, factsOf(facts, ids, { refers, always }, item)));
}

function payloadOf(result: Evaluation): Evaluated<Payload> {
  if (!result.ok) return failed(result.message);
  return { kind: "value", value: { kind: "json", json: JSON.stringify(result.value) } };
}

function failed(message: string): { readonly kind: "failed"; readonly message: string } {
  return { kind: "failed", message };
}

function evaluated(
  compiled: Compiled<Expression> | null,
  facts: () => Facts,
): Evaluated<Json> | null {
  if (compiled === null) return null;
  if (!compiled.ok) return failed(compiled.message);
  const result = evaluate(compiled.expression, facts());
  return result.ok ? { kind: "value", value: result.value } : failed(result.message);
}

/**
 * The lists that maps process. They are evaluated once for the facts of a pass, however many items
 * ask; facts never change, so the result is the same each time.
 */
function createLists(ids: readonly string[]) {
  const known = new WeakMap<CoreFacts, Map<number, Evaluated<readonly Json[]>>>();
  function of(step: CompiledStep, map: CompiledMap, no: number, facts: CoreFacts) {
    const lists = known.get(facts) ?? new Map<number, Evaluated<readonly Json[]>>();
    known.set(facts, lists);
    const found = lists.get(no) ?? listOf(evaluated(map.over, () => factsOf(facts, ids, step)));
    lists.set(no, found);
    return found;
  }
  function item(
    step: CompiledStep,
    map: CompiledMap,
    place: number,
    facts: CoreFacts,
  ): Evaluated<Json> {
    const list = of(step, map, numberOf(place), facts);
    if (list.kind === "failed") return list;
    const value = list.value[itemOf(place) - 1];
    return value === undefined
      ? failed(`its list has ${list.value.length} items, and this is item ${itemOf(place) - 1}`)
      : { kind: "value", value };
  }
  return { of, item };
}

function listOf(evaluated: Evaluated<Json> | null): Evaluated<readonly Json[]> {
  if (evaluated?.kind !== "value") return evaluated ?? failed("it has no `over`");
  const { value } = evaluated;
  const list =
    typeof value === "number" && Number.isInteger(value) && value >= 0 ? rangeOf(value) : value;
  if (!Array.isArray(list))
    return failed(`it is ${JSON.stringify(value)}, which is neither a list nor a number of items`);
  return list.length <= ITEMS_MAX
    ? { kind: "value", value: list }
    : failed(`it has ${list.length} items, and a map has ${ITEMS_MAX} at most`);
}

/**
 * At most one more item than a map may have, so that a longer list is refused without being built.
 */
function rangeOf(count: number): readonly number[] {
  return Array.from({ length: Math.min(count, ITEMS_MAX + 1) }, (_, index) => index);
}

/** The facts of a pass as expressions see them: steps by id, payloads as values. */
function factsOf(
  { run, steps }: CoreFacts,
  ids: readonly string[],
  { refers, always }: Pick<CompiledStep, "refers" | "always">,
  item?: Item,
): Facts {
  const { id, workflow, version, labels, key, createdAt, input } = run;
  return {
    input: jsonOf(input),
    run: { id, workflow, version, labels, key: key ?? "", createdTimeMs: createdAt },
    ...(item ? { item: item.value } : {}),
    steps: new Map(
      refers.flatMap((no) => {
        const facts = steps.get(no) ?? (always ? cancelled : undefined);
        const name = ids[no];
        return facts && name !== undefined ? [[name, stepFacts(facts)] as const] : [];
      }),
    ),
  };
}

const cancelled: CoreStepFacts = { status: "CANCELLED", output: null, error: null };

function stepFacts({ status, output, error }: CoreStepFacts): StepFacts {
  const known =
    status === "SUCCEEDED" || status === "FAILED" || status === "SKIPPED" ? status : "CANCELLED";
  return { status: known, output: jsonOf(output), error };
}

/** undefined: the payload is not JSON. */
function jsonOf(payload: Payload | null): Json | undefined {
  if (payload === null) return null;
  if (payload.kind !== "json") return undefined;
  const parsed = parseJson(payload.json);
  return parsed.ok ? parsed.value : undefined;
}

function schemaOf(payload: Payload | undefined): Problem | null {
  if (!payload) return null;
  const broken =
    (message: string): Problem =>
    () =>
      `its schema is none: ${message}`;
  if (payload.kind !== "json") return broken("it is not JSON");
  const parsed = parseJson(payload.json);
  if (!parsed.ok) return broken(parsed.message);
  const schema = compileSchema(parsed.value);
  if (!schema.ok) return broken(schema.message);
  return (value) => {
    const json = jsonOf(value);
    return json === undefined ? "it is not JSON, and its schema asks for it" : schema.check(json);
  };
}
