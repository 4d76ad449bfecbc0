// Every expression, template and schema of a definition, checked when it is registered: what is
// wrong there would otherwise escalate a run later. The fields are those of the definition; this
// needs no more of them than stands here.
import type { Definition, MapWork, StepDefinition, StepRules } from "../core/definition.ts";
import type { Payload } from "../core/payload.ts";
import type { Compiled, Expression } from "./expression.ts";
import { parseJson } from "./json.ts";
import { COMPILE_COST_MAX, createMeter, type Meter } from "./meter.ts";
import { compileSchema } from "./schema.ts";
import { compileCondition, compileList, compileTemplate, compileTime } from "./template.ts";
import type { ExpressionScope } from "./types.ts";

export interface StepExpressions {
  readonly id: string;
  readonly needs: readonly string[];
  /** Runs last: it may refer to every step that is not one of these too. */
  readonly always?: boolean;
  /** Whether it runs once for each item of a list. */
  readonly hasItem?: boolean;
  readonly when?: string;
  readonly input?: Payload;
  readonly fallback?: readonly { readonly input?: Payload }[];
  /** What a map goes over, the queues of its items that have expressions, the input of its gate. */
  readonly over?: string;
  readonly queues?: readonly { readonly path: string; readonly queue: string }[];
  readonly gateInput?: Payload;
  /** The moment that a wait ends. */
  readonly until?: string;
  readonly outputSchema?: Payload;
  /** What an approver fills in. */
  readonly form?: Payload;
}

/** What the expressions of a definition are checked against. */
export function expressionsOf(step: StepDefinition): StepExpressions {
  const { id, needs, always, when, input, fallback, outputSchema } = step;
  return {
    id,
    needs,
    ...(always === undefined ? {} : { always }),
    ...(when === undefined ? {} : { when }),
    ...(input === undefined ? {} : { input }),
    ...(fallback === undefined ? {} : { fallback }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(step.kind === "wait" && step.until !== undefined ? { until: step.until } : {}),
    ...(step.kind === "approval" && step.form !== undefined ? { form: step.form } : {}),
    ...(step.kind === "map" ? ofMap(step) : {}),
  };
}

function ofMap({ over, queue, verify, compensate, fallback, waves }: StepRules & MapWork) {
  const named = [
    { path: "map.queue", queue },
    { path: "verify.queue", queue: verify?.queue },
    { path: "compensate.queue", queue: compensate?.queue },
    ...(fallback ?? []).map((one, index) => ({
      path: `fallback[${index}].queue`,
      queue: one.queue,
    })),
  ];
  const queues = named.flatMap((one) =>
    one.queue?.includes("${") ? [{ path: one.path, queue: one.queue }] : [],
  );
  const gateInput = waves?.gate?.input;
  return { hasItem: true, over, queues, ...(gateInput === undefined ? {} : { gateInput }) };
}

export interface ExpressionProblem {
  /** Path in the message, as `steps[2].when` or `steps[2].input.traveller.name`. */
  readonly path: string;
  readonly message: string;
  /** Within the text at the path, 1-based; not of schemas. */
  readonly line?: number;
  readonly column?: number;
}

/** Every problem of a definition whose structure is sound. */
export function checkDefinition(definition: Definition): readonly ExpressionProblem[] {
  const meter = createMeter(COMPILE_COST_MAX);
  return [
    ...schemaProblems(definition.inputSchema, "input_schema", meter),
    ...checkDefinitionExpressions(definition.steps.map(expressionsOf), meter),
  ];
}

/**
 * Every problem, in the order of the steps. The needs may be wrong, which `definitionProblems`
 * says: an unknown one adds nothing, and a circle ends where it closes.
 */
export function checkDefinitionExpressions(
  steps: readonly StepExpressions[],
  meter: Meter = createMeter(COMPILE_COST_MAX),
): readonly ExpressionProblem[] {
  const scopeOf = scopes(steps);
  return steps.flatMap((step, no) => {
    const at = (field: string) => `steps[${no}].${field}`;
    const scope = scopeOf(step);
    const outside = { ...scope, hasItem: false };
    return [
      ...textProblems(step.when, at("when"), (text) => compileCondition(text, outside, meter)),
      ...textProblems(step.over, at("map.over"), (text) => compileList(text, outside, meter)),
      ...(step.queues ?? []).flatMap(({ path, queue }) =>
        payloadProblems({ kind: "json", json: JSON.stringify(queue) }, at(path), scope, meter),
      ),
      ...payloadProblems(step.gateInput, at("map.waves.gate.input"), outside, meter),
      ...textProblems(step.until, at("until"), (text) => compileTime(text, scope, meter)),
      ...payloadProblems(step.input, at("input"), scope, meter),
      ...(step.fallback ?? []).flatMap(({ input }, strategy) =>
        payloadProblems(input, at(`fallback[${strategy}].input`), scope, meter),
      ),
      ...schemaProblems(step.outputSchema, at("output_schema"), meter),
      ...schemaProblems(step.form, at("form"), meter),
    ];
  });
}

/** What the expressions of a step may name, by the step's needs and theirs. */
export function scopes(
  steps: readonly StepExpressions[],
): (step: StepExpressions) => ExpressionScope {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const allSteps = [...byId.keys()];
  const ordinary = steps.filter(({ always }) => !always).map(({ id }) => id);
  return ({ id, needs, always = false, hasItem = false }) => {
    const upstream = new Set<string>(always ? ordinary : []);
    const open = [...needs];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const step = byId.get(next);
      if (!step || upstream.has(next)) continue;
      upstream.add(next);
      open.push(...step.needs);
    }
    upstream.delete(id);
    return { steps: allSteps.filter((one) => upstream.has(one)), allSteps, hasItem };
  };
}

function textProblems(
  text: string | undefined,
  path: string,
  compile: (text: string) => Compiled<Expression>,
): readonly ExpressionProblem[] {
  if (text === undefined) return [];
  const compiled = compile(text);
  if (compiled.ok) return [];
  const { message, line, column } = compiled;
  return [{ path, message, line, column }];
}

function payloadProblems(
  payload: Payload | undefined,
  path: string,
  scope: ExpressionScope,
  meter: Meter,
): readonly ExpressionProblem[] {
  // What is not JSON is carried as it is.
  if (payload?.kind !== "json") return [];
  const parsed = parseJson(payload.json);
  if (!parsed.ok) return [{ path, message: `is not JSON: ${parsed.message}` }];
  const compiled = compileTemplate(parsed.value, scope, path, meter);
  return compiled.ok ? [] : compiled.problems;
}

function schemaProblems(
  payload: Payload | undefined,
  path: string,
  meter: Meter,
): readonly ExpressionProblem[] {
  if (!payload) return [];
  if (payload.kind !== "json")
    return [{ path, message: `a schema is JSON, and this is ${payload.contentType}` }];
  const parsed = parseJson(payload.json);
  if (!parsed.ok) return [{ path, message: `is not JSON: ${parsed.message}` }];
  const compiled = compileSchema(parsed.value, meter);
  if (compiled.ok) return [];
  const to = compiled.path ? `${path}.${compiled.path}` : path;
  return [{ path: to, message: compiled.message }];
}
