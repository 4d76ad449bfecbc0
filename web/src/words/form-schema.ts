// The form of an approval: its JSON Schema as fields that a person fills in.

export type FormField =
  | {
      readonly kind: "text" | "number" | "boolean";
      readonly name: string;
      readonly required: boolean;
    }
  | {
      readonly kind: "choice";
      readonly name: string;
      readonly required: boolean;
      readonly options: readonly string[];
    };

/** null: the schema asks for what these fields cannot say, and a person writes JSON. */
export function formFields(schemaJson: string): readonly FormField[] | null {
  const schema: unknown = JSON.parse(schemaJson);
  const properties = at(schema, "properties");
  const needed = at(schema, "required");
  const required: readonly unknown[] = Array.isArray(needed) ? needed : [];
  const named = isObject(properties) ? Object.entries(properties) : [];
  // What is required and not described may be anything: text is what people write.
  const bare = required.filter((name) => !named.some(([known]) => known === name));
  const all = [...named, ...bare.map((name) => [String(name), { type: "string" }] as const)];
  if (all.length === 0) return null;
  const fields = all.map(([name, of]) => fieldOf(name, of, required.includes(name)));
  return fields.every((field) => field !== null) ? fields : null;
}

/** What was filled in, as JSON; what was left empty is left out. `value`: of a field, by name. */
export function formJson(
  fields: readonly FormField[],
  value: (name: string) => string | null,
): string {
  const entries = fields.flatMap(({ kind, name }): readonly (readonly [string, unknown])[] => {
    const given = value(name) ?? "";
    if (kind === "boolean") return [[name, given !== ""]];
    if (given === "") return [];
    return [[name, kind === "number" ? Number(given) : given]];
  });
  return JSON.stringify(Object.fromEntries(entries));
}

function fieldOf(name: string, schema: unknown, required: boolean): FormField | null {
  const options = at(schema, "enum");
  if (Array.isArray(options))
    return options.every((one) => typeof one === "string")
      ? { kind: "choice", name, required, options }
      : null;
  switch (at(schema, "type")) {
    case "string":
      return { kind: "text", name, required };
    case "number":
    case "integer":
      return { kind: "number", name, required };
    case "boolean":
      return { kind: "boolean", name, required };
    default:
      return null;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function at(value: unknown, key: string): unknown {
  return isObject(value) ? Reflect.get(value, key) : undefined;
}
