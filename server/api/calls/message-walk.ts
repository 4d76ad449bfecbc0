// Finds messages of one type anywhere in another message, with their paths. The descriptors show
// which branches cannot contain one; these are skipped, so a request without payloads costs
// nothing.
import { type DescField, type DescMessage, isMessage, type Message } from "@bufbuild/protobuf";

/** `path` is a function because most visitors do not need it. */
type Visit = (found: Message, path: () => string) => void;

export interface Finder {
  /** Calls `visit` for each message of the wanted type; of nested ones only for the outermost. */
  find(desc: DescMessage, message: Message, visit: Visit): void;
}

/** A field that can contain a wanted message, and the field's type. */
interface Branch {
  readonly field: DescField;
  readonly to: DescMessage;
}

export function createFinder(wanted: DescMessage | "every"): Finder {
  const branches = new Map<string, readonly Branch[]>();
  const isWanted = (desc: DescMessage) => wanted === "every" || desc.typeName === wanted.typeName;

  const canHold = (desc: DescMessage, seen: ReadonlySet<string>): boolean => {
    if (isWanted(desc)) return true;
    if (seen.has(desc.typeName)) return false;
    const on = new Set(seen).add(desc.typeName);
    return desc.fields.some((field) => field.message && canHold(field.message, on));
  };
  const branchesOf = (desc: DescMessage): readonly Branch[] => {
    const known = branches.get(desc.typeName);
    if (known) return known;
    const found = desc.fields.flatMap((field) =>
      field.message && canHold(field.message, new Set()) ? [{ field, to: field.message }] : [],
    );
    branches.set(desc.typeName, found);
    return found;
  };

  const walk = (desc: DescMessage, message: Message, path: () => string, visit: Visit): void => {
    if (isWanted(desc)) visit(message, path);
    if (wanted !== "every" && isWanted(desc)) return;
    for (const { field, to } of branchesOf(desc)) {
      const enter = (value: unknown, sub: () => string): void => {
        if (!isMessage(value)) return;
        walk(to, value, () => [path(), field.name].filter(Boolean).join(".") + sub(), visit);
      };
      const value = contentOf(message, field);
      if (field.fieldKind === "message") enter(value, () => "");
      else if (Array.isArray(value))
        for (const [index, item] of value.entries()) enter(item, () => `[${index}]`);
      else if (typeof value === "object" && value !== null)
        for (const [key, item] of Object.entries(value))
          enter(item, () => `[${JSON.stringify(key)}]`);
    }
  };

  return Object.freeze({
    find(desc: DescMessage, message: Message, visit: Visit) {
      if (isWanted(desc) || branchesOf(desc).length > 0) walk(desc, message, () => "", visit);
    },
  });
}

/** A member of a oneof is stored in the oneof's property, as generated code has it. */
function contentOf(message: Message, field: DescField): unknown {
  if (field.oneof === undefined) return Reflect.get(message, field.localName);
  const one: unknown = Reflect.get(message, field.oneof.localName);
  if (typeof one !== "object" || one === null || !("case" in one)) return undefined;
  return one.case === field.localName && "value" in one ? one.value : undefined;
}
