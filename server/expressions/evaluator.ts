// The evaluator of a definition: all its expressions and schemas, compiled once when its plan is
// made. If a part could not be compiled, the evaluator reports that when the part is used, and its
// step is escalated.
import type { Definition } from "../core/definition/definition.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import type { Evaluated, Evaluator } from "../core/model/evaluator.ts";
import type { Facts } from "../core/model/facts.ts";
import type { Payload } from "../core/model/payload.ts";
import { itemOf, numberOf } from "../core/model/step-key.ts";
import {
  asksFacts,
  type CompiledMap,
  type CompiledStep,
  compilePayloadCheck,
  compileSteps,
} from "./compiled-step.ts";
import { type Json, jsonOfPayload } from "./json.ts";
import { createMapLists, type MapLists } from "./map-lists.ts";
import { evaluatedOf, evaluateFor, failed, type Item, renderFor } from "./step-values.ts";
import { mergeInput } from "./template.ts";

interface State {
  readonly workflow: string;
  /** By number. */
  readonly steps: readonly CompiledStep[];
  readonly lists: MapLists;
}

export function evaluatorOf(definition: Definition): Evaluator {
  const { workflow, inputSchema } = definition;
  const steps = compileSteps(definition);
  const checkInput = compilePayloadCheck(inputSchema);
  const state: State = { workflow, steps, lists: createMapLists() };
  return Object.freeze({
    // The input of a child run is rendered by the pass that begins it, so that pass needs the
    // facts.
    needsFacts: steps.some(asksFacts) || definition.steps.some(({ kind }) => kind === "run"),
    factsFor: (no) => [...stepAt(state, no).refers.keys()],
    condition: (no, facts) => conditionOf(stepAt(state, no), facts),
    input: (stepKey, planned, facts) => inputAt(state, stepKey, planned, facts),
    itemCount: (no, facts) => itemCount(state, no, facts),
    queue: (stepKey, written, facts) => queueAt(state, stepKey, written, facts),
    queueProblem: (stepKey, facts) => queueProblem(state, stepKey, facts),
    time: (no, facts) => timeOf(stepAt(state, no), facts),
    outputProblem: (stepKey, output) => outputProblem(stepAt(state, stepKey), stepKey, output),
    formProblem: (no, form) => stepAt(state, no).form?.(form) ?? null,
    inputProblem: (input) => checkInput?.(input) ?? null,
  } satisfies Evaluator);
}

function stepAt({ workflow, steps }: State, stepKey: number): CompiledStep {
  const step = steps[numberOf(stepKey)];
  if (!step) throw new Error(`${workflow} has no step ${stepKey}`);
  return step;
}

function conditionOf(step: CompiledStep, facts: Facts): Evaluated<boolean> {
  if (step.when === null) return { kind: "value", value: true };
  const result = evaluateFor(step, step.when, facts);
  if (result.kind === "failed") return result;
  return typeof result.value === "boolean"
    ? { kind: "value", value: result.value }
    : failed(`it is ${JSON.stringify(result.value)}, which is no bool`);
}

function inputAt(
  state: State,
  stepKey: number,
  planned: number,
  facts: Facts,
): Evaluated<Payload | null> {
  const step = stepAt(state, stepKey);
  if (!step.map) return inputOf(step, planned, facts);
  if (itemOf(stepKey) === 0) return inputOf(gateOf(step, step.map), 0, facts);
  const item = state.lists.item(step, step.map, stepKey, facts);
  return item.kind === "failed" ? item : inputOf(step, planned, facts, item);
}

/** A gate is a task of the map, and has no item. */
function gateOf(step: CompiledStep, map: CompiledMap): CompiledStep {
  return { ...step, map: null, input: map.gateInput, inputAsIs: map.gateInputAsIs, fallbacks: [] };
}

function inputOf(
  step: CompiledStep,
  planned: number,
  facts: Facts,
  item?: Item,
): Evaluated<Payload | null> {
  const base = baseInput(step, facts, item);
  const override = planned === 0 ? null : (step.fallbacks[planned - 1] ?? null);
  if (!override || base.kind === "failed") return base;
  if (override.kind !== "template")
    return failed(override.kind === "broken" ? override.message : "a fallback's input is JSON");
  const over = renderFor(step, override.template, facts, item);
  if (over.kind === "failed") return over;
  const under = jsonOfPayload(base.value);
  if (under === undefined) return failed("the step's input is not JSON: nothing can be merged");
  return payloadOf(evaluatedOf(mergeInput(under, over.value)));
}

function baseInput(step: CompiledStep, facts: Facts, item?: Item): Evaluated<Payload | null> {
  const { input, inputAsIs } = step;
  if (!input && item) return payloadOf({ kind: "value", value: item.value });
  if (!input) return { kind: "value", value: facts.run.input };
  if (input.kind === "broken") return failed(input.message);
  if (input.kind === "carried" || input.constant) return { kind: "value", value: inputAsIs };
  return payloadOf(renderFor(step, input.template, facts, item));
}

function payloadOf(evaluated: Evaluated<Json>): Evaluated<Payload> {
  if (evaluated.kind === "failed") return evaluated;
  return { kind: "value", value: { kind: "json", json: JSON.stringify(evaluated.value) } };
}

function itemCount(state: State, no: number, facts: Facts): Evaluated<number> {
  const step = stepAt(state, no);
  const list = step.map ? state.lists.list(step, step.map, no, facts) : failed("it is no map");
  return list.kind === "failed" ? list : { kind: "value", value: list.value.length };
}

/** The form of names in the contract: 1 to 128 of these characters. */
const NAME = /^[A-Za-z0-9._-]{1,128}$/;

function queueAt(state: State, stepKey: number, written: string, facts: Facts): Evaluated<string> {
  const step = stepAt(state, stepKey);
  const queue = step.map?.queues.get(written);
  if (!step.map || !queue) return { kind: "value", value: written };
  if (queue.kind !== "template") return failed(queue.kind === "broken" ? queue.message : "");
  const item = state.lists.item(step, step.map, stepKey, facts);
  if (item.kind === "failed") return item;
  const name = renderFor(step, queue.template, facts, item);
  if (name.kind === "failed") return name;
  return typeof name.value === "string" && NAME.test(name.value)
    ? { kind: "value", value: name.value }
    : failed(`it is ${JSON.stringify(name.value)}, which is no name of a queue`);
}

function queueProblem(state: State, stepKey: number, facts: Facts): string | null {
  const { map } = stepAt(state, stepKey);
  // A gate has no item whose queue could be computed.
  if (!map || itemOf(stepKey) === 0) return null;
  for (const written of map.queues.keys()) {
    const queue = queueAt(state, stepKey, written, facts);
    if (queue.kind === "failed") return queue.message;
  }
  return null;
}

function timeOf(step: CompiledStep, facts: Facts): Evaluated<EpochMs> {
  if (step.until === null) return failed("it has no `until`");
  const result = evaluateFor(step, step.until, facts);
  if (result.kind === "failed") return result;
  const time = typeof result.value === "string" ? Date.parse(result.value) : Number.NaN;
  return Number.isNaN(time)
    ? failed(`it is ${JSON.stringify(result.value)}, which is no time in RFC 3339`)
    : { kind: "value", value: time };
}

function outputProblem(step: CompiledStep, stepKey: number, output: Payload | null): string | null {
  // The output schema is for the map's items, not for its gate.
  if (step.map && itemOf(stepKey) === 0) return null;
  return step.output?.(output) ?? null;
}
