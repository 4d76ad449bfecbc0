// The form of an approval: its JSON Schema as fields for a person.

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

/** null: these fields cannot express the schema, and the person writes JSON. */
export function formFields(schemaJson: string): readonly FormField[] | null {
  const schema: unknown = JSON.parse(schemaJson);
  const properties = at(schema, "properties");
  const needed = at(schema, "required");
  const required: readonly unknown[] = Array.isArray(needed) ? needed : [];
  const named = isObject(properties) ? Object.entries(properties) : [];
  // A required property without a schema may be anything: it becomes a text field.
  const bare = required.filter((name) => !named.some(([known]) => known === name));
  const all = [...named, ...bare.map((name) => [String(name), { type: "string" }] as const)];
  if (all.length === 0) return null;
  const fields = all.map(([name, of]) => fieldOf(name, of, required.includes(name)));
  return fields.every((field) => field !== null) ? fields : null;
}

/** The filled-in form as JSON; empty fields are left out. `value`: the value of a field by name. */
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
