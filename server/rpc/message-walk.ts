// Finds messages of one type anywhere in another, with their paths. Branches that cannot hold one
// are known from the descriptors and never entered, so a request without payloads costs nothing.
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";

export type Visit = (found: ReflectMessage, path: string) => void;

export interface Finder {
  /** Calls `visit` for each message of the wanted type, the outermost of nested ones only. */
  find(desc: DescMessage, message: Message, visit: Visit): void;
}

export function createFinder(wanted: DescMessage | "every"): Finder {
  const branches = new Map<string, readonly DescField[]>();
  const isWanted = (desc: DescMessage) => wanted === "every" || desc.typeName === wanted.typeName;

  const canHold = (desc: DescMessage, seen: ReadonlySet<string>): boolean => {
    if (isWanted(desc)) return true;
    if (seen.has(desc.typeName)) return false;
    const on = new Set(seen).add(desc.typeName);
    return desc.fields.some((field) => field.message && canHold(field.message, on));
  };
  const branchesOf = (desc: DescMessage): readonly DescField[] => {
    const known = branches.get(desc.typeName);
    if (known) return known;
    const fields = desc.fields.filter(
      (field) => field.message && canHold(field.message, new Set()),
    );
    branches.set(desc.typeName, fields);
    return fields;
  };

  const walk = (message: ReflectMessage, path: string, visit: Visit): void => {
    if (isWanted(message.desc)) visit(message, path);
    if (wanted !== "every" && isWanted(message.desc)) return;
    for (const field of branchesOf(message.desc)) {
      if (!message.isSet(field)) continue;
      const at = path === "" ? field.name : `${path}.${field.name}`;
      for (const [sub, value] of messagesOf(message, field)) walk(value, `${at}${sub}`, visit);
    }
  };

  return Object.freeze({
    find(desc: DescMessage, message: Message, visit: Visit) {
      if (isWanted(desc) || branchesOf(desc).length > 0) walk(reflect(desc, message), "", visit);
    },
  });
}

function* messagesOf(
  message: ReflectMessage,
  field: DescField,
): Generator<readonly [string, ReflectMessage]> {
  if (field.fieldKind === "message") {
    yield ["", message.get(field)];
  } else if (field.fieldKind === "list" && field.listKind === "message") {
    let index = 0;
    for (const item of message.get(field)) if (isMessage(item)) yield [`[${index++}]`, item];
  } else if (field.fieldKind === "map" && field.mapKind === "message") {
    for (const [key, item] of message.get(field))
      if (isMessage(item)) yield [`[${JSON.stringify(key)}]`, item];
  }
}

function isMessage(value: unknown): value is ReflectMessage {
  return typeof value === "object" && value !== null && "desc" in value && "message" in value;
}
