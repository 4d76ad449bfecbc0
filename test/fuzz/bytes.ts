// Mutations of an encoded message: each makes bytes that a careless reader would trip over.
import type { Chance } from "../../simulator/chance.ts";

type Mutation = (bytes: Uint8Array, chance: Chance) => Uint8Array;

const at = (bytes: Uint8Array, chance: Chance) => chance.between(0, Math.max(0, bytes.length - 1));

function spliced(bytes: Uint8Array, from: number, to: number, put: Uint8Array): Uint8Array {
  return Uint8Array.from([...bytes.subarray(0, from), ...put, ...bytes.subarray(to)]);
}

const inserted = (bytes: Uint8Array, chance: Chance, put: readonly number[]) => {
  const place = chance.between(0, bytes.length);
  return spliced(bytes, place, place, Uint8Array.from(put));
};

/** Eleven bytes with their highest bit set: longer than any varint. */
const OVERRUN = Array.from({ length: 11 }, () => 0xff);

const MUTATIONS: Readonly<Record<string, Mutation>> = {
  flip: (bytes, chance) => {
    const made = Uint8Array.from(bytes);
    const place = at(bytes, chance);
    made[place] = (made[place] ?? 0) ^ (1 << chance.between(0, 7));
    return made;
  },
  truncate: (bytes, chance) => bytes.subarray(0, at(bytes, chance)),
  overrun: (bytes, chance) => inserted(bytes, chance, OVERRUN),
  overrunAtEnd: (bytes) => spliced(bytes, bytes.length, bytes.length, Uint8Array.from(OVERRUN)),
  /** A length of 2 GiB and more. */
  longLength: (bytes, chance) => inserted(bytes, chance, [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
  repeated: (bytes) => spliced(bytes, bytes.length, bytes.length, bytes),
  /** Field 1,000, and the highest field number, which no message has. */
  unknown: (bytes, chance) =>
    spliced(
      bytes,
      bytes.length,
      bytes.length,
      Uint8Array.from(
        chance.pick([
          [0xc0, 0x3e, 0x01],
          [0xfa, 0xff, 0xff, 0xff, 0x0f, 0x01, 0x41],
        ]),
      ),
    ),
  group: (bytes, chance) => inserted(bytes, chance, [0x0b, 0x08, 0x01, 0x0c]),
  openGroup: (bytes, chance) => inserted(bytes, chance, [0x0b]),
  manyGroups: (bytes) =>
    spliced(bytes, bytes.length, bytes.length, new Uint8Array(20_000).fill(0x0b)),
  /** Field number 0, and the wire types 6 and 7, are not allowed. */
  badTag: (bytes, chance) => inserted(bytes, chance, [chance.pick([0x00, 0x06, 0x07, 0x0e])]),
  wireType: (bytes, chance) => {
    const made = Uint8Array.from(bytes);
    if (made.length > 0) made[0] = ((made[0] ?? 0) & 0xf8) | chance.between(0, 7);
    return made;
  },
  badUtf8: (bytes, chance) => {
    const made = Uint8Array.from(bytes);
    made[at(bytes, chance)] = chance.pick([0xff, 0xc0, 0xed, 0x80]);
    return made;
  },
  removed: (bytes, chance) => {
    const from = at(bytes, chance);
    return spliced(bytes, from, from + chance.between(1, 8), new Uint8Array());
  },
  zeroes: (bytes) => spliced(bytes, bytes.length, bytes.length, new Uint8Array(64)),
  anything: (_bytes, chance) => chance.bytes(chance.between(0, 200)),
};

const NAMES = Object.keys(MUTATIONS);

/** One to three mutations, one after the other, and their names. */
export function mutatedBytes(bytes: Uint8Array, chance: Chance) {
  const names = Array.from({ length: chance.between(1, 3) }, () => chance.pick(NAMES));
  const made = names.reduce((now, name) => MUTATIONS[name]?.(now, chance) ?? now, bytes);
  return { bytes: made, mutations: names };
}
