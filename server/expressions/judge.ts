// The judge of a definition: everything that its expressions and schemas say, compiled once when
// its plan is made. The definition was checked before it was stored; what cannot be compiled all
// the same is told when it is asked about, and escalates its step.
import type { Definition, StepDefinition } from "../core/definition.ts";
import type { Facts as CoreFacts, StepFacts as CoreStepFacts } from "../core/facts.ts";
import type { Judge, Judged } from "../core/judge.ts";
import type { Payload } from "../core/payload.ts";
import { expressionsOf, scopes } from "./definition-expressions.ts";
import type { Facts, StepFacts } from "./expression.ts";
import { type Compiled, type Evaluation, type Expression, evaluate } from "./expression.ts";
import { type Json, parseJson } from "./json.ts";
import { compileSchema } from "./schema.ts";
import {
  compileCondition,
  compileMoment,
  compileTemplate,
  mergeInput,
  renderTemplate,
  type Template,
} from "./template.ts";
import type { ExpressionScope } from "./types.ts";

type Problem = (value: Payload | null) => string | null;

/** An input as it was written: a template, or carried as it is. */
type Input =
  | { readonly kind: "template"; readonly template: Template; readonly constant: boolean }
  | { readonly kind: "carried" }
  | { readonly kind: "broken"; readonly message: string };

interface JudgedStep {
  readonly when: Compiled<Expression> | null;
  readonly until: Compiled<Expression> | null;
  /** null: the run's own. */
  readonly input: Input | null;
  readonly inputAsIs: Payload | null;
  /** By strategy of the plan, from 1. */
  readonly fallbacks: readonly (Input | null)[];
  readonly output: Problem | null;
  readonly form: Problem | null;
  /** Numbers of the steps that its expressions refer to. */
  readonly refers: readonly number[];
  /** It runs last: what has come to nothing by then is CANCELLED, begun or not. */
  readonly always: boolean;
}

export function judgeOf(definition: Definition): Judge {
  const shapes = definition.steps.map(expressionsOf);
  const scopeOf = scopes(shapes);
  const numbers = new Map(definition.steps.map(({ id }, no) => [id, no]));
  const ids = definition.steps.map(({ id }) => id);
  const steps = definition.steps.map((step, no) => {
    const shape = shapes[no];
    if (!shape) throw new Error(`${definition.workflow} has no step ${no}`);
    return judgedStep(step, scopeOf(shape), numbers);
  });
  const inputProblem = schemaOf(definition.inputSchema);
  const at = (no: number): JudgedStep => {
    const step = steps[no];
    if (!step) throw new Error(`${definition.workflow} has no step ${no}`);
    return step;
  };
  return Object.freeze({
    // The input of a child run is rendered by the pass that begins it.
    needsFacts: steps.some(asksFacts) || definition.steps.some(({ kind }) => kind === "run"),
    factsFor: (no) => at(no).refers,
    condition(no, facts) {
      const judged = evaluated(at(no).when, () => factsOf(facts, ids, at(no)));
      if (judged === null) return { kind: "value", value: true };
      if (judged.kind === "failed") return judged;
      return typeof judged.value === "boolean"
        ? { kind: "value", value: judged.value }
        : { kind: "failed", message: `it is ${JSON.stringify(judged.value)}, which is no bool` };
    },
    input: (no, planned, facts) => inputOf(at(no), planned, facts, ids),
    moment(no, facts) {
      const judged = evaluated(at(no).until, () => factsOf(facts, ids, at(no)));
      if (judged?.kind !== "value") return judged ?? failed("it has no `until`");
      const moment = typeof judged.value === "string" ? Date.parse(judged.value) : Number.NaN;
      return Number.isNaN(moment)
        ? failed(`it is ${JSON.stringify(judged.value)}, which is no moment in RFC 3339`)
        : { kind: "value", value: moment };
    },
    outputProblem: (no, output) => at(no).output?.(output) ?? null,
    formProblem: (no, form) => at(no).form?.(form) ?? null,
    inputProblem: (input) => inputProblem?.(input) ?? null,
  } satisfies Judge);
}

function judgedStep(
  step: StepDefinition,
  scope: ExpressionScope,
  numbers: ReadonlyMap<string, number>,
): JudgedStep {
  const when = step.when === undefined ? null : compileCondition(step.when, scope);
  const until =
    step.kind === "wait" && step.until !== undefined ? compileMoment(step.until, scope) : null;
  const input = step.input ? inputAsWritten(step.input, scope) : null;
  const fallbacks = (step.fallback ?? []).map((fallback) =>
    fallback.input ? inputAsWritten(fallback.input, scope) : null,
  );
  const named = [
    ...[when, until].flatMap((one) => (one?.ok ? one.expression.steps : [])),
    ...[input, ...fallbacks].flatMap((one) => (one?.kind === "template" ? one.template.steps : [])),
  ];
  return {
    when,
    until,
    input,
    inputAsIs: step.input ?? null,
    fallbacks,
    output: schemaOf(step.outputSchema),
    form: step.kind === "approval" ? schemaOf(step.form) : null,
    refers: [...new Set(named)].flatMap((id) => numbers.get(id) ?? []),
    always: step.always ?? false,
  };
}

function asksFacts({ when, until, input, fallbacks }: JudgedStep): boolean {
  const renders = input?.kind === "template" && !input.constant;
  return when !== null || until !== null || renders || fallbacks.some((one) => one !== null);
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
  step: JudgedStep,
  planned: number,
  facts: CoreFacts,
  ids: readonly string[],
): Judged<Payload | null> {
  const base = baseInput(step, facts, ids);
  const override = planned === 0 ? null : (step.fallbacks[planned - 1] ?? null);
  if (!override || base.kind === "failed") return base;
  if (override.kind !== "template")
    return failed(override.kind === "broken" ? override.message : "a fallback's input is JSON");
  const over = renderTemplate(override.template, factsOf(facts, ids, step));
  if (!over.ok) return failed(over.message);
  const under = jsonOf(base.value);
  if (under === undefined) return failed("the step's input is not JSON: nothing can be merged");
  return payloadOf(mergeInput(under, over.value));
}

function baseInput(
  { input, inputAsIs, refers, always }: JudgedStep,
  facts: CoreFacts,
  ids: readonly string[],
): Judged<Payload | null> {
  if (!input) return { kind: "value", value: facts.run.input };
  if (input.kind === "broken") return failed(input.message);
  if (input.kind === "carried" || input.constant) return { kind: "value", value: inputAsIs };
  return payloadOf(renderTemplate(input.template, factsOf(facts, ids, { refers, always })));
}

function payloadOf(result: Evaluation): Judged<Payload> {
  if (!result.ok) return failed(result.message);
  return { kind: "value", value: { kind: "json", json: JSON.stringify(result.value) } };
}

function failed(message: string): { readonly kind: "failed"; readonly message: string } {
  return { kind: "failed", message };
}

function evaluated(compiled: Compiled<Expression> | null, facts: () => Facts): Judged<Json> | null {
  if (compiled === null) return null;
  if (!compiled.ok) return failed(compiled.message);
  const result = evaluate(compiled.expression, facts());
  return result.ok ? { kind: "value", value: result.value } : failed(result.message);
}

/** What the rules know, as expressions see it: by name, and as values. */
function factsOf(
  { run, steps }: CoreFacts,
  ids: readonly string[],
  { refers, always }: Pick<JudgedStep, "refers" | "always">,
): Facts {
  const { id, workflow, version, labels, key, createdAt, input } = run;
  return {
    input: jsonOf(input),
    run: { id, workflow, version, labels, key: key ?? "", createdTimeMs: createdAt },
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

/** undefined: it is not JSON. */
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
