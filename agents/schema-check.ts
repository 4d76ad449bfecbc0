/**
 * Checks a value against a JSON Schema, and says in words what is wrong with it and where: the
 * settings of an agent, and the input of a step.
 */

import { shown, suggestion } from "@drover/server/definition-text/problems.ts";
import type { ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";

export type Schema = { readonly [key: string]: unknown };

export interface ValueProblem {
  /** As `hosts[0].origin`; "" for the value itself. */
  readonly path: string;
  readonly message: string;
}

export type Checked<T> =
  | { readonly kind: "good"; readonly value: T }
  | { readonly kind: "bad"; readonly problems: readonly ValueProblem[] };

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, verbose: true, logger: false });

/** `T` is what the schema describes. */
export function checkOf<T>(schema: Schema): (value: unknown) => Checked<T> {
  const isGood = ajv.compile<T>(schema);
  return (value) => {
    if (isGood(value)) return { kind: "good", value };
    return { kind: "bad", problems: (isGood.errors ?? []).map(problemOf) };
  };
}

function problemOf(error: ErrorObject): ValueProblem {
  const { keyword, params, instancePath, data } = error;
  const at = pathOf(instancePath);
  switch (keyword) {
    case "additionalProperties": {
      const key = String(params.additionalProperty);
      return {
        path: joined(at, key),
        message: `unknown key ${shown(key)}: ${nearKey(error, key)}`,
      };
    }
    case "required": {
      const key = String(params.missingProperty);
      return { path: joined(at, key), message: `${key} is missing: add \`${key}: ...\`` };
    }
    case "enum":
      return { path: at, message: `${json(data)} is not known here: ${wordsOf(error, data)}` };
    default:
      return {
        path: at,
        message: `${json(data)} ${error.message ?? "is not allowed"}${about(error)}`,
      };
  }
}

/** What a value with this description may be, for problems that a pattern finds. */
function about({ parentSchema }: ErrorObject): string {
  const text: unknown = parentSchema?.description;
  return typeof text === "string" ? `: it is ${text}` : "";
}

function nearKey({ parentSchema }: ErrorObject, key: string): string {
  const properties: unknown = parentSchema?.properties;
  const known = typeof properties === "object" && properties ? Object.keys(properties) : [];
  return known.length > 0 ? suggestion(key, known) : "remove it";
}

function wordsOf({ params }: ErrorObject, data: unknown): string {
  const allowed: unknown = params.allowedValues;
  return suggestion(String(data), Array.isArray(allowed) ? allowed.map(String) : []);
}

function json(value: unknown): string {
  return shown(typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing"));
}

function pathOf(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, key) => (/^\d+$/.test(key) ? `${path}[${key}]` : joined(path, key)), "");
}

function joined(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
