/**
 * Converts the nodes of a text to a definition in the JSON form of protobuf. The descriptor of the
 * message drives it; workflow-text-dialect.ts has the differences between text and message.
 *
 * Ranges and patterns are checked by the rules of the proto. Checked here are problems that a
 * message cannot contain (unknown keys, wrong types, two kinds) and problems that are clearer on
 * the text (missing keys).
 */
import type { DescEnum, DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";
import { StepDefinitionSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import { isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from "yaml";
import {
  kinds,
  namesOfMessages,
  oneOrMany,
  requiredKeys,
  shortField,
  type TextKey,
  textKeysOf,
} from "./dialect.ts";
import {
  asNode,
  type Entry,
  entriesOf,
  forbiddenNode,
  joined,
  type TextDocument,
} from "./document.ts";
import { type Place, shown, suggestion, type TextProblems } from "./problems.ts";
import {
  anyNumber,
  duration,
  enumValue,
  jsonText,
  textValue,
  type Value,
  wholeNumber,
  yesOrNo,
} from "./values.ts";

interface Reading {
  readonly document: TextDocument;
  readonly problems: TextProblems;
  /** The position of each field of the message in the text, by the field's path. */
  readonly places: Map<string, Place>;
}

/** Null if a problem was reported. */
export function readMessage(
  node: Node,
  desc: DescMessage,
  path: string,
  reading: Reading,
): JsonObject | null {
  const { document, problems } = reading;
  const alone = isScalar(node) ? shortField(desc) : null;
  if (alone) {
    const fieldPath = joined(path, alone.name);
    reading.places.set(fieldPath, document.placeOf(node));
    const given = readSingle(node, alone, path, reading);
    return given === null ? null : { [alone.name]: given };
  }
  if (!isMap(node)) {
    const keys = [...textKeysOf(desc).keys()].join(", ");
    return refuse(node, path, `this must be a map with keys out of ${keys}`, reading);
  }
  const before = problems.count;
  const entries = entriesOf(node, path, document, problems);
  const message: JsonObject = {};
  for (const entry of entries) {
    if (problems.full) break;
    const slot = textKeysOf(desc).get(entry.key);
    if (slot === undefined) reportUnknown(entry, desc, path, reading);
    else readKey(entry, slot, path, message, reading);
  }
  reportMissing(node, entries, desc, path, reading);
  return problems.count > before ? null : message;
}

function readKey(
  { key, keyNode, value }: Entry,
  { field, parent }: TextKey,
  path: string,
  message: JsonObject,
  reading: Reading,
): void {
  const { document, places } = reading;
  const inText = joined(path, key);
  const inMessage = parent === null ? inText : joined(joined(path, parent.name), field.name);
  if (parent !== null) places.set(joined(path, parent.name), document.placeOf(keyNode));
  places.set(inMessage, document.placeOf(value ?? keyNode));
  // An empty `input:` may be meant as null or as "none", and these differ.
  if (value === null || (isScalar(value) && value.value === null && value.source === "")) {
    refuse(keyNode, inText, `${key} is empty: give it a value, or remove the key`, reading);
    return;
  }
  const given = readField(value, field, inText, reading);
  if (given === null) return;
  if (parent === null) message[field.name] = given;
  else message[parent.name] = { ...asObject(message[parent.name]), [field.name]: given };
}

function asObject(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function readField(node: Node, field: DescField, path: string, reading: Reading): JsonValue | null {
  if (field.fieldKind === "map") return readTexts(node, path, reading);
  if (field.fieldKind !== "list") return readSingle(node, field, path, reading);
  const strange = forbiddenNode(node);
  if (strange !== null) return refuse(node, path, strange, reading);
  const mayBeOne = oneOrMany.has(field.name);
  if (!isSeq(node) && !(mayBeOne && isMap(node)))
    return refuse(node, path, `this must be a list, as [${exampleItem(node)}]`, reading);
  const items = isSeq(node) ? node.items.map(asNode) : [node];
  const list: JsonValue[] = [];
  for (const [index, item] of items.entries()) {
    if (reading.problems.full) return null;
    const itemPath = `${path}[${index}]`;
    reading.places.set(itemPath, reading.document.placeOf(item ?? node));
    const given = item === null ? null : readSingle(item, field, itemPath, reading);
    if (given !== null) list.push(given);
  }
  return list;
}

/** A map of texts, the only kind of map field that definitions have. */
function readTexts(node: Node, path: string, reading: Reading): JsonObject | null {
  const { document, problems } = reading;
  if (!isMap(node)) return refuse(node, path, "this must be a map, as { team: sea }", reading);
  const texts: JsonObject = {};
  for (const { key, keyNode, value } of entriesOf(node, path, document, problems)) {
    const at = joined(path, key);
    reading.places.set(at, document.placeOf(value ?? keyNode));
    const given = isScalar(value) && forbiddenNode(value) === null ? textValue(value) : null;
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
): JsonValue | null {
  const strange = forbiddenNode(node);
  if (strange !== null) return refuse(node, path, strange, reading);
  const { message, enum: words, scalar } = field;
  if (message?.typeName === PayloadSchema.typeName) {
    const json = jsonText(node, path, reading);
    return json === null ? null : { json };
  }
  if (message && message.typeName !== "google.protobuf.Duration")
    return readMessage(node, message, path, reading);
  if (!isScalar(node))
    return refuse(node, path, "this must be a single value, not a list or map", reading);
  const value = message ? duration(node) : scalarValue(node, words, scalar);
  return value.kind === "value" ? value.value : refuse(node, path, value.message, reading);
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

function refuse(node: Node, path: string, message: string, reading: Reading): null {
  reading.problems.invalid(path, reading.document.placeOf(node), message);
  return null;
}

function reportUnknown(
  { key, keyNode }: Entry,
  desc: DescMessage,
  path: string,
  { document, problems }: Reading,
): void {
  const place = document.placeOf(keyNode);
  const name = namesOfMessages[desc.typeName] ?? desc.name.toLowerCase();
  const known = suggestion(key, [...textKeysOf(desc).keys()]);
  problems.invalid(joined(path, key), place, `unknown key ${shown(key)} in ${name}: ${known}`);
}

function reportMissing(
  node: YAMLMap,
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

function reportKind(
  node: YAMLMap,
  keys: ReadonlySet<string>,
  path: string,
  reading: Reading,
): void {
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
