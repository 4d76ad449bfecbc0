// Measures how deep JSON is nested without parsing it: parsing 200 KB of nothing but brackets would
// block all other calls for tens of milliseconds.

/**
 * For any request: no message of the contract is nested nearly as deep. Payloads are text inside
 * it.
 */
export const JSON_DEPTH_MAX = 100;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/**
 * Takes the bytes of one JSON text in pieces of any size; true from the piece on that is too deep.
 */
export function createDepthMeter(most = JSON_DEPTH_MAX): (bytes: Uint8Array) => boolean {
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  let isTooDeep = false;
  return (bytes) => {
    for (const byte of bytes) {
      if (isTooDeep) break;
      if (isEscaped) isEscaped = false;
      else if (isText) {
        if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isText = false;
      } else if (byte === QUOTE) isText = true;
      else if (OPENING.has(byte)) isTooDeep = ++depth > most;
      else if (CLOSING.has(byte)) depth--;
    }
    return isTooDeep;
  };
}
