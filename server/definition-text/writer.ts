/**
 * Writes a definition as YAML in the one form in which reader.ts reads it back: keys in the order
 * of the proto, one value in a line, durations as `1h30m`, and nothing for a field that is not set.
 * Equal definitions have equal texts, so a diff of two texts is a diff of the definitions.
 *
 * A payload of bytes cannot be written in YAML. It is left out, and a comment at the top says so.
 */
import type {
  DescField,
  DescMessage,
  JsonObject,
  JsonValue,
  MessageShape,
} from "@bufbuild/protobuf";
import { toJson } from "@bufbuild/protobuf";
import { PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";
import {
  StepDefinitionSchema,
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import { Document, isScalar, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";
import { durationText } from "../duration-text.ts";
import { oneOrMany, shortField, textKeysOf } from "./dialect.ts";
import { enumWords } from "./values.ts";

type Written = Scalar | YAMLMap | YAMLSeq;

/** Fields that cannot be written, by their paths. */
type LeftOut = string[];

export function workflowTextOf(definition: WorkflowDefinition): string {
  return textOf(definition, WorkflowDefinitionSchema);
}

function textOf<Desc extends DescMessage>(message: MessageShape<Desc>, desc: Desc): string {
  const leftOut: LeftOut = [];
  const document = new Document(null, { schema: "core", version: "1.2" });
  const json = asObject(toJson(desc, message, { useProtoFieldName: true }));
  document.contents = writeMessage(json, desc, "", leftOut);
  if (leftOut.length > 0)
    document.commentBefore = ` Not in this text, because it is not JSON: ${leftOut.join(", ")}`;
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function writeMessage(
  message: JsonObject,
  desc: DescMessage,
  path: string,
  leftOut: LeftOut,
): Written {
  const short = shortField(desc);
  const [only, ...others] = Object.keys(message);
  if (short && only === short.name && others.length === 0) {
    const value = writeSingle(message[only], short, path, leftOut);
    if (value) return value;
  }
  const map = new YAMLMap();
  for (const [key, { field, parent }] of textKeysOf(desc)) {
    const holder = parent === null ? message : asObject(message[parent.name]);
    const value = holder[field.name];
    if (value === undefined) continue;
    const at = path === "" ? key : `${path}.${key}`;
    const written = writeField(value, field, at, leftOut);
    if (written) map.items.push(new Pair(textScalar(key), written));
  }
  return map;
}

function writeField(
  value: JsonValue,
  field: DescField,
  path: string,
  leftOut: LeftOut,
): Written | null {
  if (field.fieldKind === "map") {
    const texts = new YAMLMap();
    for (const [key, text] of Object.entries(asObject(value)))
      texts.items.push(new Pair(textScalar(key), jsonNode(text)));
    return texts;
  }
  if (field.fieldKind !== "list" || !Array.isArray(value))
    return writeSingle(value, field, path, leftOut);
  const items = value.flatMap((item, at) => {
    const written = writeSingle(item, field, `${path}[${at}]`, leftOut);
    return written ? [written] : [];
  });
  const [first, ...others] = items;
  if (first instanceof YAMLMap && others.length === 0 && oneOrMany.has(field.name)) return first;
  return listOf(items, field.message?.typeName === StepDefinitionSchema.typeName);
}

/** Lists of single values are in one line. */
function listOf(items: readonly Written[], isSpaced: boolean): YAMLSeq {
  const list = new YAMLSeq();
  list.items = [...items];
  list.flow = items.every(isScalar);
  if (isSpaced) for (const item of items.slice(1)) item.spaceBefore = true;
  return list;
}

function writeSingle(
  value: JsonValue | undefined,
  { message, enum: words }: DescField,
  path: string,
  leftOut: LeftOut,
): Written | null {
  if (message?.typeName === PayloadSchema.typeName) {
    const { json } = asObject(value);
    if (typeof json === "string") return jsonNode(parsed(json));
    leftOut.push(path);
    return null;
  }
  if (message?.typeName === "google.protobuf.Duration") return textScalar(durationOf(value));
  if (message) return writeMessage(asObject(value), message, path, leftOut);
  if (!words) return jsonNode(value);
  const [word = ""] = [...enumWords(words)].find(([, name]) => name === value) ?? [];
  return textScalar(word);
}

/** A duration in the JSON form of protobuf, as `90.250s`, in the form of authors. */
function durationOf(value: JsonValue | undefined): string {
  return durationText(Number(String(value).slice(0, -1)) * 1_000);
}

/** A value of JSON; a number that a double does not hold exactly is a bigint. */
type Exact = JsonValue | bigint | undefined;

function parsed(json: string): Exact {
  return JSON.parse(json, (_key, value: Exact, of?: { readonly source?: string }) => {
    const source = of?.source ?? "";
    const isWhole = typeof value === "number" && /^-?\d+$/.test(source);
    return isWhole && !Number.isSafeInteger(value) ? BigInt(source) : value;
  });
}

function jsonNode(value: Exact): Written {
  if (Array.isArray(value)) return listOf(value.map(jsonNode), false);
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? textScalar(value) : new Scalar(value ?? null);
  }
  const map = new YAMLMap();
  for (const [key, member] of Object.entries(value))
    map.items.push(new Pair(textScalar(key), jsonNode(member)));
  return map;
}

function textScalar(text: string): Scalar {
  const scalar = new Scalar(text);
  // Plain texts and blocks keep neither control characters nor spaces at the end of a line.
  if (!text.isWellFormed() || /[[\p{C}\p{Zl}\p{Zp}]--[\n]]|\s\n|\n$/v.test(text))
    scalar.type = Scalar.QUOTE_DOUBLE;
  return scalar;
}

function asObject(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
