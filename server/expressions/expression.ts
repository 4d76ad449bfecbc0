// An expression: compiled once for the names that it may use, and evaluated over the facts of a
// run. Facts do not change once an expression may see them, and there is no clock, so an evaluation
// gives the same result every time.
import { type CelInput, type CelResult, celMap, isCelError, plan } from "@bufbuild/cel";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { checkExpression, type References } from "./check.ts";
import { environment, useMeter } from "./environment.ts";
import { failureText } from "./failure-text.ts";
import { bytesOfJson, celOfJson, type Json, jsonOfCel, type Room } from "./json.ts";
import { COMPILE_COST_MAX, COST_MAX, createMeter, type Meter } from "./meter.ts";
import { meteredTree } from "./metered.ts";
import { type Place, type Problem, parseExpression, placeOf } from "./syntax.ts";
import {
  articled,
  type ExpressionScope,
  mayBe,
  nameOfType,
  type StepStatus,
  scalar,
} from "./types.ts";

export interface StepFacts {
  readonly status: StepStatus;
  /** null for a step that was skipped or failed; undefined if the output is not JSON. */
  readonly output: Json | undefined;
  /** Set if the step failed. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface RunFacts {
  readonly id: string;
  readonly workflow: string;
  /** 0 for a definition that was sent with the run. */
  readonly version: number;
  readonly labels: Readonly<Record<string, string>>;
  /** "" if the run has no key. */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly createdTimeMs: number;
}

export interface Facts {
  /** undefined if the run's input is not JSON. */
  readonly input: Json | undefined;
  readonly run: RunFacts;
  /** Inside a map. */
  readonly item?: Json;
  /** At least the steps that the expression refers to. */
  readonly steps: ReadonlyMap<string, StepFacts>;
}

/** Facts of an expression outside of a workflow; its scope names them. */
export interface NamedFacts {
  readonly named: ReadonlyMap<string, Json>;
}

/** Limits of one evaluation, or of all evaluations of one template together. */
export interface Limits {
  /** In units of `meter.ts`. */
  readonly cost: number;
  /** Bytes of the resulting JSON. */
  readonly bytes: number;
}

export const LIMITS_DEFAULT: Limits = Object.freeze({ cost: COST_MAX, bytes: 256 * 1024 });

export interface Expression {
  readonly text: string;
  /** Ids of the steps that it refers to. */
  readonly steps: readonly string[];
  readonly refers: References;
  /** The library's program: variables to a value or an error. Call `evaluate` instead. */
  readonly program: (variables: Readonly<Record<string, CelInput>>) => CelResult;
  readonly placeOf: (id: bigint) => Place;
}

export type Compiled<T> =
  | { readonly ok: true; readonly expression: T }
  | ({ readonly ok: false } & Problem);

export type Evaluation =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly message: string };

export interface CompileOptions {
  /** Default: "any". */
  readonly wanted?: "any" | "bool" | "timestamp";
  /** Where the text begins in the text that people see. Default: at its beginning. */
  readonly origin?: Place;
  /** The meter for compiling, shared by all expressions of one definition. */
  readonly meter?: Meter;
}

/** Measured: parsing and checking take 5 microseconds for each character. */
const UNITS_PER_CHARACTER = 50;
const CHARACTERS_MAX = COMPILE_COST_MAX / UNITS_PER_CHARACTER;
const TOO_MUCH = `the expressions of this workflow have more than ${CHARACTERS_MAX} characters together, or patterns and schemas take their share: split the workflow`;

/** A problem comes with its first position in the text. */
export function compileExpression(
  text: string,
  scope: ExpressionScope,
  options: CompileOptions = {},
): Compiled<Expression> {
  const { wanted = "any", origin = { line: 1, column: 1 } } = options;
  const { meter = createMeter(COMPILE_COST_MAX) } = options;
  const place = (at: number) => placeFrom(origin, placeOf(text, at));
  const refused = (message: string, at: number) => ({ ok: false, message, ...place(at) }) as const;
  meter.left -= UNITS_PER_CHARACTER * text.length;
  if (meter.left < 0) return refused(TOO_MUCH, 0);
  const syntax = parseExpression(text);
  if (!syntax.ok) return refused(syntax.message, syntax.at);
  const { tree } = syntax;
  const { type, findings, refers } = checkExpression(text, tree, scope, meter);
  const [first] = findings;
  if (first) return refused(first.message, first.at);
  const start = text.length - text.trimStart().length;
  if (nameOfType(type) === "type") return refused("this is a type and no value", start);
  if (wanted !== "any" && !mayBe(type, scalar(wanted)))
    return refused(`this is ${articled(type)}, where a ${wanted} is needed`, start);
  const expression: Expression = Object.freeze({
    text,
    steps: refers.steps,
    refers,
    program: plan(environment, meteredTree(tree.root)),
    placeOf: (id: bigint) => place(tree.offsetOf(id)),
  });
  return { ok: true, expression };
}

/** Adds a position in a text to the position where that text begins. */
function placeFrom(origin: Place, { line, column }: Place): Place {
  if (line > 1) return { line: origin.line + line - 1, column };
  return { line: origin.line, column: origin.column + column - 1 };
}

/** Never throws, and ends within its limits whatever the expression and the facts are. */
export function evaluate(
  expression: Expression,
  facts: Facts | NamedFacts,
  limits: Limits = LIMITS_DEFAULT,
): Evaluation {
  const room = { left: limits.bytes };
  const result = evaluateWithin(expression, facts, createMeter(limits.cost), room);
  return withinBytes(result, limits.bytes);
}

/** Checks the exact size: the room counted during the conversion ignores escapes and UTF-8. */
export function withinBytes(result: Evaluation, bytes: number): Evaluation {
  if (!result.ok || bytesOfJson(result.value) <= bytes) return result;
  return { ok: false, message: `the result is larger than a payload may be, ${bytes} bytes` };
}

/** The same, if several evaluations share their limits. */
export function evaluateWithin(
  expression: Expression,
  facts: Facts | NamedFacts,
  meter: Meter,
  room: Room,
): Evaluation {
  // An evaluation may create ten thousand errors as values: without stacks they take a tenth of the
  // time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const variables = variablesOf(expression.refers, facts);
    useMeter(meter);
    const result = expression.program(variables);
    if (meter.left < 0) return failed(expression, "it takes more work than one evaluation may");
    if (isCelError(result)) return failed(expression, result.message, result.exprId);
    const value = jsonOfCel(result, room);
    return { ok: true, value };
  } catch (error) {
    return failed(expression, error instanceof Error ? error.message : String(error));
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function failed({ text, placeOf: place }: Expression, why: string, id?: bigint): Evaluation {
  const message = failureText(why);
  const shown = failureText(text.trim());
  const cut = shown.length > 80 ? `${shown.slice(0, 80)}...` : shown;
  if (id === undefined) return { ok: false, message: `${cut}: ${message}` };
  const { line, column } = place(id);
  return { ok: false, message: `${cut}: ${message} (line ${line}, column ${column})` };
}

function variablesOf(
  refers: References,
  facts: Facts | NamedFacts,
): Readonly<Record<string, CelInput>> {
  const variables: Record<string, CelInput> = {};
  if ("named" in facts) {
    for (const name of refers.variables) variables[name] = celOfJson(facts.named.get(name) ?? null);
    return variables;
  }
  const { input, run, item, steps } = facts;
  for (const name of refers.variables) {
    if (name === "input") {
      if (input === undefined) throw new Error("the run's input is not JSON, so it has no fields");
      variables.input = celOfJson(input);
    } else if (name === "item") variables.item = celOfJson(item ?? null);
    else if (name === "run") variables.run = celOfRun(run);
    else variables.steps = celOfSteps(refers, steps);
  }
  return variables;
}

function celOfRun({ id, workflow, version, labels, key, createdTimeMs }: RunFacts): CelInput {
  return celMap(
    new Map<string, CelInput>([
      ["id", id],
      ["workflow", workflow],
      ["version", BigInt(version)],
      ["labels", celMap(new Map(Object.entries(labels)))],
      ["key", key],
      ["created_time", timestampFromMs(createdTimeMs)],
    ]),
  );
}

function celOfSteps(refers: References, steps: Facts["steps"]): CelInput {
  const entries = refers.steps.map((id): [string, CelInput] => {
    const facts = steps.get(id);
    if (!facts) throw new Error(`the result of step "${id}" is not known`);
    if (facts.output === undefined && refers.outputs.includes(id))
      throw new Error(`the output of step "${id}" is not JSON, so it has no fields`);
    const { status, output = null, error } = facts;
    return [
      id,
      celMap(
        new Map<string, CelInput>([
          ["status", status],
          ["output", celOfJson(output)],
          ["error", error && celMap(new Map(Object.entries({ ...error })))],
        ]),
      ),
    ];
  });
  return celMap(new Map(entries));
}
