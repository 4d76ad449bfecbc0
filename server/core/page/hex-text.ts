// Random values and digests within a page: the rules have them in hex, a page has them in
// base64url, which takes two thirds of the space. A value that is not hex is stored as it is,
// behind a colon. Each write of a page has a few of them, so lookup tables make the conversion
// cheap.
//
// Three digits of hex are 12 bits, and so are two of base64.

const HEX = "0123456789abcdef";
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const TWELVE_BITS = Array.from({ length: 1 << 12 }, (_, bits) => bits);

const BASE64_OF = TWELVE_BITS.map((bits) => BASE64.charAt(bits >> 6) + BASE64.charAt(bits & 63));
const HEX_OF = TWELVE_BITS.map((bits) => bits.toString(16).padStart(3, "0"));
const HEX_VALUES = valuesOf(HEX);
const BASE64_VALUES = valuesOf(BASE64);

/** By character code: the value of a digit; -1: no digit. */
function valuesOf(digits: string): Int8Array {
  const values = new Int8Array(128).fill(-1);
  for (let at = 0; at < digits.length; at++) values[digits.charCodeAt(at)] = at;
  return values;
}

/** The value as JSON. */
export function encodeHex(hex: string): string {
  const { length } = hex;
  let text = '"';
  let all = length > 0 && length % 2 === 0 ? 0 : -1;
  for (let at = 0; at < length; at += 3) {
    // Zeros stand for digits that are missing at the end.
    const bits =
      (valueAt(hex, at) << 8) |
      (at + 1 < length ? valueAt(hex, at + 1) << 4 : 0) |
      (at + 2 < length ? valueAt(hex, at + 2) : 0);
    all |= bits;
    text += BASE64_OF[bits];
  }
  if (all < 0) return JSON.stringify(`:${hex}`);
  // For a single digit of hex the second digit of base64 has no information.
  return length % 3 === 1 ? `${text.slice(0, -1)}"` : `${text}"`;
}

/** Less than 0: not hex. */
function valueAt(hex: string, at: number): number {
  return HEX_VALUES[hex.charCodeAt(at)] ?? -1;
}

export function decodeHex(text: string): string {
  if (text.startsWith(":")) return text.slice(1);
  let hex = "";
  for (let at = 0; at < text.length; at += 2) {
    const high = BASE64_VALUES[text.charCodeAt(at)] ?? 0;
    const low = at + 1 < text.length ? (BASE64_VALUES[text.charCodeAt(at + 1)] ?? 0) : 0;
    hex += HEX_OF[(high << 6) | low];
  }
  return hex.slice(0, Math.floor((text.length * 6) / 8) * 2);
}
