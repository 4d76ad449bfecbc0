/**
 * Expressions of a ready-made agent: CEL, with the functions and the limits of the expressions in a
 * workflow, over what the agent knows about its task and about the answer that it got.
 */

import { PermanentError, type Task } from "@drover/sdk";
import {
  compileExpression,
  type Evaluation,
  type Expression,
  evaluate,
} from "@drover/server/expressions/expression.ts";
import type { Json } from "@drover/server/expressions/json.ts";
import { compileCondition } from "@drover/server/expressions/template.ts";
import {
  ANY,
  type ExpressionScope,
  scalar,
  type ValueType,
} from "@drover/server/expressions/types.ts";

/** What expressions may read, by name. */
export type Facts = ReadonlyMap<string, Json>;

/**
 *     key             perform: the idempotency key; verify, undo: that of the effect in question
 *     output          undo: the output of the step; null: it is unknown
 *     details         what an earlier attempt has stored; null: nothing
 *     fence           grows with each hand-out
 *     callback_token  perform: for a service that reports the outcome itself
 */
const TASK_NAMES: ReadonlyMap<string, ValueType> = new Map([
  ["key", scalar("string")],
  ["output", ANY],
  ["details", ANY],
  ["fence", scalar("int")],
  ["callback_token", scalar("string")],
]);

export function scopeWith(more: ReadonlyMap<string, ValueType>): ExpressionScope {
  const names = new Map([...TASK_NAMES, ...more]);
  return Object.freeze({ steps: [], allSteps: [], hasItem: false, names });
}

export function factsOf(task: Task): Facts {
  const known: [string, Json][] = [
    ["key", keyOf(task)],
    ["output", jsonOf(task.output())],
    ["details", jsonOf(task.lastDetails())],
    ["fence", task.fence],
    ["callback_token", task.callbackToken],
  ];
  return new Map(known);
}

/** The key under which the effect in question is made, or would have been made. */
export function keyOf({ kind, idempotencyKey, effectKey }: Task): string {
  return kind === "perform" ? idempotencyKey : effectKey;
}

/** Payloads that are not JSON have no fields. */
export function jsonOf(value: unknown): Json {
  if (value === undefined || value instanceof Uint8Array) return null;
  const json: Json = JSON.parse(JSON.stringify(value));
  return json;
}

/** Throws PermanentError for a text that is no expression of these names. */
export function compiled(
  text: string,
  scope: ExpressionScope,
  path: string,
  wanted: "any" | "bool" = "any",
): Expression {
  const found =
    wanted === "bool" ? compileCondition(text, scope) : compileExpression(text, scope, { wanted });
  if (found.ok) return found.expression;
  const { message, line, column } = found;
  throw badInput(`${path}: ${message} (line ${line}, column ${column} of the expression)`);
}

export function evaluated(expression: Expression, named: Facts): Evaluation {
  return evaluate(expression, { named });
}

/** Nothing was sent or run for a task with such an input. */
export function badInput(message: string): PermanentError {
  return new PermanentError("bad-input", `The input of the step cannot be used: ${message}`);
}
