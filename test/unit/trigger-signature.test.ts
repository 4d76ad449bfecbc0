/** A call of a trigger is by its alleged caller, or it is not: over any body, secret and time. */
import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { authProblem } from "../../server/api/trigger/trigger-signature.ts";
import type { TriggerAuth } from "../../server/core/definition/trigger.ts";

const secrets = fc.string({ minLength: 16, maxLength: 64 });
const tokens = fc.stringMatching(/^[!-~]{16,40}$/);
const bodies = fc.uint8Array({ maxLength: 200 });
const NOW_S = 1_767_225_600;
const plain = {
  kind: "hmac",
  header: "x-sign",
  prefix: "sha256=",
  timestampHeader: null,
  toleranceMs: 300_000,
} satisfies TriggerAuth;
const timed = { ...plain, timestampHeader: "x-time" };

const known = (secret: string) => ({ secret, secretDigest: "" });
const hmac = (secret: string, ...parts: readonly (string | Uint8Array)[]) => {
  const made = createHmac("sha256", secret);
  for (const part of parts) made.update(part);
  return `sha256=${made.digest("hex")}`;
};
const call = (headers: Readonly<Record<string, string>>, body: Uint8Array) => ({
  headers,
  body,
  nowMs: NOW_S * 1_000,
});

describe("a signature", () => {
  test("is taken over any body, also beside others and in capitals", () => {
    fc.assert(
      fc.property(secrets, bodies, fc.boolean(), (secret, body, loud) => {
        const made = hmac(secret, body);
        const one = loud ? `sha256=${made.slice(7).toUpperCase()}` : made;
        const headers = { "x-sign": `sha256=${"0".repeat(64)}, ${one}` };
        expect(authProblem(plain, known(secret), call(headers, body))).toBeNull();
      }),
    );
  });

  test("is refused of another secret, of another body, and cut or lengthened", () => {
    fc.assert(
      fc.property(secrets, secrets, bodies, bodies, (secret, other, body, sent) => {
        fc.pre(secret !== other);
        const problem = (made: string, of = body) =>
          authProblem(plain, known(secret), call({ "x-sign": made }, of));
        expect(problem(hmac(other, body))).not.toBeNull();
        expect(problem(hmac(secret, body).slice(0, -1))).not.toBeNull();
        expect(problem(`${hmac(secret, body)}0`)).not.toBeNull();
        if (!Buffer.from(body).equals(Buffer.from(sent)))
          expect(problem(hmac(secret, body), sent)).not.toBeNull();
      }),
    );
  });

  test("counts within the tolerance of the time that it is over, and not beyond", () => {
    fc.assert(
      fc.property(secrets, bodies, fc.integer({ min: -600, max: 600 }), (secret, body, away) => {
        const time = String(NOW_S + away);
        const headers = { "x-sign": hmac(secret, `${time}.`, body), "x-time": time };
        const problem = authProblem(timed, known(secret), call(headers, body));
        expect(problem === null).toBe(Math.abs(away) <= 300);
      }),
    );
  });

  test("is refused without its time, and with one that it is not over", () => {
    const body = Buffer.from("{}");
    const signed = hmac("a-secret-of-sixteen", `${NOW_S}.`, body);
    for (const time of [undefined, "", "soon", "-1", "1e9", String(NOW_S + 1)]) {
      const headers = { "x-sign": signed, ...(time === undefined ? {} : { "x-time": time }) };
      const problem = authProblem(timed, known("a-secret-of-sixteen"), call(headers, body));
      expect(problem, String(time)).not.toBeNull();
    }
  });

  test("of nothing is never taken, whatever key it was made with", () => {
    const body = Buffer.from("{}");
    const nothing = { secret: null, secretDigest: null };
    expect(authProblem(plain, nothing, call({ "x-sign": hmac("", body) }, body))).not.toBeNull();
  });
});

test("a bearer is known by the digest of its token alone", () => {
  fc.assert(
    fc.property(tokens, tokens, (token, other) => {
      const secretDigest = createHash("sha256").update(token).digest("hex");
      const problem = (authorization: string) =>
        authProblem(
          { kind: "bearer" },
          { secret: null, secretDigest },
          call({ authorization }, new Uint8Array()),
        );
      expect(problem(`Bearer ${token}`)).toBeNull();
      if (other !== token) expect(problem(`Bearer ${other}`)).not.toBeNull();
      expect(problem(token)).not.toBeNull();
      expect(problem(`Bearer ${secretDigest}`)).not.toBeNull();
    }),
  );
});
