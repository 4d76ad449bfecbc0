/**
 * What an input or an output may be: a schema of any library with the Standard Schema interface
 * (zod, valibot, arktype and others), or a function that reads a value and throws if it cannot.
 *
 * A schema checks what is sent and does not change it, so that a repeated call is the same request;
 * what is read is what the schema makes of it: defaults, conversions and dropped keys included. So
 * a schema has two types, that of values as they are given and that of values as they are read.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Parse } from "./payload.ts";

/** A Standard Schema, or a function that reads a value. */
export type Schema = StandardSchemaV1 | Parse<unknown>;

/** The type of values as they are given: sent by a caller or a workflow, returned by a handler. */
export type Given<S extends Schema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<S>
  : S extends Parse<infer T>
    ? T
    : never;

/** The type of values as they are read. */
export type Received<S extends Schema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends Parse<infer T>
    ? T
    : never;

/** What is wrong with a value, and where: `legs[0].from`; "": the value itself. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

export type Checked<T> =
  | { readonly kind: "valid"; readonly value: T }
  | { readonly kind: "invalid"; readonly problems: readonly Problem[] };

/** A type without a check: values of any kind pass at run time, and have this type. */
export function unchecked<T>(): StandardSchemaV1<T, T> {
  return standard((value) => value as T);
}

export const anything: StandardSchemaV1 = unchecked<unknown>();

/** The schema in the one form that the SDK works with. */
export function standard<T>(schema: Parse<T>): StandardSchemaV1<T, T>;
export function standard(schema: Schema): StandardSchemaV1;
export function standard(schema: Schema): StandardSchemaV1 {
  if ("~standard" in schema) return schema;
  const validate = (value: unknown) => ({ value: schema(value) });
  return { "~standard": { version: 1, vendor: "drover", validate } };
}

/** An error that a schema throws is a problem of the value. */
export async function check<T>(
  schema: StandardSchemaV1<unknown, T>,
  value: unknown,
): Promise<Checked<T>> {
  try {
    const result = await schema["~standard"].validate(value);
    return result.issues === undefined
      ? { kind: "valid", value: result.value }
      : { kind: "invalid", problems: result.issues.map(problemOf) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "invalid", problems: [{ path: "", message }] };
  }
}

function problemOf({ message, path = [] }: StandardSchemaV1.Issue): Problem {
  const keys = path.map((part) => (typeof part === "object" ? part.key : part));
  return { path: keys.reduce(below, ""), message };
}

function below(path: string, key: PropertyKey): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return path === "" ? String(key) : `${path}.${String(key)}`;
}

/** More problems than these are counted. */
const problemsMax = 5;

/** In one line: `to: Required; legs[0].from: Too short`. */
export function textOf(problems: readonly Problem[]): string {
  const texts = problems.map(({ path, message }) =>
    path === "" ? message : `${path}: ${message}`,
  );
  const more = texts.length - problemsMax;
  return more <= 0
    ? texts.join("; ")
    : `${texts.slice(0, problemsMax).join("; ")}; and ${more} more`;
}
