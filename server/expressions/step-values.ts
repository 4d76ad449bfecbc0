// What the expressions and templates of a step come to over the facts of a pass. They see the facts
// as steps by id, with payloads as values.
import type { Evaluated } from "../core/model/evaluator.ts";
import type { Facts as CoreFacts, StepFacts as CoreStepFacts } from "../core/model/facts.ts";
import type { CompiledStep } from "./compiled-step.ts";
import {
  type Compiled,
  type Evaluation,
  type Expression,
  evaluate,
  type Facts,
  type StepFacts,
} from "./expression.ts";
import { failureText } from "./failure-text.ts";
import { type Json, jsonOfPayload } from "./json.ts";
import { renderTemplate, type Template } from "./template.ts";

/** An item of the list that a map processes. */
export interface Item {
  readonly value: Json;
}

export function evaluateFor(
  step: CompiledStep,
  compiled: Compiled<Expression>,
  facts: CoreFacts,
): Evaluated<Json> {
  if (!compiled.ok) return failed(compiled.message);
  return evaluatedOf(evaluate(compiled.expression, factsOf(step, facts)));
}

export function renderFor(
  step: CompiledStep,
  template: Template,
  facts: CoreFacts,
  item?: Item,
): Evaluated<Json> {
  return evaluatedOf(renderTemplate(template, factsOf(step, facts, item)));
}

export function evaluatedOf(result: Evaluation): Evaluated<Json> {
  return result.ok
    ? { kind: "value", value: result.value }
    : { kind: "failed", message: result.message };
}

export function failed(message: string): { readonly kind: "failed"; readonly message: string } {
  return { kind: "failed", message: failureText(message) };
}

function factsOf({ refers, always }: CompiledStep, { run, steps }: CoreFacts, item?: Item): Facts {
  const { id, workflow, version, labels, key, createdAt, input } = run;
  const seen = new Map<string, StepFacts>();
  for (const [no, stepId] of refers) {
    const facts = steps.get(no) ?? (always ? cancelled : undefined);
    if (facts) seen.set(stepId, stepFacts(facts));
  }
  return {
    input: jsonOfPayload(input),
    run: { id, workflow, version, labels, key: key ?? "", createdTimeMs: createdAt },
    ...(item ? { item: item.value } : {}),
    steps: seen,
  };
}

const cancelled: CoreStepFacts = { status: "CANCELLED", output: null, error: null };

function stepFacts({ status, output, error }: CoreStepFacts): StepFacts {
  const known =
    status === "SUCCEEDED" || status === "FAILED" || status === "SKIPPED" ? status : "CANCELLED";
  return { status: known, output: jsonOfPayload(output), error };
}
