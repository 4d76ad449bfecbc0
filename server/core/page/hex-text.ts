// Random values and digests within a page: the rules have them in hex, a page in base64url, which
// takes two thirds of it. What is no hex stands behind a colon, as it is.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const HEX = /^(?:[0-9a-f]{2})+$/;

/** Three digits of hex are 12 bits, and so are two of base64. */
const PAIRS: readonly string[] = Array.from(
  { length: 1 << 12 },
  (_, bits) => DIGITS.charAt(bits >> 6) + DIGITS.charAt(bits & 63),
);

/** As JSON. */
export function encodeHex(hex: string): string {
  if (!HEX.test(hex)) return JSON.stringify(`:${hex}`);
  let text = "";
  for (let at = 0; at < hex.length; at += 3) {
    const digits = hex.slice(at, at + 3);
    // The last ones may be fewer; zeros fill them up, and base64 leaves out what is of those alone.
    const pair = PAIRS[Number.parseInt(digits.padEnd(3, "0"), 16)] ?? "";
    text += digits.length === 1 ? pair.charAt(0) : pair;
  }
  return `"${text}"`;
}

export function decodeHex(text: string): string {
  if (text.startsWith(":")) return text.slice(1);
  let hex = "";
  for (let at = 0; at < text.length; at += 2) {
    const low = at + 1 < text.length ? DIGITS.indexOf(text.charAt(at + 1)) : 0;
    const bits = (DIGITS.indexOf(text.charAt(at)) << 6) | low;
    hex += bits.toString(16).padStart(3, "0");
  }
  return hex.slice(0, Math.floor((text.length * 6) / 8) * 2);
}
