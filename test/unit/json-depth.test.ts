// Nesting of JSON is measured before it is parsed, in whatever pieces it comes.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createDepthMeter } from "../../server/api/transport/json-depth.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("what is nested as deep as allowed passes, and one more does not", () => {
  const nested = (depth: number) => bytes(`${"[".repeat(depth)}${"]".repeat(depth)}`);
  expect(createDepthMeter(100)(nested(100))).toBe(false);
  expect(createDepthMeter(100)(nested(101))).toBe(true);
});

test("brackets within text are no nesting, nor is what is side by side", () => {
  expect(createDepthMeter(1)(bytes('["[[[", "\\"[[[", "\\\\"]'))).toBe(false);
  expect(createDepthMeter(2)(bytes("[[],[],[],{}]"))).toBe(false);
});

test("any JSON is as deep as it is, however it is cut", () => {
  const depthOf = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
      : 0;
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(), (value, cut) => {
      const text = bytes(JSON.stringify(value));
      const depth = depthOf(value);
      const at = cut % (text.length + 1);
      const meterOf = (most: number) => {
        const meter = createDepthMeter(most);
        return [meter(text.subarray(0, at)), meter(text.subarray(at))].some(Boolean);
      };
      expect(meterOf(depth)).toBe(false);
      if (depth > 0) expect(meterOf(depth - 1)).toBe(true);
    }),
  );
});
