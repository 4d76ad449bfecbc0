/** Task tokens: complete for the agent that received one, and opaque to all others. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { stepKeyOf } from "../../server/core/model/step-key.ts";
import {
  formatCallbackToken,
  formatTaskToken,
  parseCallbackToken,
  parseTaskToken,
  type TaskToken,
} from "../../server/dispatch/token.ts";

const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((array) => Buffer.from(array).toString("hex"));

const tokens: fc.Arbitrary<TaskToken> = fc.record({
  namespace: fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,62}$/),
  runId: fc.uuid(),
  step: fc.integer({ min: 0, max: 65_535 }),
  task: fc.constantFrom("perform", "compensate", "verify"),
  fence: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  secret: hex(16),
});

describe("a task token", () => {
  it("has all that it was made of", () => {
    fc.assert(
      fc.property(tokens, (token) => {
        expect(parseTaskToken(formatTaskToken(token))).toEqual(token);
      }),
    );
  });

  it("is text that fits anywhere: a URL, a header, a file name", () => {
    fc.assert(
      fc.property(tokens, (token) => {
        expect(formatTaskToken(token)).toMatch(/^[A-Za-z0-9_-]+$/);
      }),
    );
  });

  it("differs for everything that differs", () => {
    fc.assert(
      fc.property(tokens, tokens, (a, b) => {
        const same = JSON.stringify(a) === JSON.stringify(b);
        expect(formatTaskToken(a) === formatTaskToken(b)).toBe(same);
      }),
    );
  });

  it("is none that was cut short before its namespace", () => {
    fc.assert(
      fc.property(tokens, fc.nat({ max: 43 }), (token, length) => {
        const bytes = Buffer.from(formatTaskToken(token), "base64url").subarray(0, length);
        expect(parseTaskToken(bytes.toString("base64url"))).toBeNull();
      }),
    );
  });

  it("is none that was cut by any number of characters, or that has any behind it", () => {
    const more = fc.stringMatching(/^[A-Za-z0-9_=.\n-]{1,4}$/);
    fc.assert(
      fc.property(tokens, more, (token, behind) => {
        const text = formatTaskToken(token);
        for (let cut = 1; cut < text.length; cut++)
          expect(parseTaskToken(text.slice(0, -cut))).toBeNull();
        expect(parseTaskToken(text + behind)).toBeNull();
        const callback = formatCallbackToken(token);
        for (let cut = 1; cut < callback.length; cut++)
          expect(parseCallbackToken(callback.slice(0, -cut))).toBeNull();
        expect(parseCallbackToken(callback + behind)).toBeNull();
      }),
    );
  });

  it("is read as the server before this one wrote it, without the length of its namespace", () => {
    const ofVersion1 = "AQEBiQAAAABwAIAAAAAAAAAAAAcAAAADAAAAAgABAgMEBQYHCAkKCwwNDg9kZWZhdWx0";
    expect(parseTaskToken(ofVersion1)).toEqual({
      namespace: "default",
      runId: "01890000-0000-7000-8000-000000000000",
      step: stepKeyOf(7, 3),
      task: "compensate",
      fence: 2,
      secret: "000102030405060708090a0b0c0d0e0f",
    });
    expect(parseTaskToken(`${ofVersion1}A`)).toBeNull();
  });

  it("is none from any other text, and reading one never throws", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        const token = parseTaskToken(text);
        if (token) expect(formatTaskToken(token)).toBe(text);
      }),
    );
    for (const text of ["", "=", "a b", "AAAA", "é", "A".repeat(10_000)])
      expect(parseTaskToken(text)).toBeNull();
  });

  it("is none with a name that no namespace has", () => {
    const token = { runId: "01890000-0000-7000-8000-000000000000", step: 0, fence: 1 };
    for (const namespace of ["a\0b", "a b", "x".repeat(129)]) {
      const made: TaskToken = { ...token, task: "perform", secret: "00".repeat(16), namespace };
      expect(parseTaskToken(formatTaskToken(made))).toBeNull();
      expect(parseCallbackToken(formatCallbackToken(made))).toBeNull();
    }
  });

  it("is none with a fence that was never given out", () => {
    const token: TaskToken = {
      namespace: "default",
      runId: "01890000-0000-7000-8000-000000000000",
      step: 0,
      task: "perform",
      fence: 1,
      secret: "00".repeat(16),
    };
    for (const fence of [0, -1])
      expect(parseTaskToken(formatTaskToken({ ...token, fence }))).toBeNull();
  });
});

describe("a callback token", () => {
  it("is no task token, and does not show the secret of one", () => {
    fc.assert(
      fc.property(tokens, (token) => {
        const callback = formatCallbackToken(token);
        expect(parseTaskToken(callback)).toBeNull();
        expect(Buffer.from(callback, "base64url").toString("hex")).not.toContain(token.secret);
        expect(callback).toBe(formatCallbackToken(token));
      }),
    );
  });

  it("has all of the task but its secret, of which it has the digest", () => {
    fc.assert(
      fc.property(tokens, ({ secret, ...fields }) => {
        const secretDigest = createHash("sha256").update(Buffer.from(secret, "hex")).digest("hex");
        expect(parseCallbackToken(formatCallbackToken({ ...fields, secret }))).toEqual({
          ...fields,
          secretDigest,
        });
      }),
    );
  });

  it("is none from a task token or any other text, and reading one never throws", () => {
    fc.assert(
      fc.property(tokens, fc.string({ maxLength: 300 }), (token, text) => {
        expect(parseCallbackToken(formatTaskToken(token))).toBeNull();
        expect(parseCallbackToken(text)).toBeNull();
      }),
    );
    for (const text of ["", "=", "a b", "AgAA", "é", "A".repeat(10_000)])
      expect(parseCallbackToken(text)).toBeNull();
  });
});

test("kinds keep their numbers in tokens, which outlive servers", () => {
  const token = { namespace: "n", runId: "01890000-0000-7000-8000-000000000000", step: 0 };
  const numbers = (["perform", "compensate", "verify"] as const).map((task) =>
    Buffer.from(
      formatTaskToken({ ...token, task, fence: 1, secret: "00".repeat(16) }),
      "base64url",
    ).readUInt8(1),
  );
  expect(numbers).toEqual([0, 1, 2]);
});
