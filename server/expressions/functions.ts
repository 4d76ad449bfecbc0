// Functions that replace those of the library which depend on the machine or accept mistakes.
import { type CelFunc, CelScalar, celFunc, celMethod, celUint, objectType } from "@bufbuild/cel";
import { TimestampSchema, timestampDate } from "@bufbuild/protobuf/wkt";

const { DOUBLE, INT, STRING, UINT } = CelScalar;
const TIMESTAMP = objectType(TimestampSchema);

type Arithmetic = (left: number, right: number) => number;

/** JSON does not distinguish 3 from 3.0, so arithmetic with an int and a double must work. */
const mixedArithmetic: readonly CelFunc[] = Object.entries<Arithmetic>({
  "_+_": (left, right) => left + right,
  "_-_": (left, right) => left - right,
  "_*_": (left, right) => left * right,
  "_/_": (left, right) => left / right,
}).flatMap(([name, apply]) => [
  celFunc(name, [INT, DOUBLE], DOUBLE, (left, right) => apply(Number(left), right)),
  celFunc(name, [DOUBLE, INT], DOUBLE, (left, right) => apply(left, Number(right))),
]);

/** The library reads "" as 0, "0x1F" as 31 and "abc" as NaN. */
const conversions: readonly CelFunc[] = [
  celFunc("int", [STRING], INT, (text) => {
    const value = BigInt(numeral(text, /^[-+]?\d+$/, "int").replace("+", ""));
    return fits(value, BigInt.asIntN(64, value));
  }),
  celFunc("uint", [STRING], UINT, (text) => {
    const value = BigInt(numeral(text, /^\d+$/, "uint"));
    return celUint(fits(value, BigInt.asUintN(64, value)));
  }),
  celFunc("double", [STRING], DOUBLE, (text) =>
    Number(
      numeral(text, /^(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|NaN|-?Infinity)$/, "double"),
    ),
  ),
];

function numeral(text: string, pattern: RegExp, type: string): string {
  if (text.length <= 64 && pattern.test(text)) return text;
  throw new Error(`"${text.slice(0, 20)}${text.length > 20 ? "..." : ""}" is no ${type}`);
}

function fits(value: bigint, wrapped: bigint): bigint {
  if (wrapped !== value) throw new Error(`${value} does not fit into 64 bits`);
  return value;
}

const parts: Readonly<Record<string, (at: Date) => number>> = {
  getFullYear: (at) => at.getUTCFullYear(),
  getMonth: (at) => at.getUTCMonth(),
  getDate: (at) => at.getUTCDate(),
  getDayOfMonth: (at) => at.getUTCDate() - 1,
  getDayOfWeek: (at) => at.getUTCDay(),
  getDayOfYear: (at) => Math.floor((Number(at) - yearStart(at)) / 86_400_000),
  getHours: (at) => at.getUTCHours(),
  getMinutes: (at) => at.getUTCMinutes(),
  getSeconds: (at) => at.getUTCSeconds(),
  getMilliseconds: (at) => at.getUTCMilliseconds(),
};

/** Date.UTC would read the years 0 to 99 as 1900 to 1999. */
function yearStart(at: Date): number {
  const start = new Date(Number(at));
  start.setUTCMonth(0, 1);
  return start.setUTCHours(0, 0, 0, 0);
}

/**
 * The parts of a time, in UTC or at a fixed offset. The library computes them in the time zone of
 * the machine, which skips an hour in spring, and accepts named zones, whose rules depend on the
 * machine. An input is rendered again after its task was handed out, perhaps on another machine,
 * and must be the same.
 */
const timeParts: readonly CelFunc[] = Object.entries(parts).flatMap(([name, part]) => [
  celMethod(name, TIMESTAMP, [], INT, function () {
    return BigInt(part(timestampDate(this.message)));
  }),
  celMethod(name, TIMESTAMP, [STRING], INT, function (zone) {
    return BigInt(part(new Date(Number(timestampDate(this.message)) + offsetMs(zone))));
  }),
]);

function offsetMs(zone: string): number {
  if (zone === "UTC") return 0;
  const found = /^([-+]?)(\d\d):(\d\d)$/.exec(zone);
  if (found)
    return (found[1] === "-" ? -1 : 1) * (Number(found[2]) * 60 + Number(found[3])) * 60_000;
  throw new Error(
    `"${zone.slice(0, 40)}" is no offset: write "UTC" or one as "+02:00"; what the name of a zone means differs between machines`,
  );
}

export const ownFunctions: readonly CelFunc[] = [...mixedArithmetic, ...conversions, ...timeParts];
