// Checks a single step: fields that exclude each other, or that have no meaning for its kind. A
// field that would be ignored is refused: a `verify` that is never called may mean a double charge.

import { CHILD_CODES } from "../child.ts";
import type { Payload } from "../model/payload.ts";
import { timeProblems } from "../plan/times-check.ts";
import type { Definition, RunWork, StepDefinition, StepRules } from "./definition.ts";
import type { DefinitionProblem } from "./definition-check.ts";
import { nearestWord } from "./nearest-word.ts";

/** Error codes that the server itself makes, without `drover.`. */
export const ENGINE_CODES: readonly string[] = Object.freeze([
  "lost",
  "timeout",
  "stalled",
  "unknown",
  "schema",
  "callback",
  "total",
  "poison",
  "expression",
  "pickup",
  "items",
  "answered",
  "rejected",
  "expired",
  "child-failed",
  "child-cancelled",
  "child-refused",
  "depth",
]);

const ENGINE_PREFIX = "drover.";
const EXPRESSION = "${";
/** RFC 3339, which has no local time. */
const RFC3339_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** Fields, by their names in the API, that have no meaning for a step without an agent. */
const TASK_FIELDS = [
  ["input", (step) => step.input],
  ["retry", (step) => step.retry],
  ["timeouts", (step) => step.timeouts],
  ["effects", (step) => step.effects],
  ["verify", (step) => step.verify],
  ["fallback", (step) => step.fallback],
  ["on_pickup", (step) => step.onPickup],
  ["logs", (step) => step.logs],
] as const satisfies readonly (readonly [string, (step: StepRules) => unknown])[];

const INSTEAD: Readonly<Record<"wait" | "signal" | "approval" | "run", string>> = Object.freeze({
  run: "set how long with `timeouts.total`",
  wait: "set how long with `wait`",
  signal: "set how long with `within`, and what follows with `on_expiry`",
  approval: "set how long with `within`, and what follows with `on_expiry`",
});

/** `at`: the path of the step in its definition, such as `steps[2]`. */
export function stepProblems(
  step: StepDefinition,
  at: string,
  definition: Definition,
): readonly DefinitionProblem[] {
  return [
    ...kindProblems(step),
    ...joinProblem(step),
    ...effectsProblems(step),
    ...fallbackProblems(step),
    ...queueProblems(step),
    ...escalationProblem(step),
    ...alwaysProblems(step),
    ...codeProblems(step),
    ...schemaProblem(step.outputSchema, "output_schema"),
    ...timeProblems(step, definition),
  ].map(({ path, message }) => ({
    path: path === "" ? at : `${at}.${path}`,
    message: `step "${step.id}" ${message}`,
  }));
}

function uselessOutputSchema(step: StepRules, message: string): DefinitionProblem[] {
  return step.outputSchema === undefined ? [] : [{ path: "output_schema", message }];
}

function kindProblems(step: StepDefinition): DefinitionProblem[] {
  switch (step.kind) {
    case "wait":
      return [
        ...uselessFields(step, "wait"),
        ...uselessOutputSchema(step, "is a wait, which has no output: remove it"),
        ...timeProblem(step.until),
      ];
    case "signal":
      return [
        ...uselessFields(step, "signal"),
        ...uselessOutputSchema(
          step,
          "is a signal, whose payload is not checked: let the next step ask for what it needs by its `when`, or by its own schema",
        ),
      ];
    case "approval":
      return [
        ...uselessFields(step, "approval"),
        ...uselessOutputSchema(
          step,
          "is an approval: what approvers fill in has its schema in `approval.form`",
        ),
        ...step.approvers.flatMap((name, index) =>
          step.approvers.indexOf(name) < index
            ? [
                {
                  path: `approval.approvers[${index}]`,
                  message: `names "${name}" twice: once is enough`,
                },
              ]
            : [],
        ),
        ...schemaProblem(step.form, "approval.form"),
      ];
    case "run":
      return runProblems(step);
    default:
      return [];
  }
}

/** Of the times of a step, a child run has only `total`: all others belong to its own steps. */
function runProblems(step: StepRules & RunWork): DefinitionProblem[] {
  const { totalMs: _, ...others } = step.timeouts ?? {};
  const problems: DefinitionProblem[] = uselessFields(step, "run");
  if (Object.keys(others).length > 0)
    problems.push({
      path: "timeouts",
      message: "has a child run, whose times are those of its own steps: set only total",
    });
  step.retry?.forEach(({ on = [] }, policy) => {
    const names = on.length > 0 && on.every((code) => CHILD_CODES.includes(code));
    if (!names)
      problems.push({
        path: `retry[${policy}].on`,
        message: `has a child run, which is started again only for the codes ${CHILD_CODES.join(" and ")}: name one of them`,
      });
  });
  return problems;
}

/** The fields above that a child run has: it has an input, and is tried again. */
const CHILD_FIELDS: readonly string[] = ["input", "retry", "timeouts", "fallback"];

function uselessFields(step: StepRules, kind: keyof typeof INSTEAD): DefinitionProblem[] {
  return TASK_FIELDS.filter(
    ([path, of]) => of(step) !== undefined && !(kind === "run" && CHILD_FIELDS.includes(path)),
  ).map(([path]) => ({
    path,
    message: `has no agent, so ${path} means nothing: remove it${
      path === "timeouts" ? `, and ${INSTEAD[kind]}` : ""
    }`,
  }));
}

function timeProblem(until: string | undefined): DefinitionProblem[] {
  if (until === undefined || until.includes(EXPRESSION)) return [];
  if (RFC3339_TIME.test(until) && !Number.isNaN(Date.parse(until))) return [];
  return [
    {
      path: "wait.until",
      message: `waits until ${JSON.stringify(until)}, which is no time: write it as 2026-03-01T08:00:00Z, or an expression as "\${input.start}"`,
    },
  ];
}

function escalationProblem({ escalation }: StepRules): DefinitionProblem[] {
  const { deadlineMs, answer } = escalation ?? {};
  if ((deadlineMs === undefined) === (answer === undefined)) return [];
  const message =
    answer === undefined
      ? "has a deadline for its escalations and no answer for then: add then: fail, or another"
      : "has an answer that follows when no person answers, and no deadline: add deadline: 1d, or another";
  return [{ path: answer === undefined ? "escalation.deadline" : "escalation.then", message }];
}

function joinProblem({ runIf, needs }: StepRules): DefinitionProblem[] {
  if (runIf === undefined || needs.length > 0) return [];
  const message = "needs no step, so run_if has nothing to check: remove it";
  return [{ path: "run_if", message }];
}

/** Whether agents perform it, once or for each item. */
function hasTask({ kind }: StepDefinition): boolean {
  return kind === undefined || kind === "task" || kind === "map";
}

function effectsProblems(step: StepDefinition): DefinitionProblem[] {
  const { effects, verify } = step;
  if (!hasTask(step)) return [];
  if (effects === "verifiable" && !verify)
    return [
      {
        path: "verify",
        message:
          "has effects that are verifiable and no verify: name the task that finds out whether an attempt took effect",
      },
    ];
  if (verify && effects !== "verifiable")
    return [
      {
        path: "verify",
        message: `has a verify that is never asked, since its effects are ${effects ?? "idempotent"}: add \`effects: verifiable\`, or remove it`,
      },
    ];
  return [];
}

/** Only items of a map may have computed queues, so that each can have its own. */
function queueProblems(step: StepDefinition): DefinitionProblem[] {
  if (step.kind === "map") return [];
  const named = [
    ["verify.queue", step.verify?.queue],
    ["compensate.queue", step.compensate?.queue],
    ...(step.fallback ?? []).map(
      ({ queue }, index) => [`fallback[${index}].queue`, queue] as const,
    ),
  ] as const;
  return named.flatMap(([path, queue]) =>
    queue?.includes(EXPRESSION)
      ? [{ path, message: `has the computed queue "${queue}", which only items of a map can have` }]
      : [],
  );
}

const TASK_WAYS = ["queue", "task"] as const;
const RUN_WAYS = ["workflow"] as const;
const FOREIGN_WAY = Object.freeze({
  task: "has an agent, and falls back to another task or queue: remove run",
  run: "has a child run, and falls back to another workflow: remove queue and task",
});
const NAMED_WAYS = Object.freeze({
  task: "a queue, a task or an input",
  run: "a run or an input",
});

function fallbackProblems(step: StepDefinition): DefinitionProblem[] {
  if (!hasTask(step) && step.kind !== "run") return [];
  const problems: DefinitionProblem[] = [];
  const add = (path: string, message: string) => void problems.push({ path, message });
  const { fallback = [], onPickup, input } = step;
  if (onPickup === "fallback" && fallback.length === 0)
    add("on_pickup", "falls back when no agent picks it up, and has no fallback: add one");
  fallback.forEach((entry, index) => {
    const path = `fallback[${index}]`;
    const by = step.kind === "run" ? "run" : "task";
    const [own, foreign] = by === "run" ? [RUN_WAYS, TASK_WAYS] : [TASK_WAYS, RUN_WAYS];
    if (foreign.some((way) => entry[way] !== undefined)) add(path, FOREIGN_WAY[by]);
    if (own.every((way) => entry[way] === undefined) && entry.input === undefined)
      add(path, `has a fallback that changes nothing: give it ${NAMED_WAYS[by]}`);
    if (entry.input === undefined) return;
    if (!isJsonObject(entry.input))
      add(`${path}.input`, "merges this over its input key by key: it must be a JSON object");
    else if (input?.kind === "data" || (input && !isJsonObject(input) && !isExpression(input)))
      add(
        `${path}.input`,
        "merges this over its input, which is no JSON object: give it another task or queue instead, or make its input an object",
      );
  });
  return problems;
}

function alwaysProblems(step: StepDefinition): DefinitionProblem[] {
  if (!step.always) return [];
  const problems: DefinitionProblem[] = [];
  const refuse = (path: string, message: string) => void problems.push({ path, message });
  if (step.compensate)
    refuse("compensate", "is an always step, which runs after all undoing: remove its compensate");
  if (step.pivot)
    refuse(
      "pivot",
      "is an always step, after which there is nothing to go back from: remove pivot",
    );
  if (step.onFailure === "compensate" || step.onFailure === "fail")
    refuse(
      "on_failure",
      `is an always step, and how the run ends is certain by then: on_failure can be continue or escalate, not ${step.onFailure}`,
    );
  return problems;
}

function codeProblems(step: StepDefinition): DefinitionProblem[] {
  const lists = [
    ["retry", step.retry],
    ["verify.retry", step.verify?.retry],
    ["compensate.retry", step.compensate?.retry],
  ] as const;
  return lists.flatMap(([path, policies]) =>
    (policies ?? []).flatMap(({ on }, policy) =>
      (on ?? []).flatMap((code, index) => {
        const message = unknownCode(code);
        return message === null ? [] : [{ path: `${path}[${policy}].on[${index}]`, message }];
      }),
    ),
  );
}

function unknownCode(code: string): string | null {
  if (!code.startsWith(ENGINE_PREFIX)) return null;
  const word = code.slice(ENGINE_PREFIX.length);
  if (ENGINE_CODES.includes(word)) return null;
  const near = nearestWord(word, ENGINE_CODES);
  const hint =
    near === null
      ? `those are ${ENGINE_CODES.map((known) => ENGINE_PREFIX + known).join(", ")}`
      : `did you mean "${ENGINE_PREFIX}${near}"?`;
  return `retries on "${code}", which is no code of the engine: ${hint}`;
}

function schemaProblem(schema: Payload | undefined, path: string): DefinitionProblem[] {
  const message = notSchema(schema);
  return message === null ? [] : [{ path, message: `has a schema that ${message}` }];
}

/** Why a payload cannot be a JSON Schema, whatever its content; null: it may be one. */
export function notSchema(schema: Payload | undefined): string | null {
  if (schema === undefined) return null;
  if (schema.kind !== "json")
    return `is no JSON but ${schema.contentType}: send it as a JSON payload`;
  const value = parsed(schema);
  return isObject(value) || typeof value === "boolean"
    ? null
    : "is neither an object nor true or false: write it as { type: object, ... }";
}

function isJsonObject(payload: Payload): boolean {
  return payload.kind === "json" && isObject(parsed(payload));
}

/** A JSON string that may become an object when it is rendered. */
function isExpression(payload: Payload): boolean {
  const value = payload.kind === "json" ? parsed(payload) : null;
  return typeof value === "string" && value.includes(EXPRESSION);
}

function parsed(payload: Payload & { readonly kind: "json" }): unknown {
  try {
    return JSON.parse(payload.json);
  } catch {
    return null;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
