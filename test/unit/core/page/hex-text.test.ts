/** Hex as it is in a page. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeHex, encodeHex } from "../../../../server/core/page/field-codec.ts";

const SETTINGS = { seed: 20_261_126, numRuns: 300 };

test("bytes in hex are written in base64url without padding, and read back", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 33 }), (bytes) => {
      const hex = Buffer.from(bytes).toString("hex");
      const text: string = JSON.parse(encodeHex(hex));
      expect(text).toBe(Buffer.from(bytes).toString("base64url"));
      expect(decodeHex(text)).toBe(hex);
    }),
    SETTINGS,
  );
});

test.for(["", "abc", "AB", "secret 1", ":", 'a"\nb', "00xx"])(
  "%j is no hex, and stays as it is behind a colon",
  (text) => {
    expect(JSON.parse(encodeHex(text))).toBe(`:${text}`);
    expect(decodeHex(JSON.parse(encodeHex(text)))).toBe(text);
  },
);
