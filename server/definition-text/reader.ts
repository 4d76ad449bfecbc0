/**
 * Converts the nodes of a text to a definition in the JSON form of protobuf. The descriptor of the
 * message drives it; dialect.ts has the differences between text and message.
 *
 * Ranges and patterns are checked by the rules of the proto. Checked here are problems that a
 * message cannot contain (unknown keys, wrong types, two kinds) and problems that are clearer on
 * the text (missing keys).
 */
import type { DescEnum, DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";
import { StepDefinitionSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import { isMap, isScalar, type Node, type Scalar } from "yaml";
import { DEFAULT_KEYS } from "./defaults.ts";
import {
  kinds,
  namesOfMessages,
  oneOrMany,
  requiredKeys,
  shortField,
  type TextKey,
  textKeysOf,
} from "./dialect.ts";
import { jsonText } from "./json-text.ts";
import {
  type Entry,
  entriesAt,
  forbidden,
  isAllowed,
  joined,
  listAt,
  type Reading,
  readEntries,
  refuse,
  scalarAt,
} from "./nodes.ts";
import { shown, suggestion } from "./problems.ts";
import {
  anyNumber,
  enumValue,
  protoDuration,
  textValue,
  type Value,
  wholeNumber,
  yesOrNo,
} from "./values.ts";

/**
 * undefined: a problem was reported; of a partial reading, the node is no map. The places are
 * those of the fields of the message, each by the path that it has there.
 */
export function readMessage(
  node: Node,
  desc: DescMessage,
  path: string,
  reading: Reading,
): JsonObject | undefined {
  const { document, problems, places } = reading;
  const alone = isScalar(node) ? shortField(desc) : null;
  if (alone) {
    places.set(joined(path, alone.name), document.placeOf(node));
    const given = readSingle(node, alone, path, reading);
    return given === undefined ? undefined : { [alone.name]: given };
  }
  const before = problems.count;
  const fields = textKeysOf(desc);
  const keys = [...fields.keys()];
  const aMap = `this must be a map with keys out of ${keys.join(", ")}`;
  const entries = entriesAt(node, path, aMap, reading);
  if (entries === undefined) return undefined;
  const name = namesOfMessages[desc.typeName] ?? desc.name.toLowerCase();
  const unknown = (key: string): string =>
    `unknown key ${shown(key)} in ${name}: ${suggestion(key, keys)}`;
  const message: JsonObject = {};
  const read = (key: TextKey, value: Node, inText: string, { keyNode }: Entry): void => {
    const { field, parent } = key;
    const inMessage = parent === null ? inText : joined(joined(path, parent.name), field.name);
    if (parent !== null) places.set(joined(path, parent.name), document.placeOf(keyNode));
    places.set(inMessage, document.placeOf(value));
    const given = readField(value, field, inText, reading);
    if (given !== undefined) set(message, key, given);
  };
  readEntries(entries, path, { fields, unknown, read }, reading);
  reportMissing(node, entries, desc, path, reading);
  return problems.count > before && !reading.isPartial ? undefined : message;
}

/** Reports each problem of the defaults once, also of those that no step takes. */
export function checkDefaults(node: Node, reading: Reading): void {
  const path = "defaults";
  const aMap = `this must be a map with keys out of ${DEFAULT_KEYS.join(", ")}`;
  const entries = entriesAt(node, path, aMap, reading);
  if (entries === undefined) return;
  const keys = textKeysOf(StepDefinitionSchema);
  const fields = new Map([...keys].filter(([key]) => DEFAULT_KEYS.some((one) => one === key)));
  const unknown = (key: string): string =>
    keys.has(key)
      ? `${key} has no default: write it in each step; defaults are for ${DEFAULT_KEYS.join(", ")}`
      : `unknown key ${shown(key)} in defaults: ${suggestion(key, DEFAULT_KEYS)}`;
  const read = ({ field }: TextKey, value: Node, at: string) =>
    void readField(value, field, at, reading);
  readEntries(entries, path, { fields, unknown, read }, reading);
}

function set(message: JsonObject, { field, parent }: TextKey, value: JsonValue): void {
  if (parent === null) message[field.name] = value;
  else message[parent.name] = { ...asObject(message[parent.name]), [field.name]: value };
}

function asObject(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function readField(
  node: Node,
  field: DescField,
  path: string,
  reading: Reading,
): JsonValue | undefined {
  if (field.fieldKind === "map") return readTexts(node, path, reading);
  if (field.fieldKind !== "list") return readSingle(node, field, path, reading);
  const read = (item: Node, at: string) => readSingle(item, field, at, reading);
  if (isMap(node) && oneOrMany.has(field.name)) return readOnlyItem(node, path, read, reading);
  const aList = `this must be a list, as [${exampleItem(node)}]`;
  return listAt(node, path, read, aList, reading);
}

/** A list of one item that is written without its list. */
function readOnlyItem(
  node: Node,
  path: string,
  read: (item: Node, path: string) => JsonValue | undefined,
  reading: Reading,
): JsonValue | undefined {
  if (!isAllowed(node, path, reading)) return undefined;
  const at = `${path}[0]`;
  reading.places.set(at, reading.document.placeOf(node));
  const item = read(node, at);
  return item === undefined ? undefined : [item];
}

/** A map of texts, the only kind of map field that definitions have. */
function readTexts(node: Node, path: string, reading: Reading): JsonObject | undefined {
  const { document, places } = reading;
  const entries = entriesAt(node, path, "this must be a map, as { team: sea }", reading);
  if (entries === undefined) return undefined;
  const texts: JsonObject = {};
  for (const { key, keyNode, value } of entries) {
    const at = joined(path, key);
    places.set(at, document.placeOf(value ?? keyNode));
    const given = isScalar(value) && forbidden(value) === null ? textValue(value) : null;
    if (given?.kind === "value") texts[key] = given.value;
    else refuse(value ?? keyNode, at, given?.message ?? "this must be a text", reading);
  }
  return texts;
}

function exampleItem(node: Node): string {
  return isScalar(node) && typeof node.value === "string" && node.value.length < 40
    ? node.value
    : "...";
}

/** One value of a field, or of an item of it. */
function readSingle(
  node: Node,
  field: DescField,
  path: string,
  reading: Reading,
): JsonValue | undefined {
  if (!isAllowed(node, path, reading)) return undefined;
  const { message, enum: words, scalar } = field;
  if (message?.typeName === PayloadSchema.typeName) {
    const json = jsonText(node, path, reading);
    return json === undefined ? undefined : { json };
  }
  if (message && message.typeName !== "google.protobuf.Duration")
    return readMessage(node, message, path, reading);
  const take = (given: Scalar): Value<string | number | boolean> =>
    message ? protoDuration(given) : scalarValue(given, words, scalar);
  const single = "this must be a single value, not a list or map";
  return scalarAt(node, path, take, single, reading);
}

function scalarValue(
  node: Scalar,
  words: DescEnum | undefined,
  type: ScalarType | undefined,
): Value<string | number | boolean> {
  if (words) return enumValue(node, words);
  switch (type) {
    case ScalarType.STRING:
      return textValue(node);
    case ScalarType.BOOL:
      return yesOrNo(node);
    case ScalarType.INT32:
      return wholeNumber(node);
    case ScalarType.DOUBLE:
      return anyNumber(node);
    default:
      throw new Error(`The text form of a workflow has no fields of scalar type ${type} yet`);
  }
}

function reportMissing(
  node: Node,
  entries: readonly Entry[],
  desc: DescMessage,
  path: string,
  reading: Reading,
): void {
  const keys = new Set(entries.map(({ key }) => key));
  for (const key of requiredKeys[desc.typeName] ?? []) {
    if (!keys.has(key))
      refuse(node, joined(path, key), `${key} is missing: add \`${key}: ...\``, reading);
  }
  for (const { name, fields } of desc.oneofs) {
    const given = fields.filter((field) => keys.has(field.name)).map((field) => field.name);
    if (name !== "kind" && given.length > 1)
      refuse(node, path, `write one of ${given.join(" and ")}, not both`, reading);
  }
  if (desc.typeName === StepDefinitionSchema.typeName) reportKind(node, keys, path, reading);
}

function reportKind(node: Node, keys: ReadonlySet<string>, path: string, reading: Reading): void {
  const given = kinds.filter((kind) => keys.has(kind));
  if (given.length === 0) {
    const message =
      "the step does not say what it does: add `task: NAME`, or `wait`, `signal`, `approval`, `run` or `map`";
    refuse(node, path, message, reading);
  } else if (given.length > 1) {
    refuse(node, path, `a step has exactly one kind, not ${given.join(" and ")}`, reading);
  } else if (given[0] !== "task" && keys.has("queue")) {
    const message = `a step of the kind "${given[0]}" is in no queue: remove it`;
    refuse(node, joined(path, "queue"), message, reading);
  }
}
