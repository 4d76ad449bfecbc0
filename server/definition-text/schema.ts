/**
 * The text form of a workflow as a JSON Schema (draft 7, which editors read), built from the same
 * descriptor, rules and dialect by which the server reads a text.
 *
 * It helps an author while typing. The server still checks what the schema accepts, and refuses
 * everything that the schema refuses.
 */
import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import {
  oneof as choiceRules,
  type FieldRules,
  field as rulesOption,
} from "@drover/proto/buf/validate/validate_pb.ts";
import { PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";
import {
  FallbackSchema,
  StepDefinitionSchema,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import { DEFAULT_KEYS, EXTENSION_PREFIX } from "./defaults.ts";
import { kinds, oneOrMany, requiredKeys, shortField, textKeysOf } from "./dialect.ts";
import { DURATION_SCHEMA, describedAs, mapSchema, type Schema } from "./schema-parts.ts";
import { enumWords } from "./values.ts";

/** No message has them: they are entered into the steps. */
const DEFAULTS_COMMENT =
  "What each step with a `task` or a `map` has unless it has the key itself. Of `retry`, `timeouts` and `escalation`, that holds for each key in them.";

/** The description of a field of the contract; "" if there is none. */
type Describe = (message: DescMessage, field: DescField) => string;

export function workflowTextSchema(describe: Describe): Schema {
  const definitions: Record<string, Schema> = {};
  const define = (desc: DescMessage): Schema => {
    if (!(desc.name in definitions)) {
      definitions[desc.name] = {};
      definitions[desc.name] = messageSchema(desc, define, describe);
    }
    return { $ref: `#/definitions/${desc.name}` };
  };
  const defaults = mapSchema(
    keySchemas(StepDefinitionSchema, define, describe, (key) =>
      DEFAULT_KEYS.some((known) => known === key),
    ),
    [],
  );
  const root = messageSchema(WorkflowDefinitionSchema, define, describe, {
    defaults: describedAs(DEFAULTS_COMMENT, defaults),
  });
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Drover workflow",
    ...root,
    patternProperties: { [`^${EXTENSION_PREFIX}`]: {} },
    definitions,
  };
}

type Define = (desc: DescMessage) => Schema;

function messageSchema(
  desc: DescMessage,
  define: Define,
  describe: Describe,
  more: Readonly<Record<string, Schema>> = {},
): Schema {
  const properties = { ...keySchemas(desc, define, describe), ...more };
  return mapSchema(properties, requiredKeys[desc.typeName] ?? [], oneOf(desc));
}

function keySchemas(
  desc: DescMessage,
  define: Define,
  describe: Describe,
  isWanted: (key: string) => boolean = () => true,
): Readonly<Record<string, Schema>> {
  const properties: Record<string, Schema> = {};
  for (const [key, { field, parent }] of textKeysOf(desc)) {
    if (!isWanted(key)) continue;
    const description = describe(parent?.message ?? desc, field);
    properties[key] = describedAs(description, fieldSchema(field, define));
  }
  return properties;
}

/**
 * A step has exactly one kind. Another choice has exactly one member, or at most one if it is
 * optional.
 */
function oneOf(desc: DescMessage): Schema {
  const choices =
    desc.typeName === StepDefinitionSchema.typeName
      ? kinds
      : desc.oneofs.flatMap(({ fields }) => fields.map(({ name }) => name));
  const [choice] = desc.oneofs;
  if (choice === undefined) return {};
  const each = choices.map((name) => ({ required: [name] }));
  const { required } = getOption(choice, choiceRules);
  return { oneOf: required ? each : [...each, { not: { anyOf: each } }] };
}

function fieldSchema(field: DescField, define: Define): Schema {
  const rules = getOption(field, rulesOption);
  if (field.fieldKind !== "list") return singleSchema(field, rules, define);
  const list = rules.type.case === "repeated" ? rules.type.value : null;
  const items = singleSchema(field, list?.items, define);
  const array = {
    type: "array",
    items,
    ...bound("minItems", list?.minItems),
    ...bound("maxItems", list?.maxItems),
  };
  return oneOrMany.has(field.name) ? { anyOf: [items, array] } : array;
}

function singleSchema(field: DescField, rules: FieldRules | undefined, define: Define): Schema {
  const { message } = field;
  if (message?.typeName === PayloadSchema.typeName) return payloadSchema(field);
  if (message?.typeName === "google.protobuf.Duration") return DURATION_SCHEMA;
  if (message) {
    const alone = shortField(message);
    const whole = define(message);
    return alone ? { anyOf: [fieldSchema(alone, define), whole] } : whole;
  }
  if (field.enum) return { enum: [...enumWords(field.enum).keys()] };
  return scalarSchema(field, rules);
}

/**
 * An input is any value; a schema is an object or a boolean; what is merged over an input is an
 * object.
 */
function payloadSchema(field: DescField): Schema {
  if (field.parent.typeName === FallbackSchema.typeName) return { type: "object" };
  return field.name === "input" ? {} : { type: ["object", "boolean"] };
}

function scalarSchema(field: DescField, rules: FieldRules | undefined): Schema {
  const rule = rules?.type;
  switch (field.scalar) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.INT32:
      return { type: "integer", ...(rule?.case === "int32" ? range(rule.value) : {}) };
    case ScalarType.DOUBLE:
      return { type: "number", ...(rule?.case === "double" ? range(rule.value) : {}) };
    case ScalarType.STRING: {
      const text = rule?.case === "string" ? rule.value : null;
      return {
        type: "string",
        ...bound("minLength", text?.minLen),
        ...bound("maxLength", text?.maxLen),
        ...(text?.pattern ? { pattern: text.pattern } : {}),
      };
    }
    default:
      throw new Error(`The text form of a workflow has no fields of scalar type ${field.scalar}`);
  }
}

interface Bound {
  readonly case: string | undefined;
  readonly value?: number | undefined;
}

interface Range {
  readonly greaterThan: Bound;
  readonly lessThan: Bound;
}

function range({ greaterThan, lessThan }: Range): Schema {
  return {
    ...(greaterThan.case === "gte" ? { minimum: greaterThan.value } : {}),
    ...(lessThan.case === "lte" ? { maximum: lessThan.value } : {}),
  };
}

/** The value 0 means that the rule is not set; it bounds nothing. */
function bound(name: string, value: bigint | undefined): Schema {
  return value === undefined || value === 0n ? {} : { [name]: Number(value) };
}
