/** What an answer of a service means: every status, and what is around it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compiled } from "../../../agents/facts.ts";
import { ANSWER_SCOPE, type Answer, retryAfterMs } from "../../../agents/http/answer.ts";
import type { OperationInput } from "../../../agents/http/input.ts";
import { polled, pollOf } from "../../../agents/http/poll.ts";
import { type Circumstances, conclude, rulesOf } from "../../../agents/http/rules.ts";
import { concludeVerify } from "../../../agents/http/verify.ts";

const UNSAFE: Circumstances = {
  what: "POST https://a.example/x",
  isSafe: false,
  isFirst: true,
  facts: new Map<string, null>([["key", null]]),
  nowMs: Date.UTC(2026, 0, 1),
};
const REPEATED = { ...UNSAFE, isFirst: false };
const SAFE = { ...UNSAFE, isSafe: true };

function anAnswer(status: number, given: Partial<Answer> = {}): Answer {
  return { status, headers: {}, body: null, lacks: null, excerpt: "", ...given };
}

const raw = { status: 0, headers: {}, bytes: Buffer.alloc(0), lacks: null } as const;

function concluded(
  status: number,
  given: Partial<Answer> = {},
  of: Circumstances = UNSAFE,
  input: OperationInput = {},
) {
  const answer = anAnswer(status, given);
  return conclude({ kind: "answered", answer: raw }, rulesOf(input, ""), of, () => answer);
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
const wait = { headers: { "retry-after": "7" } };

describe("of a POST, without rules of the step,", () => {
  /** Each status once; what is not listed is unknown. */
  const TABLE: Readonly<Record<string, readonly number[]>> = {
    success: range(200, 299).filter((status) => status !== 202),
    transient: [425, 429],
    permanent: [307, 308, ...range(400, 498)].filter((one) => ![408, 425, 429].includes(one)),
  };

  test.for(range(100, 599))("the status %i has one meaning", (status) => {
    const found = Object.entries(TABLE).find(([, statuses]) => statuses.includes(status));
    expect(concluded(status).kind).toBe(found?.[0] ?? "unknown");
  });

  test.for([429, 503])("%i with Retry-After is tried again after that time", (status) => {
    expect(concluded(status, wait)).toMatchObject({ kind: "transient", afterMs: 7_000 });
  });

  test("503 without Retry-After may be of a proxy that lost the answer: unknown", () => {
    expect(concluded(503)).toMatchObject({ kind: "unknown", code: "http-503" });
  });

  test("409 may be about the request of an earlier attempt, if there was one", () => {
    expect(concluded(409)).toMatchObject({ kind: "permanent" });
    expect(concluded(409, {}, REPEATED)).toMatchObject({ kind: "unknown", code: "http-409" });
  });

  test("202 with a Location is accepted, and asked again after Retry-After", () => {
    const headers = { location: "/jobs/1", "retry-after": "3" };
    const found = concluded(202, { headers });
    expect(found).toEqual({ kind: "accepted", location: "/jobs/1", afterMs: 3_000 });
  });

  test("202 without a Location is unknown, unless the step names 202 as a success", () => {
    expect(concluded(202)).toMatchObject({ kind: "unknown", code: "no-location" });
    const named = { success: { status: [202] } };
    expect(concluded(202, {}, UNSAFE, named)).toMatchObject({ kind: "success" });
    const byClass = { success: { status: ["2xx"] } };
    expect(concluded(202, {}, UNSAFE, byClass)).toMatchObject({ kind: "unknown" });
  });

  test("a failure has the status in its code, and the start of the body in its message", () => {
    const found = concluded(422, { excerpt: "no seats" });
    expect(found).toMatchObject({
      code: "http-422",
      message: "POST https://a.example/x answered 422: no seats",
    });
  });

  test("no answer states that nothing exists, since no status says so", () => {
    for (const status of range(300, 599)) {
      const found = concluded(status);
      if ("noEffect" in found) expect(found.noEffect).toBe(false);
    }
  });
});

test("a GET is never in doubt: it has no effect", () => {
  for (const status of range(100, 599))
    expect(concluded(status, {}, SAFE).kind).not.toBe("unknown");
  const noAnswer = { kind: "no-answer", code: "timeout", message: "late" } as const;
  const read = () => anAnswer(0);
  expect(conclude(noAnswer, rulesOf({}, ""), SAFE, read).kind).toBe("transient");
  expect(conclude(noAnswer, rulesOf({}, ""), UNSAFE, read).kind).toBe("unknown");
});

test("only the first hand-out may state that nothing exists, after a request that was not sent", () => {
  const refused = { kind: "not-sent", code: "x", message: "m", isFinal: false } as const;
  const of = (circumstances: Circumstances) =>
    conclude(refused, rulesOf({}, ""), circumstances, () => anAnswer(0));
  expect(of(UNSAFE)).toMatchObject({ kind: "transient", noEffect: true });
  expect(of(REPEATED)).toMatchObject({ kind: "transient", noEffect: false });
});

describe("the expression of success", () => {
  const input = { success: { when: "response.body.state == 'booked'" } };

  test("makes a success of a 2xx for which it is true", () => {
    const found = concluded(201, { body: { state: "booked" } }, UNSAFE, input);
    expect(found).toMatchObject({ kind: "success", output: { status: 201 } });
  });

  test.each([
    ["is false", { state: "held" }, "unexpected-answer"],
    ["fails", {}, "expression-failed"],
  ])("leaves a 2xx unknown for which it %s", (_what, body, code) => {
    expect(concluded(200, { body }, UNSAFE, input)).toMatchObject({ kind: "unknown", code });
  });

  test("cannot be asked without the body", () => {
    const found = concluded(200, { lacks: "too-large" }, UNSAFE, input);
    expect(found).toMatchObject({ kind: "unknown", code: "answer-unreadable" });
  });

  test("that is none is found before anything is sent", () => {
    const mistaken = { success: { when: "respons.status == 1" } };
    expect(() => rulesOf(mistaken, "undo.")).toThrow(/undo\.success\.when: .*response.*line 1/s);
  });
});

test("a success whose output cannot be read is done: its output is lost", () => {
  expect(concluded(200, { lacks: "too-large" })).toMatchObject({ kind: "output-lost" });
  const found = concluded(200, { body: {} }, UNSAFE, { output: "response.body.id" });
  expect(found).toMatchObject({ kind: "output-lost" });
});

test("a success whose body was cut off is unknown", () => {
  expect(concluded(200, { lacks: "cut" })).toMatchObject({ kind: "unknown" });
});

describe("the rules of the step", () => {
  const answers: OperationInput["answers"] = [
    { status: [409], when: "response.body.code == 'exists'", outcome: "success" },
    { status: ["400-499"], outcome: "transient", code: "busy" },
    { status: [500], outcome: "permanent", no_effect: true },
    { status: ["2xx"], when: "response.body.later", outcome: "deferred" },
  ];

  test("come before what a status means; the first that fits decides", () => {
    const at = (status: number, given: Partial<Answer> = {}) =>
      concluded(status, given, UNSAFE, { answers });
    expect(at(409, { body: { code: "exists" } })).toMatchObject({ kind: "success" });
    expect(at(409, { body: { code: "other" } })).toMatchObject({ kind: "transient", code: "busy" });
    expect(at(500)).toMatchObject({ kind: "permanent", code: "http-500", noEffect: true });
    expect(at(200, { body: { later: true } })).toEqual({ kind: "deferred" });
    expect(at(200, { body: { later: false } })).toMatchObject({ kind: "success" });
    expect(at(502)).toMatchObject({ kind: "unknown" });
  });
});

test("whatever comes, a POST that may have been done is never called failed by itself", () => {
  const status = fc.oneof(fc.integer({ min: 200, max: 299 }), fc.integer({ min: 500, max: 599 }));
  const lacks = fc.constantFrom(null, "cut", "too-large", "encoded");
  fc.assert(
    fc.property(status, lacks, fc.json({ maxDepth: 2 }), (code, lack, json) => {
      const body = lack === null ? JSON.parse(json) : null;
      const input = { success: { when: "response.body.a.b == 1" } };
      const { kind } = concluded(code, { body, lacks: lack }, UNSAFE, input);
      expect(["success", "unknown", "output-lost", "accepted"]).toContain(kind);
    }),
  );
});

describe("Retry-After", () => {
  const now = Date.UTC(2026, 0, 1, 12);
  test.for<[string, Record<string, string>, number | null]>([
    ["in seconds", { "retry-after": "120" }, 120_000],
    [
      "as a date, by the clock of the service",
      {
        "retry-after": "Thu, 01 Jan 2026 09:00:30 GMT",
        date: "Thu, 01 Jan 2026 09:00:00 GMT",
      },
      30_000,
    ],
    ["as a date, by the own clock", { "retry-after": "Thu, 01 Jan 2026 12:01:00 GMT" }, 60_000],
    ["in the past", { "retry-after": "Wed, 31 Dec 2025 12:00:00 GMT" }, 0],
    ["that is nonsense", { "retry-after": "soon" }, null],
    ["that is negative", { "retry-after": "-5" }, null],
    ["beyond what the server takes", { "retry-after": "999999999999" }, 3_650 * 86_400_000],
    ["that is missing", {}, null],
  ])("%s", ([, headers, expected]) => {
    expect(retryAfterMs({ headers }, now)).toBe(expected);
  });
});

describe("a poll", () => {
  const found = (status: number, given: Partial<Answer> = {}, input: OperationInput = {}) =>
    polled({ kind: "answered", answer: raw }, rulesOf(input, ""), REPEATED, () =>
      anAnswer(status, given),
    );

  test.for([202, 408, 425, 429, 500, 502, 503, 504])(
    "that is answered %i is repeated",
    (status) => {
      expect(found(status, wait)).toMatchObject({ kind: "again", afterMs: 7_000 });
    },
  );

  test("that gets no answer is repeated: the work goes on at the service", () => {
    const none = { kind: "no-answer", code: "timeout", message: "late" } as const;
    const read = () => anAnswer(0);
    expect(polled(none, rulesOf({}, ""), REPEATED, read)).toMatchObject({ kind: "again" });
  });

  test("ends with the result, as the first answer would have", () => {
    expect(found(200, { body: { id: 1 } })).toMatchObject({ output: { body: { id: 1 } } });
  });

  test("goes on while `until` is false", () => {
    const input = { poll: { until: "response.body.state != 'running'" } };
    expect(found(200, { body: { state: "running" } }, input)).toMatchObject({ kind: "again" });
    expect(found(200, { body: { state: "done" } }, input)).toMatchObject({ kind: "success" });
  });

  test("that finds nothing says nothing about the work", () => {
    expect(found(404)).toMatchObject({ kind: "unknown", code: "poll-http-404" });
    const answers: OperationInput["answers"] = [{ status: [404], outcome: "permanent" }];
    expect(found(404, {}, { answers })).toMatchObject({ kind: "permanent", code: "http-404" });
  });

  test("is of the request with the same key alone", () => {
    expect(pollOf({ poll: "https://a.example/1", key: "k" }, "k")).not.toBeNull();
    expect(pollOf({ poll: "https://a.example/1", key: "other" }, "k")).toBeNull();
    expect(pollOf(null, "k")).toBeNull();
  });
});

describe("a verify", () => {
  const rules = (did: string, didNot: string) => ({
    did: compiled(did, ANSWER_SCOPE, "did", "bool"),
    didNot: compiled(didNot, ANSWER_SCOPE, "did_not", "bool"),
    output: null,
  });
  const usual = rules("response.status == 200", "response.status == 404");
  const of = (answer: Answer, given = usual) =>
    concludeVerify(answer, given, new Map(), "GET x").kind;

  test("tells that it happened, that it did not, or neither", () => {
    expect(of(anAnswer(200))).toBe("did");
    expect(of(anAnswer(404))).toBe("did-not");
    expect(of(anAnswer(204))).toBe("unclear");
  });

  test.for([301, 400, 401, 403, 408, 429, 500, 502, 503])(
    "says nothing by %i, whatever the expression says",
    (status) => {
      expect(of(anAnswer(status), rules("false", "response.status != 200"))).toBe("unclear");
    },
  );

  test("that says both says nothing", () => {
    expect(of(anAnswer(200), rules("true", "true"))).toBe("unclear");
  });

  test("whose expression fails says nothing, and neither does a body that is cut off", () => {
    expect(of(anAnswer(200), rules("response.body.id == 1", "false"))).toBe("unclear");
    expect(of(anAnswer(200, { lacks: "cut" }))).toBe("unclear");
  });
});
