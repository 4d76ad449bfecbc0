// The fields of a value that a JSON Schema describes, and the value that a person has filled in. If
// the schema cannot be expressed by fields, the person writes JSON.

import { type FormField, formFields, formJson } from "../words/form-schema.ts";
import { written } from "./act.tsx";
import { Field, FieldProblem } from "./field.tsx";

const WHOLE = "schema-json";
const SCHEMA = "schema";
const nameOf = (field: string) => `schema.${field}`;

export function SchemaFields(props: {
  readonly schema: string;
  /** The field of the request, to show its problems: "input". */
  readonly path: string;
  /** The name of the field of the whole value. */
  readonly whole: string;
}) {
  const { schema, path, whole } = props;
  const fields = formFields(schema);
  if (fields === null)
    return (
      <Field name={whole} path={path} help={`It must match this schema: ${schema}`}>
        <textarea name={WHOLE} rows={4} required defaultValue="{}" />
      </Field>
    );
  const pathOf = ({ name }: FormField) => `${path}.${name}`;
  return (
    <>
      {/* The schema is part of the form, so that the fields are known when the form is read. */}
      <input type="hidden" name={SCHEMA} value={schema} />
      {fields.map((field) => (
        <FormInput key={field.name} field={field} path={pathOf(field)} />
      ))}
      <FieldProblem of={path} within={fields.map(pathOf)} />
    </>
  );
}

function FormInput({ field, path }: { readonly field: FormField; readonly path: string }) {
  const { name, required } = field;
  const given = { name: nameOf(name), required };
  switch (field.kind) {
    case "text":
      return (
        <Field name={name} path={path}>
          <input {...given} />
        </Field>
      );
    case "number":
      return (
        <Field name={name} path={path}>
          <input {...given} type="number" step="any" />
        </Field>
      );
    case "boolean":
      return (
        <Field name={name} path={path}>
          <input name={nameOf(name)} type="checkbox" value="yes" />
        </Field>
      );
    case "choice":
      return (
        <Field name={name} path={path}>
          <select {...given}>
            {required ? null : <option value="">–</option>}
            {field.options.map((option) => (
              <option key={option}>{option}</option>
            ))}
          </select>
        </Field>
      );
  }
}

/** The value as JSON; empty: the form has no such fields, or the person left the JSON empty. */
export function schemaJson(form: FormData): string {
  const schema = form.get(SCHEMA);
  const fields = typeof schema === "string" ? formFields(schema) : null;
  return fields === null
    ? written(form, WHOLE)
    : formJson(fields, (name) => written(form, nameOf(name)));
}
