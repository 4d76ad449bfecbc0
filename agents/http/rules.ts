/**
 * The rules by which an exchange becomes the outcome of a task. They are pure.
 *
 * The question is always whether the request may have taken effect. Where the answer does not say
 * so for certain, the outcome is unknown, and the step's `effects` decides what follows. A request
 * by a safe method has no effect; what would be unknown is then a transient failure.
 */
import type { Evaluation, Expression } from "@drover/server/expressions/expression.ts";
import type { Json } from "@drover/server/expressions/json.ts";
import { compiled, evaluated, type Facts } from "../facts.ts";
import {
  ANSWER_SCOPE,
  type Answer,
  fitsStatus,
  outputOf,
  responseOf,
  retryAfterMs,
} from "./answer.ts";
import type { Exchange } from "./exchange.ts";
import type { AnswerRule, OperationInput, StatusPattern } from "./input.ts";

export type Conclusion =
  | { readonly kind: "success"; readonly output: Json }
  /** It is done, and its output cannot be reported. */
  | { readonly kind: "output-lost"; readonly problem: string }
  | { readonly kind: "deferred" }
  /** Accepted: the result will be at this address of the same host. */
  | { readonly kind: "accepted"; readonly location: string; readonly afterMs: number | null }
  | {
      readonly kind: "transient";
      readonly code: string;
      readonly message: string;
      readonly afterMs: number | null;
      /** Nothing exists, neither from this attempt nor from an earlier one. */
      readonly noEffect: boolean;
    }
  | {
      readonly kind: "permanent";
      readonly code: string;
      readonly message: string;
      readonly noEffect: boolean;
    }
  | { readonly kind: "unknown"; readonly code: string; readonly message: string };

/** All but an acceptance, after which the task goes on. */
export type RuledConclusion = Exclude<Conclusion, { readonly kind: "accepted" }>;

/** An operation with its expressions compiled, so that a mistake is found before it is sent. */
export interface Rules {
  readonly statuses: readonly StatusPattern[] | null;
  readonly when: Expression | null;
  readonly output: Expression | null;
  readonly answers: readonly (AnswerRule & { readonly condition: Expression | null })[];
  readonly until: Expression | null;
}

/** Throws PermanentError for a text that is no expression. */
export function rulesOf(input: OperationInput, path: string): Rules {
  const { success, answers = [], output, poll } = input;
  const condition = (text: string | undefined, at: string) =>
    text === undefined ? null : compiled(text, ANSWER_SCOPE, `${path}${at}`, "bool");
  return {
    statuses: success?.status ?? null,
    when: condition(success?.when, "success.when"),
    output: output === undefined ? null : compiled(output, ANSWER_SCOPE, `${path}output`),
    answers: answers.map((rule, at) => ({
      ...rule,
      condition: condition(rule.when, `answers[${at}].when`),
    })),
    until: condition(poll?.until, "poll.until"),
  };
}

export interface Circumstances {
  /** As messages name it: method and URL without its query. */
  readonly what: string;
  readonly isSafe: boolean;
  /** No earlier hand-out of the step can have left an effect. */
  readonly isFirst: boolean;
  readonly facts: Facts;
  readonly nowMs: number;
}

export function conclude(
  exchange: Exclude<Exchange, { kind: "stopped" }>,
  rules: Rules,
  of: Circumstances,
  read: (answer: Extract<Exchange, { kind: "answered" }>["answer"]) => Answer,
): Conclusion {
  if (exchange.kind === "answered") return concludeAnswer(read(exchange.answer), rules, of);
  const { code } = exchange;
  const message = `${of.what}: ${exchange.message}`;
  if (exchange.kind === "no-answer") return inDoubt(code, message, of);
  const noEffect = of.isFirst;
  if (exchange.isFinal) return { kind: "permanent", code, message, noEffect };
  return { kind: "transient", code, message, afterMs: null, noEffect };
}

function concludeAnswer(answer: Answer, rules: Rules, of: Circumstances): Conclusion {
  const ruled = concludeByRules(answer, rules, of);
  if (ruled) return ruled;
  if (isSuccessStatus(answer.status, rules.statuses)) return concludeSuccess(answer, rules, of);
  if (answer.status === 202) return accepted(answer, of);
  return byStatus(answer, of);
}

/** By the first of the step's own `answers` that fits; null: none does. */
export function concludeByRules(
  answer: Answer,
  rules: Rules,
  of: Circumstances,
): RuledConclusion | null {
  const facts = factsWith(answer, of.facts);
  for (const rule of rules.answers) {
    if (rule.status && !fitsStatus(answer.status, rule.status)) continue;
    const found = isTrue(rule.condition, facts);
    if (found.kind === "failed") return inDoubt("expression-failed", found.message, of);
    if (found.kind === "true") return byRule(rule, answer, rules, of);
  }
  return null;
}

/** 202 says nothing about the result: it is a success only where the step names it. */
export function isSuccessStatus(status: number, named: readonly StatusPattern[] | null): boolean {
  if (status === 202) return named?.includes(202) ?? false;
  return fitsStatus(status, named ?? ["2xx"]);
}

function byRule(
  rule: AnswerRule,
  answer: Answer,
  rules: Rules,
  of: Circumstances,
): RuledConclusion {
  const { outcome, code = `http-${answer.status}`, no_effect: noEffect = false } = rule;
  const message = sentence(answer, of);
  switch (outcome) {
    case "success":
      return outputBy(answer, rules, of);
    case "deferred":
      return { kind: "deferred" };
    case "transient":
      return { kind: outcome, code, message, afterMs: retryAfterMs(answer, of.nowMs), noEffect };
    case "permanent":
      return { kind: outcome, code, message, noEffect };
    case "unknown":
      return { kind: outcome, code, message };
  }
}

export function concludeSuccess(answer: Answer, rules: Rules, of: Circumstances): RuledConclusion {
  if (answer.lacks !== null && rules.when !== null)
    return inDoubt("answer-unreadable", `${sentence(answer, of)}: ${LACKS[answer.lacks]}`, of);
  if (answer.lacks === "cut")
    return inDoubt("answer-unreadable", `${sentence(answer, of)}: ${LACKS.cut}`, of);
  const found = isTrue(rules.when, factsWith(answer, of.facts));
  if (found.kind === "failed") return inDoubt("expression-failed", found.message, of);
  if (found.kind === "true") return outputBy(answer, rules, of);
  return inDoubt("unexpected-answer", `${sentence(answer, of)}: success.when is false`, of);
}

const LACKS: Readonly<Record<NonNullable<Answer["lacks"]>, string>> = Object.freeze({
  cut: "its body was cut off",
  "too-large": "its body is larger than `answer_bytes` of the agent",
  encoded: "its body has an encoding that was not asked for",
});

/** The effect exists: whatever is wrong with the output does not change that. */
function outputBy(answer: Answer, rules: Rules, of: Circumstances): RuledConclusion {
  if (answer.lacks !== null) return { kind: "output-lost", problem: LACKS[answer.lacks] };
  if (rules.output === null) return { kind: "success", output: outputOf(answer) };
  const found = evaluated(rules.output, factsWith(answer, of.facts));
  if (found.ok) return { kind: "success", output: found.value };
  return { kind: "output-lost", problem: `the expression of the output: ${found.message}` };
}

function accepted(answer: Answer, of: Circumstances): Conclusion {
  const { location } = answer.headers;
  const message = sentence(answer, of);
  if (location === undefined)
    return inDoubt("no-location", `${message}: accepted, and no Location says where to look`, of);
  return { kind: "accepted", location, afterMs: retryAfterMs(answer, of.nowMs) };
}

/** What a status says by itself, for what is no success. */
function byStatus(answer: Answer, of: Circumstances): Conclusion {
  const { status } = answer;
  const code = `http-${status}`;
  const message = sentence(answer, of);
  const afterMs = retryAfterMs(answer, of.nowMs);
  const transient = { kind: "transient", code, message, afterMs, noEffect: false } as const;
  const permanent = { kind: "permanent", code, message, noEffect: false } as const;
  switch (status) {
    case 425: // Too Early: refused because it might be a replay.
    case 429:
      return transient;
    case 503:
      return afterMs === null ? inDoubt(code, message, of) : transient;
    case 409:
      // The request of an earlier attempt with this key may still be in progress.
      return of.isFirst ? permanent : inDoubt(code, message, of);
    case 408:
    case 499: // Of proxies: the connection was closed before the service had answered.
      return inDoubt(code, message, of);
    case 307:
    case 308:
      return permanent;
    default:
      if (status >= 400 && status < 500) return permanent;
      // A redirect after a POST often says that it was done.
      if (status >= 300 && status < 400 && of.isSafe) return permanent;
      return inDoubt(code, message, of);
  }
}

function inDoubt(code: string, message: string, { isSafe }: Circumstances): RuledConclusion {
  if (!isSafe) return { kind: "unknown", code, message };
  return { kind: "transient", code, message, afterMs: null, noEffect: false };
}

export function sentence({ status, excerpt }: Answer, { what }: Circumstances): string {
  return `${what} answered ${status}${excerpt === "" ? "" : `: ${excerpt}`}`;
}

export function factsWith(answer: Answer, facts: Facts): Facts {
  return new Map([...facts, ["response", responseOf(answer)]]);
}

type Truth =
  | { readonly kind: "true" }
  | { readonly kind: "false" }
  | { readonly kind: "failed"; readonly message: string };

/** Without a condition: true. */
export function isTrue(condition: Expression | null, facts: Facts): Truth {
  if (condition === null) return { kind: "true" };
  const found: Evaluation = evaluated(condition, facts);
  if (!found.ok) return { kind: "failed", message: found.message };
  if (typeof found.value === "boolean") return { kind: found.value ? "true" : "false" };
  return { kind: "failed", message: `${condition.text}: it is not true or false` };
}
