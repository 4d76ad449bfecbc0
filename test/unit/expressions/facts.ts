// A run to evaluate over, and short ways to ask.
import {
  compileExpression,
  type Evaluation,
  evaluate,
  type Facts,
  type Limits,
} from "../../../server/expressions/expression.ts";
import type { Json } from "../../../server/expressions/json.ts";
import type { ExpressionScope } from "../../../server/expressions/types.ts";

export const scope: ExpressionScope = {
  steps: ["flight", "book-hotel", "a", "a.b"],
  allSteps: ["flight", "book-hotel", "a", "a.b", "car", "confirm"],
  hasItem: false,
};

export const inMap: ExpressionScope = { ...scope, hasItem: true };

export function factsOf(input: Json | undefined): Facts {
  return {
    input,
    run: {
      id: "r-1",
      workflow: "book-holiday",
      version: 3,
      labels: { team: "travel" },
      key: "",
      createdTimeMs: Date.UTC(2026, 2, 29, 2, 30),
    },
    item: { host: "h1" },
    steps: new Map([
      ["flight", { status: "SUCCEEDED", output: { price: 120, legs: [1, 2] }, error: null }],
      [
        "book-hotel",
        { status: "FAILED", output: null, error: { code: "no-room", message: "none left" } },
      ],
      ["a", { status: "SKIPPED", output: null, error: null }],
      ["a.b", { status: "SUCCEEDED", output: undefined, error: null }],
    ]),
  };
}

export const facts = factsOf({
  n: 2,
  price: 3,
  factor: 1.5,
  name: "Ann",
  wants_car: true,
  none: null,
  list: [1, 2, 3],
  "some key": { deep: "x" },
});

/** The value, or the message of what is wrong. */
export function outcome(text: string, over = facts, limits?: Limits): Json {
  const compiled = compileExpression(text, inMap);
  if (!compiled.ok) return `${compiled.line}:${compiled.column} ${compiled.message}`;
  const found: Evaluation = evaluate(compiled.expression, over, limits);
  return found.ok ? found.value : `failed: ${found.message}`;
}

/** `line:column message` of what is refused when it is compiled. */
export function refusal(text: string, within = scope): string {
  const compiled = compileExpression(text, within);
  return compiled.ok ? "is not refused" : `${compiled.line}:${compiled.column} ${compiled.message}`;
}
