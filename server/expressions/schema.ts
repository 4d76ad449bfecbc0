// JSON Schema (2020-12) for inputs and outputs, on ajv. Any author of a workflow may write schemas
// and patterns, so the cost of a check is bounded like that of an expression: patterns run on RE2,
// and each subschema that is entered is charged, since a `$ref` next to a `$ref` doubles the work
// with every level of a value.

import type { ErrorObject, FuncKeywordDefinition, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { ValueScope } from "ajv/dist/compile/codegen/index.js";
import { nearestWord } from "../core/definition/nearest-word.ts";
import { failureText } from "./failure-text.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import { COMPILE_COST_MAX, COST_MAX, charge, createMeter, type Meter } from "./meter.ts";
import { compilePattern, patternProblem, testPattern } from "./pattern.ts";

type CompiledSchema =
  | {
      readonly ok: true;
      /** `showsValue`: the problem quotes what the value has at its place. Default false. */
      readonly check: (value: Json, showsValue?: boolean) => string | null;
    }
  | {
      readonly ok: false;
      readonly message: string;
      /** The path of the part of the schema, as `properties.name`; "" for the schema itself. */
      readonly path: string;
    };

/** Most subschemas of one schema. */
const SUBSCHEMAS_MAX = 1_000;
const DEPTH_MAX = 60;
/** Compiling takes 200 microseconds for each subschema. */
const UNITS_PER_PART = 2_000;
const DIALECT = "https://json-schema.org/draft/2020-12/schema";
/**
 * A keyword added to each subschema; its value is the cost of entering it. Authors cannot write it.
 */
const PRICE = "drover:price";

/** Keywords whose value is a subschema, a list of subschemas, or a map of them. */
const one = new Set(
  "items contains not if then else additionalProperties propertyNames unevaluatedItems unevaluatedProperties contentSchema".split(
    " ",
  ),
);
const several = new Set("allOf anyOf oneOf prefixItems".split(" "));
const named = new Set("properties patternProperties $defs dependentSchemas".split(" "));

/** Keywords of ajv, or of other dialects. */
const refusedKeywords = new Set(
  "$async $recursiveAnchor $recursiveRef $vocabulary definitions dependencies id nullable".split(
    " ",
  ),
);

const NEVER = "no value matches the schema, which is false";

const formats: Readonly<Record<string, RegExp>> = {
  date: /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/,
  "date-time":
    /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[-+]\d\d:\d\d)$/,
  email: /^[^\s@]+@[^\s@]+$/,
  time: /^\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[-+]\d\d:\d\d)$/,
  uri: /^[A-Za-z][-+.A-Za-z0-9]*:\S*$/,
  uuid: /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/,
};

/** The meter of the current check. A check is one synchronous call. */
let meter: Meter = createMeter(0);

function pattern(source: string) {
  compilePattern(source);
  // ajv treats two patterns as one if their texts are equal.
  return { test: (text: string) => testPattern(source, text, meter), toString: () => source };
}

const price: FuncKeywordDefinition = {
  keyword: PRICE,
  validate: (units: number) => {
    charge(meter, units);
    return true;
  },
};

/** ajv compares every pair of objects; this compares the texts of all items at once. */
const uniqueItems: FuncKeywordDefinition = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  validate: (isWanted: boolean, items: readonly Json[]) => {
    if (!isWanted) return true;
    const texts = items.map((item) => JSON.stringify(sorted(item)));
    charge(
      meter,
      texts.reduce((sum, text) => sum + text.length, 0),
    );
    return new Set(texts).size === items.length;
  },
};

const ajv = createAjv();

/**
 * ajv retains the values and parts of every schema that it has compiled in its scope, and each
 * check refers to its instance of ajv. So each schema is compiled in a scope of its own. A new
 * instance for each would take as long as compiling ten small schemas.
 */
function inNewScope(): Ajv2020 {
  Reflect.set(ajv, "scope", new ValueScope({ scope: {} }));
  return ajv;
}

function createAjv(): Ajv2020 {
  const made = new Ajv2020({
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    // A check ends at the first problem: a list of all problems could be larger than the value.
    allErrors: false,
    ownProperties: true,
    // Decimal digits: 0.07 is a multiple of 0.01, although their doubles are not.
    multipleOfPrecision: 9,
    // Inlining would copy a large subschema once for each reference to it.
    inlineRefs: false,
    logger: false,
    formats: { ...formats },
    // The optimizer would take four times as long as everything else.
    code: { regExp: Object.assign(pattern, { code: "pattern" }), optimize: false },
  });
  made.addKeyword(price);
  made.removeKeyword("uniqueItems");
  made.addKeyword(uniqueItems);
  return made;
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, sorted(item)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Compiled code is large and compiling is slow: a caller that needs it often should keep it. */
export function compileSchema(
  schema: Json,
  compiling: Meter = createMeter(COMPILE_COST_MAX),
): CompiledSchema {
  const problems: SchemaProblem[] = [];
  meter = compiling;
  const priced = pricedSchema(schema, "", { problems, count: 0 }, 0);
  const [first] = problems;
  if (first) return { ok: false, ...first };
  if (typeof priced === "boolean") return { ok: true, check: () => (priced ? null : NEVER) };
  try {
    const validate = inNewScope().compile(priced);
    return { ok: true, check: (value, showsValue) => checked(validate, value, showsValue) };
  } catch (error) {
    return { ok: false, ...compileProblem(error) };
  } finally {
    ajv.removeSchema(priced);
    delete ajv.refs[""];
  }
}

interface SchemaProblem {
  readonly message: string;
  readonly path: string;
}

interface Walk {
  readonly problems: SchemaProblem[];
  count: number;
}

/**
 * The schema with a price in each subschema; parts that cannot be used are added to the problems.
 */
function pricedSchema(schema: Json, path: string, walk: Walk, depth: number): JsonObject | boolean {
  const refuse = (message: string, at: string) => walk.problems.push({ message, path: at });
  if (typeof schema === "boolean") return schema;
  if (!isJsonObject(schema)) {
    refuse("a schema is an object, true or false", path);
    return true;
  }
  walk.count++;
  meter.left -= UNITS_PER_PART;
  if (meter.left < 0 && walk.problems.length === 0)
    refuse("the schemas and expressions of this workflow take too long together", path);
  if (meter.left < 0 || walk.count > SUBSCHEMAS_MAX || depth > DEPTH_MAX) {
    if (walk.problems.length === 0)
      refuse(`it has more than ${SUBSCHEMAS_MAX} parts, or ${DEPTH_MAX} levels`, path);
    return true;
  }
  let units = 5;
  const entries: [string, Json][] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const at = path ? `${path}.${keyword}` : keyword;
    const message = keywordProblem(keyword, value, depth);
    if (message) refuse(message, at);
    if (keyword === "$id" || keyword === "$schema") continue;
    const inner = (part: Json, to: string) => pricedSchema(part, to, walk, depth + 1);
    if (one.has(keyword)) entries.push([keyword, inner(value, at)]);
    else if (several.has(keyword) && Array.isArray(value))
      entries.push([keyword, value.map((part: Json, no) => inner(part, `${at}[${no}]`))]);
    else if (named.has(keyword) && isJsonObject(value)) {
      const parts = Object.entries(value).map(([name, part]) => [
        name,
        inner(part, `${at}.${name}`),
      ]);
      entries.push([keyword, Object.fromEntries(parts)]);
    } else {
      units += nodesOf(value);
      entries.push([keyword, value]);
    }
  }
  return Object.fromEntries([...entries, [PRICE, units]]);
}

const keywords = Object.keys(ajv.RULES.keywords).filter(
  (keyword) => keyword !== PRICE && !refusedKeywords.has(keyword),
);

function keywordProblem(keyword: string, value: Json, depth: number): string | null {
  if (!keywords.includes(keyword)) {
    const near = nearestWord(keyword, keywords);
    return `there is no keyword "${keyword}"${near ? `: did you mean "${near}"?` : ""}`;
  }
  if (keyword === "$schema" && value !== DIALECT)
    return `this dialect is not known: leave it out, or write ${DIALECT}`;
  if (keyword === "$id" && depth > 0) return "a part has no $id of its own: refer to it by #/$defs";
  const isReference = keyword === "$ref" || keyword === "$dynamicRef";
  if (isReference && !(typeof value === "string" && value.startsWith("#")))
    return "nothing is fetched: put what it refers to under $defs, and refer to it by #/$defs";
  if (keyword === "pattern" && typeof value === "string") return patternProblem(value, meter);
  if (keyword === "patternProperties" && isJsonObject(value))
    return (
      Object.keys(value)
        .map((source) => patternProblem(source, meter))
        .find((message) => message !== null) ?? null
    );
  if (keyword === "properties" && isJsonObject(value) && Object.hasOwn(value, "__proto__"))
    return 'a property "__proto__" cannot be checked';
  if (keyword === "format" && !(typeof value === "string" && value in formats))
    return `this format is not checked: there are ${Object.keys(formats).join(", ")}; write a pattern`;
  return null;
}

function nodesOf(value: Json): number {
  if (typeof value !== "object" || value === null) return 1;
  let sum = 1;
  for (const item of Object.values(value)) sum += nodesOf(item);
  return sum;
}

function compileProblem(error: unknown): SchemaProblem {
  if (error instanceof RangeError) return { message: "it is nested too deep", path: "" };
  const [first] = ajv.errors ?? [];
  ajv.errors = null;
  if (first)
    return {
      message: first.message ?? "it is no schema",
      path: pathOf(first.instancePath).slice(1),
    };
  return { message: error instanceof Error ? error.message : String(error), path: "" };
}

function checked(validate: ValidateFunction, value: Json, showsValue = false): string | null {
  meter = createMeter(COST_MAX);
  try {
    if (validate(value)) return null;
    const error = decisive(validate.errors ?? []);
    if (!error) return "the value does not match its schema";
    return showsValue ? `${sentence(error)}, but is ${quoteAt(value, error)}` : sentence(error);
  } catch (error) {
    if (error instanceof RangeError) return "the value is nested too deep to be checked";
    const why = error instanceof Error ? error.message : String(error);
    return `the value cannot be checked: ${failureText(why)}`;
  } finally {
    validate.errors = null;
  }
}

/** ajv lists the errors of the branches before the error of the keyword that has the branches. */
const branching = new Set(["anyOf", "oneOf", "not", "contains"]);

function decisive(errors: readonly ErrorObject[]): ErrorObject | undefined {
  const last = errors.at(-1);
  return last && branching.has(last.keyword) ? last : errors[0];
}

function sentence(error: ErrorObject): string {
  const where = error.instancePath ? pathOf(error.instancePath).replace(/^\./, "") : "the value";
  return failureText(`${where} ${reasonOf(error)}`);
}

/** Most characters of a value that a problem quotes. */
const QUOTED_MAX = 100;

/** The part of the value that the error is about, as JSON. */
function quoteAt(value: Json, { instancePath }: ErrorObject): string {
  const part = keysOf(instancePath).reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined),
    value,
  );
  const json = JSON.stringify(part);
  return json.length > QUOTED_MAX ? `${json.slice(0, QUOTED_MAX).toWellFormed()}…` : json;
}

function reasonOf({ keyword, params, message }: ErrorObject): string {
  const shown = (value: unknown) => JSON.stringify(value).slice(0, 200);
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") {
    const name: unknown = params.additionalProperty ?? params.unevaluatedProperty;
    return `must not have ${shown(name)}`;
  }
  if (keyword === "required") return `must have ${shown(params.missingProperty)}`;
  if (keyword === "type") return `must be ${typeWords(params.type)}`;
  if (keyword === "enum") return `must be one of ${shown(params.allowedValues)}`;
  if (keyword === "const") return `must be ${shown(params.allowedValue)}`;
  if (keyword === "uniqueItems") return "must not hold the same item twice";
  return message ?? `does not match ${keyword}`;
}

const TYPE_WORDS: Readonly<Record<string, string>> = Object.freeze({
  array: "an array",
  boolean: "a boolean",
  integer: "an integer",
  null: "null",
  number: "a number",
  object: "an object",
  string: "a string",
});

/** `type` of a schema: a name, or a list of names. */
function typeWords(type: unknown): string {
  return [type]
    .flat()
    .map((name) => TYPE_WORDS[String(name)] ?? String(name))
    .join(" or ");
}

/** A JSON pointer as people write it: `.travellers[0].name`. */
function pathOf(pointer: string): string {
  return keysOf(pointer)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join("");
}

function keysOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}
