// The expressions of a trigger: checked when the trigger is put, rendered for each call and each
// run that ends. The result is checked too, so a mapping always gives an action or a reason.

import {
  type TextRule,
  type TriggerAction,
  type TriggerDefinition,
  type TriggerProblem,
  type TriggerSource,
  textProblem,
  triggerProblem,
} from "../core/definition/trigger.ts";
import type { Payload } from "../core/model/payload.ts";
import {
  type Compiled,
  type Evaluation,
  type Expression,
  evaluate,
  type NamedFacts,
} from "./expression.ts";
import { isJsonObject, type Json, type JsonObject, parseJson } from "./json.ts";
import { COMPILE_COST_MAX, createMeter } from "./meter.ts";
import { compileCondition, compileTemplate, renderTemplate } from "./template.ts";
import { ANY, type ExpressionScope, scalar, type ValueType } from "./types.ts";

/** What a mapping may use, by the names of its source. */
export type TriggerFacts =
  | {
      readonly kind: "call";
      readonly body: Json;
      readonly headers: Readonly<Record<string, string>>;
      readonly query: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "run-end";
      readonly run: JsonObject;
      readonly input: Json;
      readonly output: Json;
      /** The failure in words. */
      readonly why: string;
    };

/** What a trigger asks the scheduler for. */
export type TriggerRequest =
  | {
      readonly kind: "schedule";
      readonly workflow: string;
      readonly version: number;
      readonly input: Payload | null;
      /** null: a repeat cannot be recognized. */
      readonly key: string | null;
      readonly labels: Readonly<Record<string, string>>;
      readonly priority: number;
    }
  | {
      readonly kind: "signal";
      readonly run: { readonly runId: string } | { readonly key: string };
      readonly name: string;
      readonly signalId: string;
      readonly payload: Payload | null;
    }
  | {
      readonly kind: "complete";
      readonly callbackToken: string;
      readonly outcome: CallbackOutcome;
    };

export type CallbackOutcome =
  | { readonly kind: "success"; readonly output: Payload | null }
  | {
      readonly kind: "failed";
      readonly code: string;
      readonly message: string;
      readonly permanent: boolean;
      readonly noEffect: boolean;
    };

type Mapped =
  /** `when` is false. */
  | { readonly kind: "nothing" }
  | { readonly kind: "asked"; readonly asked: TriggerRequest }
  /** One sentence, with the path of the field. */
  | { readonly kind: "failed"; readonly message: string };

export type TriggerMapping = (facts: TriggerFacts) => Mapped;

/** Like `TriggerProblem`; a problem inside an expression has line and column. */
type MappingProblem = TriggerProblem & { readonly line?: number; readonly column?: number };

export type CompiledTrigger =
  | { readonly ok: true; readonly mapping: TriggerMapping }
  | { readonly ok: false; readonly problems: readonly MappingProblem[] };

const TRIGGER_PRIORITY = 5;

const TEXTS: ValueType = { kind: "map", value: scalar("string") };

const RUN: ValueType = {
  kind: "record",
  fields: new Map<string, ValueType>([
    ["id", scalar("string")],
    ["workflow", scalar("string")],
    ["version", scalar("int")],
    ["labels", TEXTS],
    ["key", scalar("string")],
    [
      "state",
      {
        kind: "word",
        what: "final state of a run",
        words: ["COMPLETED", "FAILED", "COMPENSATED", "CANCELLED"],
      },
    ],
    ["reason", scalar("string")],
  ]),
};

const NAMES: Readonly<Record<TriggerSource["kind"], ReadonlyMap<string, ValueType>>> = {
  http: new Map([
    ["body", { ...ANY }],
    ["headers", TEXTS],
    ["query", TEXTS],
  ]),
  "run-end": new Map<string, ValueType>([
    ["run", RUN],
    ["input", { ...ANY }],
    ["output", { ...ANY }],
    ["why", scalar("string")],
  ]),
};

/** The fields of each action that are rendered to texts, and the rule for each text. */
const RULES: Readonly<Record<TriggerAction["kind"], Readonly<Record<string, TextRule>>>> = {
  schedule: { workflow: "name", key: "key" },
  signal: { run_key: "key", run_id: "id", name: "name", signal_id: "key" },
  complete: { callback_token: "token" },
};

/** The rendered parts of an action. */
interface Template {
  readonly texts: JsonObject;
  readonly labels: JsonObject;
  /** Of `input`, `payload` or `outcome`; undefined: the action does not set it. */
  readonly payload: Json | undefined;
}

const PAYLOADS = { schedule: "input", signal: "payload", complete: "outcome" } as const;

/** Compiles a trigger: all its problems, or its mapping of facts to an action. */
export function compileTrigger(definition: TriggerDefinition): CompiledTrigger {
  const { source, when, action } = definition;
  const problem = triggerProblem(definition);
  if (problem) return { ok: false, problems: [problem] };
  const meter = createMeter(COMPILE_COST_MAX);
  const scope: ExpressionScope = {
    steps: [],
    allSteps: [],
    hasItem: false,
    names: NAMES[source.kind],
  };
  const compiled = templateOf(action);
  if (!compiled.ok) return { ok: false, problems: [compiled.problem] };
  const { texts, labels, payload } = compiled.template;
  const condition = when === "" ? null : compileCondition(when, scope, meter);
  const whole: JsonObject = {
    ...texts,
    ...(action.kind === "schedule" ? { labels } : {}),
    ...(payload === undefined ? {} : { [PAYLOADS[action.kind]]: payload }),
  };
  const template = compileTemplate(whole, scope, action.kind, meter);
  const problems: MappingProblem[] = [
    ...conditionProblem(condition),
    ...(template.ok ? [] : template.problems),
    ...plainProblems(action.kind, texts),
  ];
  if (problems.length > 0 || !template.ok || (condition && !condition.ok))
    return { ok: false, problems };
  const passes = condition?.expression ?? null;

  function mapping(facts: TriggerFacts): Mapped {
    const named = namedFacts(facts);
    const evaluated = passes === null ? TRUE : evaluate(passes, named);
    if (!evaluated.ok) return { kind: "failed", message: `when: ${evaluated.message}` };
    if (evaluated.value !== true) return { kind: "nothing" };
    if (!template.ok) throw new Error("a template with problems has been refused");
    const rendered = renderTemplate(template.template, named);
    if (!rendered.ok) return { kind: "failed", message: rendered.message };
    if (!isJsonObject(rendered.value)) throw new Error("an object renders to an object");
    const body = facts.kind === "call" ? facts.body : null;
    return askedOf(action, rendered.value, facts.kind === "call" ? jsonPayload(body) : null);
  }
  return { ok: true, mapping };
}

const TRUE: Evaluation = { ok: true, value: true };

function conditionProblem(condition: Compiled<Expression> | null): readonly MappingProblem[] {
  if (condition === null || condition.ok) return [];
  const { message, line, column } = condition;
  return [{ path: "when", message, line, column }];
}

function templateOf(
  action: TriggerAction,
):
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly problem: MappingProblem } {
  const given =
    action.kind === "schedule"
      ? action.input
      : action.kind === "signal"
        ? action.payload
        : action.outcome;
  const labels = action.kind === "schedule" ? action.labels : {};
  const texts = Object.fromEntries(textsOf(action).filter(([, text]) => text !== ""));
  if (given === null) return { ok: true, template: { texts, labels, payload: undefined } };
  const path = `${action.kind}.${PAYLOADS[action.kind]}`;
  if (given.kind !== "json")
    return { ok: false, problem: { path, message: `is ${given.contentType}: give it in JSON` } };
  const parsed = parseJson(given.json);
  if (!parsed.ok)
    return { ok: false, problem: { path, message: `is not JSON: ${parsed.message}` } };
  return { ok: true, template: { texts, labels, payload: parsed.value } };
}

function textsOf(action: TriggerAction): readonly (readonly [string, string])[] {
  switch (action.kind) {
    case "schedule":
      return [
        ["workflow", action.workflow],
        ["key", action.key],
      ];
    case "signal":
      return [
        ["run_key", action.runKey],
        ["run_id", action.runId],
        ["name", action.name],
        ["signal_id", action.signalId],
      ];
    case "complete":
      return [["callback_token", action.callbackToken]];
  }
}

/** Texts without an expression can be checked before any call. */
function plainProblems(kind: TriggerAction["kind"], texts: JsonObject): readonly MappingProblem[] {
  return Object.entries(texts).flatMap(([field, text]) => {
    const rule = RULES[kind][field];
    if (rule === undefined || typeof text !== "string" || text.includes("${")) return [];
    const message = textProblem(text, rule);
    return message === null ? [] : [{ path: `${kind}.${field}`, message }];
  });
}

function namedFacts(facts: TriggerFacts): NamedFacts {
  const { kind: _, ...named } = facts;
  return { named: new Map<string, Json>(Object.entries(named)) };
}

function jsonPayload(value: Json): Payload {
  return { kind: "json", json: JSON.stringify(value) };
}

/** The action of rendered texts. `body` is the payload if the action sets none. */
function askedOf(action: TriggerAction, rendered: JsonObject, body: Payload | null): Mapped {
  const { kind } = action;
  const texts = new Map<string, string>();
  for (const [field, rule] of Object.entries(RULES[kind])) {
    if (!Object.hasOwn(rendered, field)) continue;
    const text = textOf(rendered[field]);
    const message = text === null ? NO_TEXT(rendered[field]) : textProblem(text, rule);
    if (message !== null) return { kind: "failed", message: `${kind}.${field} ${message}` };
    texts.set(field, text ?? "");
  }
  const value = rendered[PAYLOADS[kind]];
  const payload = value === undefined ? body : jsonPayload(value);
  switch (action.kind) {
    case "schedule": {
      const labels = labelsOf(rendered.labels ?? {});
      if (typeof labels === "string") return { kind: "failed", message: labels };
      const { version } = action;
      const priority = action.priority === 0 ? TRIGGER_PRIORITY : action.priority;
      const key = texts.get("key") ?? null;
      const workflow = texts.get("workflow") ?? "";
      const asked = { kind: "schedule", workflow, version, input: payload, key, labels } as const;
      return { kind: "asked", asked: { ...asked, priority } };
    }
    case "signal": {
      const runId = texts.get("run_id");
      const run =
        runId === undefined ? { key: texts.get("run_key") ?? "" } : { runId: runId.toLowerCase() };
      const signalId = texts.get("signal_id") ?? "";
      const name = texts.get("name") ?? "";
      return { kind: "asked", asked: { kind: "signal", run, name, signalId, payload } };
    }
    case "complete": {
      const outcome = outcomeOf(value ?? null);
      if (typeof outcome === "string")
        return { kind: "failed", message: `complete.outcome ${outcome}` };
      const callbackToken = texts.get("callback_token") ?? "";
      return { kind: "asked", asked: { kind: "complete", callbackToken, outcome } };
    }
  }
}

/** Numbers and bools may be used for keys and names, as they may be within a longer text. */
function textOf(value: Json | undefined): string | null {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : null;
}

const NO_TEXT = (value: Json | undefined): string =>
  `is ${value === null ? "null" : Array.isArray(value) ? "a list" : "an object"}, and has to be a text`;

/** The labels, or the problem with them. */
function labelsOf(rendered: Json): Readonly<Record<string, string>> | string {
  const labels: Record<string, string> = {};
  for (const [name, value] of Object.entries(isJsonObject(rendered) ? rendered : {})) {
    const text = textOf(value);
    const wrong = text === null ? NO_TEXT(value) : textProblem(text, "label");
    if (wrong !== null) return `schedule.labels.${name} ${wrong}`;
    labels[name] = text ?? "";
  }
  return labels;
}

const CODE = /^(?!drover\.)[A-Za-z0-9._-]{1,128}$/;
const MESSAGE_MAX = 4_096;

/** The outcome, or the problem with it. */
function outcomeOf(value: Json): CallbackOutcome | string {
  if (!isJsonObject(value) || Object.keys(value).length !== 1)
    return 'has to be {"success": ...} or {"failed": {"code": ...}}';
  if (Object.hasOwn(value, "success"))
    return { kind: "success", output: jsonPayload(value.success ?? null) };
  const { failed } = value;
  if (failed === undefined || !isJsonObject(failed))
    return 'has to be {"success": ...} or {"failed": {"code": ...}}';
  const { code, message = "", permanent = false, no_effect: noEffect = false, ...more } = failed;
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) return `has an unknown failed.${unknown}`;
  if (typeof code !== "string" || !CODE.test(code))
    return "needs as failed.code 1 to 128 characters of [A-Za-z0-9._-] that begin with no drover.";
  if (typeof message !== "string" || message.length > MESSAGE_MAX || message.includes("\0"))
    return `needs as failed.message a text of ${MESSAGE_MAX} characters at most, without NUL`;
  if (typeof permanent !== "boolean" || typeof noEffect !== "boolean")
    return "needs true or false as failed.permanent and failed.no_effect";
  return { kind: "failed", code, message, permanent, noEffect };
}
