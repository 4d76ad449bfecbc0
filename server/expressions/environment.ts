// Every function that an expression can call. A meter is charged before each call. The functions
// are those of the library, its string extensions, Drover's own, and hidden ones for operations
// that are no calls in the text, so that loops and field access are charged, too.
import {
  type CelEnv,
  type CelFunc,
  CelScalar,
  type CelValue,
  celEnv,
  celError,
  celFunc,
  celList,
  celMethod,
  celType,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
  listType,
  mapType,
} from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { nearestWord } from "../core/definition/nearest-word.ts";
import { ownFunctions } from "./functions.ts";
import { charge, createMeter, type Meter, unitsOfChars } from "./meter.ts";
import { testPattern } from "./pattern.ts";

const { BOOL, DYN, STRING } = CelScalar;
const LIST = listType(DYN);
const MAP = mapType(DYN, DYN);

/** The cost of creating an error. */
const ERROR_UNITS = 50;

/**
 * One meter for the process. An evaluation is one synchronous call, and begins with its own meter.
 */
let meter: Meter = createMeter(0);

export function useMeter(next: Meter): void {
  meter = next;
}

/** Names that no expression can contain; `metered.ts` puts them into the tree. */
export const hidden = {
  append: "@append",
  bool: "@bool",
  has: "@has",
  index: "@index",
  sized: "@sized",
  select: "@select",
  tick: "@tick",
} as const;

/**
 * Lists that a loop of the library builds by appending. Only the loop can see such a list until it
 * is complete, so the list may grow in place.
 */
const growing = new WeakMap<object, CelValue[]>();

const hiddenFunctions: readonly CelFunc[] = [
  celFunc(hidden.append, [LIST, DYN], LIST, (list, item) => {
    const items = growing.get(list);
    if (!items) {
      const copy: CelValue[] = [...list, item];
      const made = celList(copy);
      growing.set(made, copy);
      return made;
    }
    items.push(item);
    return list;
  }),
  celFunc(hidden.bool, [DYN], BOOL, (value) => {
    if (typeof value === "boolean") return value;
    throw new Error(`${described(value)} is given where true or false is needed`);
  }),
  celFunc(hidden.tick, [DYN], DYN, (goesOn) => goesOn),
  celFunc(hidden.sized, [DYN], DYN, (value) => value),
  celFunc(hidden.select, [DYN, STRING], DYN, fieldOf),
  celFunc(hidden.index, [DYN, DYN], DYN, itemOf),
  celFunc(hidden.has, [DYN, STRING], BOOL, (value, field) => {
    if (isCelMap(value)) return value.get(field) !== undefined;
    throw new Error(`has() asks ${described(value)} for its field "${field}"`);
  }),
];

function fieldOf(value: CelValue, field: string): CelValue {
  if (!isCelMap(value)) throw new Error(`${described(value)} has no field "${field}"`);
  const found = value.get(field);
  if (found === undefined) throw new Error(`there is no "${field}"${hint(field, value.keys())}`);
  return found;
}

function itemOf(value: CelValue, key: CelValue): CelValue {
  if (isCelList(value)) {
    const index = isCelUint(key) ? key.value : key;
    if (typeof index !== "bigint" && !(typeof index === "number" && Number.isInteger(index)))
      throw new Error(`${described(key)} is no index of a list: write a whole number from 0`);
    const found = value.get(Number(index));
    if (found !== undefined) return found;
    throw new Error(`there is no item ${index}: the list has ${value.size}, counted from 0`);
  }
  if (!isCelMap(value)) throw new Error(`${described(value)} has no items`);
  if (typeof key === "string") return fieldOf(value, key);
  if (
    typeof key !== "bigint" &&
    typeof key !== "boolean" &&
    typeof key !== "number" &&
    !isCelUint(key)
  )
    throw new Error(`${described(key)} is no key of a map`);
  const found = value.get(key);
  if (found === undefined) throw new Error(`there is no key ${isCelUint(key) ? key.value : key}`);
  return found;
}

function hint(word: string, keys: Iterable<unknown>): string {
  const known: string[] = [];
  for (const key of keys) {
    if (known.length === 20) break;
    if (typeof key === "string") known.push(key);
  }
  const near = nearestWord(word, known);
  if (near) return `: did you mean "${near}"?`;
  const shown = known.slice(0, 8).map((key) => key.slice(0, 40));
  return shown.length > 0 ? `: the fields are ${shown.join(", ")}` : ": it has no fields";
}

function described(value: CelValue): string {
  if (value === null) return "null";
  if (typeof value === "string") return "a text";
  if (typeof value === "boolean") return `${value}`;
  if (typeof value === "bigint" || typeof value === "number") return `the number ${value}`;
  return isCelList(value) ? "a list" : isCelMap(value) ? "a map" : "this value";
}

/**
 * These replace functions of the library that copy lists step by step, treat null as missing, or
 * compile a pattern at each call.
 */
const replaced: readonly CelFunc[] = [
  celFunc("_+_", [LIST, LIST], LIST, (left, right) => celList([...left, ...right])),
  celFunc("@in", [STRING, MAP], BOOL, (key, map) => map.get(key) !== undefined),
  celMethod("matches", STRING, [STRING], BOOL, function (pattern) {
    return testPattern(pattern, String(this), meter);
  }),
  celFunc("matches", [STRING, STRING], BOOL, (text, pattern) => testPattern(pattern, text, meter)),
];

/**
 * The cost of a call beyond its one unit, by name. Other functions cost the texts that they read.
 */
type Cost = (args: readonly CelValue[]) => void;

const costs: Readonly<Record<string, Cost>> = {
  [hidden.append]: () => charge(meter, 1),
  [hidden.tick]: () => charge(meter, 3),
  // For lists and maps that a loop visits, and for literals, whose entries are created each time.
  [hidden.sized]: ([value]) => charge(meter, sizeOf(value) * (isCelMap(value) ? 4 : 1)),
  // The library compares a key that is no string with every key of the map.
  [hidden.index]: ([value, key]) =>
    charge(meter, isCelMap(value) && typeof key !== "string" ? value.size : 1),
  "_==_": ([left]) => chargeParts(left),
  "_!=_": ([left]) => chargeParts(left),
  "@in": ([value, within]) => {
    if (isCelList(within)) chargeParts(within);
    charge(meter, lengthOf(value));
  },
  "_+_": ([left, right]) =>
    charge(
      meter,
      unitsOfChars(lengthOf(left) + lengthOf(right)) + (sizeOf(left) + sizeOf(right)) / 2,
    ),
  size: ([value]) => charge(meter, typeof value === "string" ? value.length : 1),
  matches: () => charge(meter, 1),
  contains: searchCost,
  indexOf: searchCost,
  lastIndexOf: searchCost,
  split: (args) => {
    searchCost(args);
    charge(meter, lengthOf(args[0]));
  },
  replace: (args) => {
    searchCost(args);
    const [text, from, to] = args;
    const most = lengthOf(text) / Math.max(1, lengthOf(from)) + 1;
    charge(meter, unitsOfChars(most * (lengthOf(to) + 1)));
  },
  join: ([list, separator]) => {
    chargeParts(list);
    charge(meter, unitsOfChars(sizeOf(list) * lengthOf(separator)));
  },
  format: ([text, list]) => {
    charge(meter, 10 * lengthOf(text));
    chargeParts(list);
  },
  lowerAscii: ([text]) => charge(meter, lengthOf(text)),
  upperAscii: ([text]) => charge(meter, lengthOf(text)),
  "strings.quote": ([text]) => charge(meter, lengthOf(text)),
};

/** The worst case of a search: each position is compared with a large part of the searched text. */
function searchCost([text, sought]: readonly CelValue[]): void {
  charge(meter, unitsOfChars(lengthOf(text)) + (lengthOf(text) * lengthOf(sought)) / 512);
}

function lengthOf(value: CelValue | undefined): number {
  return typeof value === "string" || value instanceof Uint8Array ? value.length : 0;
}

function sizeOf(value: CelValue | undefined): number {
  return isCelList(value) || isCelMap(value) ? value.size : 0;
}

function readCost(args: readonly CelValue[]): void {
  charge(meter, args.reduce((sum: number, value) => sum + lengthOf(value), 0) / 32);
}

/** Charges for all parts of a value; a part that occurs several times is charged each time. */
function chargeParts(value: CelValue | undefined): void {
  charge(meter, unitsOfChars(lengthOf(value)));
  if (isCelList(value)) for (const item of value) chargeParts(item);
  else if (isCelMap(value)) for (const [key, item] of value) [key, item].forEach(chargeParts);
}

/** All functions before metering, with the types and names of their overloads. */
export const functions: CelEnv["funcs"] = celEnv({
  funcs: [...strings, ...ownFunctions, ...replaced, ...hiddenFunctions],
}).funcs;

/** The name of a metered function; no expression can contain it. */
export function meteredName(name: string): string {
  return `$${name}`;
}

/**
 * All overloads of a name behind one function that charges first. Errors get the id of their node,
 * which the library leaves out, and are charged, too.
 */
function metered(name: string): CelFunc {
  const group = functions.find(name);
  const cost = costs[name] ?? readCost;
  const call: CelFunc["call"] = (id, target, args) => {
    const values = target === undefined ? args : [target, ...args];
    try {
      charge(meter, 1);
      cost(values);
      const found = group?.call(id, target, args);
      const result = found === undefined ? new Error(noOverload(name, values)) : found;
      if (!(result instanceof Error)) return result;
      charge(meter, ERROR_UNITS);
      return isCelError(result) && result.exprId !== undefined ? result : locate(result, id);
    } catch (error) {
      return locate(error, id);
    }
  };
  const shape = celFunc(meteredName(name), [], DYN, () => null);
  const { id, target, arguments: parameters, result } = shape;
  return { ...shape, id, name: shape.name, target, arguments: parameters, result, call };
}

function locate(error: unknown, id: number) {
  return celError(new Error(error instanceof Error ? error.message : String(error)), id);
}

function noOverload(name: string, values: readonly CelValue[]): string {
  const types = values.map((value) => plainType(celType(value).name));
  return `${signOf(name)} does not take ${types.join(" and ")}`;
}

/** A function as an author writes it: the library names `a + b` a call of `_+_`. */
export function signOf(name: string): string {
  return name === "@in" ? "in" : name === "-_" ? "-" : name.replace(/^_?(.+?)_$/, "$1");
}

export function plainType(name: string): string {
  if (name === "null_type") return "null";
  return name.replace(/^google\.protobuf\.(.*)$/, (_, last: string) => last.toLowerCase());
}

const names = new Set([...functions].map(({ name }) => name));

export const environment: CelEnv = celEnv({ funcs: [...names].map(metered) });
