/** A step that waits for people: who may answer, how many have to, and what follows in the end. */
import { describe, expect, test } from "vitest";
import type { ApprovalWork } from "../../../server/core/definition/definition.ts";
import { NO_EXPRESSIONS } from "../../../server/core/model/evaluator.ts";
import {
  createWorld,
  lastQuestion,
  START,
  succeed,
  type World,
  workflow,
} from "../../support/core-world.ts";

const WEEK_MS = 7 * 24 * 3_600_000;
const compensate = { task: "undo" };

function asked(more: Partial<ApprovalWork> = {}, evaluator = NO_EXPRESSIONS): World {
  const work = { kind: "approval", approvers: [], ...more } as const;
  return createWorld(workflow({ a: work, b: { needs: ["a"] } }), evaluator);
}

const kindOf = (world: World, id: string): string => world.step(id).forward.kind;

test("an approval waits a week by default", () => {
  expect(asked().step("a").forward).toEqual({
    kind: "WAITING",
    on: "approval",
    wakeAt: START + WEEK_MS,
  });
});

describe("an approver", () => {
  test("approves: the step has succeeded, and its output names who, with what they filled in", () => {
    const world = asked();
    expect(world.decide("a", "ada", true, { form: '{"limit":5}' })).toEqual({ kind: "done" });
    expect(kindOf(world, "a")).toBe("SUCCEEDED");
    expect(kindOf(world, "b")).toBe("READY");
    const json = '{"approved_by":["ada"],"form":{"limit":5}}';
    expect(world.effects).toContainEqual(
      expect.objectContaining({
        kind: "attempt-stored",
        attempt: expect.objectContaining({
          kind: "answer",
          outcome: { kind: "success", output: { kind: "json", json } },
        }),
      }),
    );
  });

  test("rejects: the step has failed for good, whatever others decided", () => {
    const world = asked({ need: 2 });
    world.decide("a", "ada", true);
    world.decide("a", "bob", false);
    expect(kindOf(world, "a")).toBe("FAILED");
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.rejected" }),
    );
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "STEP_FAILED" });
  });

  test("has to be named, or to state a role that is", () => {
    const world = asked({ approvers: ["ada", "finance"] });
    expect(world.decide("a", "eve", true)).toMatchObject({
      kind: "refused",
      about: "approver",
      why: '"eve" is not an approver of this step. Approvers: ada, finance.',
    });
    expect(world.decide("a", "bob", true, { roles: ["sales"] })).toMatchObject({
      why: '"bob" (roles: sales) is not an approver of this step. Approvers: ada, finance.',
    });
    expect(world.decide("a", "bob", true, { roles: ["sales", "finance"] })).toEqual({
      kind: "done",
    });
  });

  test("has to come from another person than the one who started the run, where the step requires it", () => {
    const world = asked({ notRequester: true });
    expect(world.decide("a", "ada", true, { requester: "ada" })).toMatchObject({
      kind: "refused",
    });
    expect(world.decide("a", "ada", false, { requester: "ada" })).toMatchObject({
      kind: "refused",
    });
    expect(world.decide("a", "bob", true, { requester: "ada" })).toEqual({ kind: "done" });
  });

  test("may come from the person who started the run, where the step allows it", () => {
    expect(asked().decide("a", "ada", true, { requester: "ada" })).toEqual({ kind: "done" });
  });

  test("has to fill in the form, unless rejecting", () => {
    const evaluator = {
      ...NO_EXPRESSIONS,
      formProblem: (_step: number, form: unknown) => (form === null ? "limit is missing" : null),
    };
    const world = asked({}, evaluator);
    expect(world.decide("a", "ada", true)).toMatchObject({
      kind: "refused",
      about: "form",
      why: "This approval needs a form: limit is missing.",
    });
    expect(kindOf(world, "a")).toBe("WAITING");
    expect(world.decide("a", "bob", false)).toEqual({ kind: "done" });
  });

  test("who left the form out reads which fields it requires", () => {
    const form = {
      required: ["reason", "amount", "account"],
      properties: {
        reason: { type: "string" },
        amount: { type: "integer" },
        account: { enum: ["main", "reserve"] },
      },
    };
    const evaluator = { ...NO_EXPRESSIONS, formProblem: () => "the value must be object" };
    const whyNot = (schema: unknown) => {
      const json = JSON.stringify(schema);
      return asked({ form: { kind: "json", json } }, evaluator).decide("a", "ada", true);
    };
    expect(whyNot(form)).toMatchObject({
      why: "This approval needs a form: reason (text), amount (number) and account (one of main, reserve) are required.",
    });
    expect(whyNot({ ...form, required: ["reason"] })).toMatchObject({
      why: "This approval needs a form: reason (text) is required.",
    });
    expect(whyNot({ type: "object" })).toMatchObject({
      why: "This approval needs a form: the value must be object.",
    });
  });

  test("an approver who repeats a decision counts once; one who changes it is refused", () => {
    const world = asked({ need: 2 });
    world.decide("a", "ada", true);
    expect(world.decide("a", "ada", true)).toEqual({ kind: "repeated" });
    expect(world.decide("a", "ada", false)).toMatchObject({
      kind: "refused",
      why: '"ada" has already approved "a", and a decision does not change.',
    });
    expect(kindOf(world, "a")).toBe("WAITING");
  });

  test("an approver who repeats a decision after the approval is over gets the same answer", () => {
    const world = asked();
    world.decide("a", "ada", true);
    expect(world.decide("a", "ada", true)).toEqual({ kind: "repeated" });
    expect(world.decide("a", "bob", true)).toMatchObject({ kind: "refused" });
  });
});

test("an approval that needs several waits for so many", () => {
  const world = asked({ need: 3 });
  world.decide("a", "ada", true);
  world.decide("a", "bob", true);
  expect(kindOf(world, "a")).toBe("WAITING");
  world.decide("a", "eve", true);
  expect(kindOf(world, "a")).toBe("SUCCEEDED");
});

test("several decisions of one pass count in their order", () => {
  const world = asked({ need: 2 });
  const decision = (approver: string, approved: boolean) =>
    ({
      kind: "decide",
      step: 0,
      approver,
      roles: [],
      approved,
      comment: "",
      form: null,
      requester: null,
    }) as const;
  const [first, second, third] = world.pass([
    decision("ada", true),
    decision("bob", true),
    decision("eve", false),
  ]);
  expect([first, second]).toEqual([{ kind: "done" }, { kind: "done" }]);
  expect(third).toMatchObject({ kind: "refused" });
  expect(kindOf(world, "a")).toBe("SUCCEEDED");
});

describe("an approval whose time has passed", () => {
  test.each([
    ["escalate", "ESCALATED"],
    ["reject", "FAILED"],
    ["approve", "SUCCEEDED"],
  ] as const)("follows on_expiry: %s", (onExpiry, becomes) => {
    const world = asked({ withinMs: 5_000, onExpiry });
    world.fireNext();
    expect(kindOf(world, "a")).toBe(becomes);
    expect(world.interventions("approval")).toMatchObject([{ dueAt: START + 5_000 }]);
  });

  test("asks a person by default, who may let it pass", () => {
    const world = asked({ withinMs: 5_000 });
    world.fireNext();
    const { n, reason } = lastQuestion(world);
    expect(reason).toBe("expired");
    expect(world.decide("a", "ada", true)).toMatchObject({ kind: "refused" });
    expect(world.answer(n, "succeed", "{}")).toEqual({ kind: "done" });
    expect(kindOf(world, "b")).toBe("READY");
  });

  test("fails as a rejection does", () => {
    const world = asked({ withinMs: 5_000, onExpiry: "reject" });
    world.fireNext();
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.rejected" }),
    );
  });
});

test("a rejection undoes what was done, like any failure", () => {
  const world = createWorld(
    workflow({
      z: { compensate },
      a: { kind: "approval", approvers: [], needs: ["z"] },
    }),
  );
  succeed(world, "z");
  world.decide("a", "ada", false);
  expect(world.step("z").undo.kind).toBe("READY");
});

test("a decision on a step that is no approval, or that is not there, answers no question", () => {
  const world = createWorld(workflow({ a: {} }));
  expect(world.decide("a", "ada", true)).toEqual({ kind: "no-such-question" });
  const nowhere = { roles: [], comment: "", form: null, requester: null };
  expect(
    world.pass([{ kind: "decide", step: 9, approver: "ada", approved: true, ...nowhere }]),
  ).toEqual([{ kind: "no-such-question" }]);
});

test("a decision before the approval is reached is refused", () => {
  const world = createWorld(
    workflow({ z: {}, a: { kind: "approval", approvers: [], needs: ["z"] } }),
  );
  expect(world.decide("a", "ada", true)).toMatchObject({
    kind: "refused",
    why: '"a" does not wait for approval: it is BLOCKED.',
  });
});
