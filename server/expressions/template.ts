// A JSON payload with expressions in its texts.
//
//   "${input.seats}"            the value, with its type
//   "Dear ${input.name}"        a text: texts as they are, other values as JSON
//   "costs $${price}"           the text "costs ${price}"
//
// Keys are never computed, so the shape of a payload can be read from its workflow.
import {
  type Compiled,
  type CompileOptions,
  compileExpression,
  type Evaluation,
  type Expression,
  evaluateWithin,
  type Facts,
  LIMITS_DEFAULT,
  type Limits,
  type NamedFacts,
  withinBytes,
} from "./expression.ts";
import { bytesOfJson, isJsonObject, type Json, type Room, take } from "./json.ts";
import { COMPILE_COST_MAX, createMeter, type Meter } from "./meter.ts";
import { type Problem, placeOf } from "./syntax.ts";
import { tokensOf } from "./tokens.ts";
import type { ExpressionScope } from "./types.ts";

type Node =
  | { readonly kind: "constant"; readonly value: Json; readonly bytes: number }
  | { readonly kind: "value"; readonly path: string; readonly expression: Expression }
  | { readonly kind: "text"; readonly path: string; readonly parts: readonly Part[] }
  | { readonly kind: "list"; readonly items: readonly Node[] }
  | { readonly kind: "object"; readonly fields: readonly (readonly [string, Node])[] };

type Part = string | Expression;

export interface Template {
  readonly root: Node;
  /** Ids of the steps that its expressions refer to. */
  readonly steps: readonly string[];
}

/** A problem with the path of its text, as `input.travellers[0].name`. */
type TemplateProblem = { readonly path: string } & Problem;

type CompiledTemplate =
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly problems: readonly TemplateProblem[] };

/** Most levels of a payload; the same limit as for all JSON in expressions. */
const DEPTH_MAX = 200;

/** What the parts of one template are compiled with, and what was found in them so far. */
interface Compilation {
  readonly scope: ExpressionScope;
  readonly meter: Meter;
  readonly problems: TemplateProblem[];
  /** Ids of the steps that its expressions refer to. */
  readonly steps: Set<string>;
}

/** `path` is the prefix of all paths in the payload. */
export function compileTemplate(
  payload: Json,
  scope: ExpressionScope,
  path: string,
  meter: Meter = createMeter(COMPILE_COST_MAX),
): CompiledTemplate {
  const compilation: Compilation = { scope, meter, problems: [], steps: new Set() };
  const root = nodeOf(compilation, payload, path, 0);
  const { problems, steps } = compilation;
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, template: Object.freeze({ root, steps: [...steps] }) };
}

function nodeOf(compilation: Compilation, value: Json, at: string, depth: number): Node {
  if (depth > DEPTH_MAX) {
    compilation.problems.push({ path: at, message: "is nested too deep", line: 1, column: 1 });
    return constant(null);
  }
  if (typeof value === "string") return textNode(compilation, value, at);
  if (isJsonObject(value)) {
    const fields = Object.entries(value).map(([key, item]): readonly [string, Node] => {
      const name = keyOf(compilation, key, at);
      return [name, nodeOf(compilation, item, pathTo(at, key), depth + 1)];
    });
    if (fields.some(([, node]) => node.kind !== "constant")) return { kind: "object", fields };
    return constant(Object.fromEntries(fields.map(([key, node]) => [key, constantOf(node)])));
  }
  if (!Array.isArray(value)) return constant(value);
  const items = value.map((item: Json, no) => nodeOf(compilation, item, `${at}[${no}]`, depth + 1));
  if (items.some((node) => node.kind !== "constant")) return { kind: "list", items };
  return constant(items.map(constantOf));
}

function textNode(compilation: Compilation, text: string, at: string): Node {
  const parts = splitTemplate(text)
    .map((split) => partOf(compilation, split, text, at))
    .filter((part) => part !== null);
  const [only] = parts;
  if (parts.length === 1 && typeof only === "object")
    return { kind: "value", path: at, expression: only };
  if (parts.every((part) => typeof part === "string")) return constant(parts.join(""));
  return { kind: "text", path: at, parts };
}

/** null if the part has a problem. */
function partOf(
  { scope, meter, problems, steps }: Compilation,
  split: Split,
  text: string,
  path: string,
): Part | null {
  if (split.kind === "text") return split.text;
  const origin = placeOf(text, split.at);
  if (split.kind === "broken") {
    problems.push({ path, message: split.message, ...origin });
    return null;
  }
  const compiled = compileExpression(split.text, scope, { origin, meter });
  if (!compiled.ok) {
    const { message, line, column } = compiled;
    problems.push({ path, message, line, column });
    return null;
  }
  for (const id of compiled.expression.steps) steps.add(id);
  return compiled.expression;
}

function keyOf({ problems }: Compilation, key: string, at: string): string {
  const parts = splitTemplate(key);
  const found = parts.find((part) => part.kind !== "text");
  if (found) {
    const message = `the key "${key}" is computed: keys are written as they are, $\${ for a literal \${`;
    problems.push({ path: at, message, ...placeOf(key, found.at) });
  }
  return parts.map(({ text }) => text).join("");
}

function constant(value: Json): Node {
  return { kind: "constant", value, bytes: bytesOfJson(value) };
}

function constantOf(node: Node): Json {
  return node.kind === "constant" ? node.value : null;
}

function pathTo(path: string, key: string): string {
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(key)
    ? `${path}.${key}`
    : `${path}[${JSON.stringify(key)}]`;
}

interface Split {
  readonly kind: "text" | "expression" | "broken";
  readonly text: string;
  readonly at: number;
  /** Set if the kind is "broken". */
  readonly message: string;
}

function splitTemplate(text: string): readonly Split[] {
  const parts: Split[] = [];
  let literal = "";
  for (let at = 0; at < text.length; ) {
    if (text.startsWith("$${", at)) {
      literal += "${";
      at += 3;
    } else if (text.startsWith("${", at)) {
      if (literal) parts.push({ kind: "text", text: literal, at, message: "" });
      literal = "";
      const scanned = tokensOf(text, at + 2, true);
      if (!scanned.ok) {
        const { message } = scanned;
        return [...parts, { kind: "broken", text: "", at: scanned.at, message }];
      }
      const inner = text.slice(at + 2, scanned.end);
      parts.push({ kind: "expression", text: inner, at: at + 2, message: "" });
      at = scanned.end + 1;
    } else literal += text[at++];
  }
  if (literal || parts.length === 0)
    parts.push({ kind: "text", text: literal, at: 0, message: "" });
  return parts;
}

/** Never throws; all expressions of the template share the limits. */
export function renderTemplate(
  { root }: Template,
  facts: Facts | NamedFacts,
  limits: Limits = LIMITS_DEFAULT,
): Evaluation {
  const render: Render = { facts, meter: createMeter(limits.cost), room: { left: limits.bytes } };
  return withinBytes(renderNode(root, render), limits.bytes);
}

interface Render {
  readonly facts: Facts | NamedFacts;
  readonly meter: Meter;
  readonly room: Room;
}

function renderNode(node: Node, render: Render): Evaluation {
  switch (node.kind) {
    case "constant":
      return spend(node.bytes, node.value, render);
    case "value":
      return evaluatePart(node.expression, node.path, render);
    case "text":
      return renderText(node.parts, node.path, render);
    case "list": {
      const items: Json[] = [];
      for (const item of node.items) {
        const result = renderNode(item, render);
        if (!result.ok) return result;
        items.push(result.value);
      }
      return { ok: true, value: items };
    }
    case "object": {
      const fields: [string, Json][] = [];
      for (const [key, item] of node.fields) {
        const result = renderNode(item, render);
        if (!result.ok) return result;
        fields.push([key, result.value]);
      }
      return { ok: true, value: Object.fromEntries(fields) };
    }
  }
}

function renderText(parts: readonly Part[], path: string, render: Render): Evaluation {
  let text = "";
  for (const part of parts) {
    const result =
      typeof part === "string"
        ? spend(part.length, part, render)
        : evaluatePart(part, path, render);
    if (!result.ok) return result;
    text += typeof result.value === "string" ? result.value : JSON.stringify(result.value);
  }
  return { ok: true, value: text };
}

function evaluatePart(expression: Expression, path: string, render: Render): Evaluation {
  const result = evaluateWithin(expression, render.facts, render.meter, render.room);
  return result.ok ? result : { ok: false, message: `${path}: ${result.message}` };
}

function spend(bytes: number, value: Json, { room }: Render): Evaluation {
  try {
    take(room, bytes);
    return { ok: true, value };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}

/** A condition such as `when`: an expression, with or without `${...}` around it. */
export function compileCondition(
  text: string,
  scope: ExpressionScope,
  meter: Meter = createMeter(COMPILE_COST_MAX),
): Compiled<Expression> {
  return compileWrapped(text, scope, { wanted: "bool", meter });
}

/** The time when a wait ends, as in `until`: a timestamp, or a text, as JSON has no timestamps. */
export function compileTime(
  text: string,
  scope: ExpressionScope,
  meter: Meter = createMeter(COMPILE_COST_MAX),
): Compiled<Expression> {
  return compileWrapped(text, scope, { wanted: "timestamp", meter });
}

/** The list of a map: a list, or a number of items. */
export function compileList(
  text: string,
  scope: ExpressionScope,
  meter: Meter = createMeter(COMPILE_COST_MAX),
): Compiled<Expression> {
  return compileWrapped(text, scope, { wanted: "any", meter });
}

function compileWrapped(
  text: string,
  scope: ExpressionScope,
  options: CompileOptions,
): Compiled<Expression> {
  const start = text.length - text.trimStart().length;
  if (!text.startsWith("${", start)) return compileExpression(text, scope, options);
  const scanned = tokensOf(text, start + 2, true);
  if (!scanned.ok) return { ok: false, message: scanned.message, ...placeOf(text, scanned.at) };
  const rest = text.slice(scanned.end + 1);
  if (rest.trim() !== "") {
    const at = scanned.end + 1 + rest.length - rest.trimStart().length;
    const message = `"\${...}" is all of a condition or nothing: remove what follows, or the braces`;
    return { ok: false, message, ...placeOf(text, at) };
  }
  const inner = text.slice(start + 2, scanned.end);
  return compileExpression(inner, scope, { ...options, origin: placeOf(text, start + 2) });
}

/**
 * Merges the input of a fallback over the step's input, key by key. Nested objects are replaced,
 * not merged.
 */
export function mergeInput(base: Json, override: Json): Evaluation {
  if (!isJsonObject(override)) return { ok: true, value: override };
  if (isJsonObject(base)) return { ok: true, value: { ...base, ...override } };
  const what = base === null ? "null" : Array.isArray(base) ? "a list" : `a ${typeof base}`;
  return {
    ok: false,
    message: `the fallback's input names keys, and the step's input is ${what}: only an object can be merged with`,
  };
}
