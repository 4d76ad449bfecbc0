// Checks every expression, template and schema of a definition when it is registered: an error
// found later would escalate a run. The fields are those of the definition that contain expressions
// or decide what these may name.
import type {
  Definition,
  MapWork,
  StepDefinition,
  StepRules,
} from "../core/definition/definition.ts";
import type { Payload } from "../core/model/payload.ts";
import type { Compiled, Expression } from "./expression.ts";
import { parseJson } from "./json.ts";
import { COMPILE_COST_MAX, createMeter, type Meter } from "./meter.ts";
import { compileSchema } from "./schema.ts";
import { compileCondition, compileList, compileTemplate, compileTime } from "./template.ts";
import type { ExpressionScope } from "./types.ts";

export interface StepExpressions {
  readonly id: string;
  readonly needs: readonly string[];
  /** The step runs last. It may refer to every step that is not such a step itself. */
  readonly always?: boolean;
  /** Whether the step runs once for each item of a list. */
  readonly hasItem?: boolean;
  readonly when?: string;
  readonly input?: Payload;
  readonly fallback?: readonly { readonly input?: Payload }[];
  /**
   * Of a map: the list, the queues of its items that contain expressions, the input of its gate.
   */
  readonly over?: string;
  readonly queues?: readonly { readonly path: string; readonly queue: string }[];
  readonly gateInput?: Payload;
  /** The time when a wait ends. */
  readonly until?: string;
  readonly outputSchema?: Payload;
  /** The schema of the form that an approver fills in. */
  readonly form?: Payload;
}

/** The parts of a step that contain expressions, in the form that the check takes. */
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

interface ExpressionProblem {
  /** Path in the message, as `steps[2].when` or `steps[2].input.traveller.name`. */
  readonly path: string;
  readonly message: string;
  /** Position in the text at the path, 1-based; schemas have none. */
  readonly line?: number;
  readonly column?: number;
}

/** All problems of a definition whose structure is sound. */
export function checkDefinition(definition: Definition): readonly ExpressionProblem[] {
  const meter = createMeter(COMPILE_COST_MAX);
  return [
    ...schemaProblems(definition.inputSchema, "input_schema", meter),
    ...checkDefinitionExpressions(definition.steps.map(expressionsOf), meter),
  ];
}

/**
 * All problems, in the order of the steps. The needs may be invalid, which `definitionProblems`
 * reports: an unknown step adds nothing, and the walk through a cycle ends at its start.
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

/** The names that the expressions of a step may use: all steps upstream of it. */
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
  // A payload that is not JSON is passed on unchanged.
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
