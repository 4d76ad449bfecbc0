/**
 * The schemas of a definition: a success whose output breaks the schema of its step is a permanent
 * failure, and a decision whose form breaks its schema is refused.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StepRules } from "../../../server/core/definition/definition.ts";
import type { Reported } from "../../../server/core/model/event.ts";
import type { Payload } from "../../../server/core/model/payload.ts";
import { openPlane, type TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { chain, historyOf, newAgent, newTask, schedule, stateOf } from "./fixture.ts";

let database: TestDatabase;
let plane: TestPlane;

beforeAll(async () => {
  database = await createTestDatabase();
  plane = await openPlane(database.connectionString);
});
afterAll(async () => {
  await plane?.close();
  await database?.drop();
});

const json = (value: unknown): Payload => ({ kind: "json", json: JSON.stringify(value) });
const priced = (cents: unknown): Reported => ({ kind: "success", output: json({ cents }) });
const cents = json({
  type: "object",
  required: ["cents"],
  properties: { cents: { type: "integer" } },
});
const BROKEN = {
  kind: "failure",
  class: "permanent",
  code: "drover.schema",
  message: 'its output does not match output_schema: cents must be an integer, but is "5"',
} as const;

describe("a success whose output breaks the schema of its step", () => {
  /** Its first try: a run that has been scheduled, and its task reported with these cents. */
  async function pricing(more: Partial<StepRules>, result: unknown) {
    const task = newTask();
    const agent = newAgent(plane);
    const run = await schedule(plane, chain(task, 1, { outputSchema: cents, ...more }));
    const first = await agent.take(task);
    expect(await agent.report(first, priced(result))).toBe("accepted");
    const outcomes = async () => (await historyOf(plane, run)).attempts.map((one) => one.outcome);
    return { task, agent, run, outcomes };
  }

  it("is accepted, and is the failure drover.schema with the field named; no policy retries it", async () => {
    const { run, outcomes } = await pricing({ retry: [{ attempts: 3, initialMs: 0 }] }, "5");
    expect(await stateOf(plane, run)).toBe("FAILED");
    expect(await outcomes()).toEqual([{ ...BROKEN, retryAfterMs: null, noEffect: false }]);
  });

  it("is left for the next way to try the step, whose output is checked as well", async () => {
    const { task, agent, run, outcomes } = await pricing({ fallback: [{}] }, "5");
    const second = await agent.take(task);
    expect(await agent.report(second, priced(5))).toBe("accepted");
    expect(await stateOf(plane, run)).toBe("COMPLETED");
    expect(await outcomes()).toMatchObject([BROKEN, priced(5)]);
  });

  it("leaves an effect that the step undoes", async () => {
    const undo = newTask();
    const more = { compensate: { task: undo, when: "attempted" } } as const;
    const { agent, run } = await pricing(more, "5");
    expect(await stateOf(plane, run)).toBe("COMPENSATING");
    await agent.report(await agent.take(undo), priced(0));
    expect(await stateOf(plane, run)).toBe("COMPENSATED");
  });

  it("is distinguished from one that conforms to it, with which the run has succeeded", async () => {
    const { run, outcomes } = await pricing({}, 5);
    expect(await stateOf(plane, run)).toBe("COMPLETED");
    expect(await outcomes()).toMatchObject([priced(5)]);
  });
});

describe("an approval with a form", () => {
  const decide = { kind: "decide", step: 0, approver: "ann", approved: true, comment: "" } as const;
  const decision = { ...decide, roles: [], requester: null };

  it("is refused with the field named where the form breaks its schema, and nothing has changed", async () => {
    const steps = [
      { id: "a", needs: [], kind: "approval", approvers: [], form: cents },
      { id: "b", needs: ["a"], task: newTask() },
    ] as const;
    const run = await schedule(plane, { workflow: "approved", steps });
    const before = await historyOf(plane, run);
    for (const form of [json({ cents: "5" }), json({}), null])
      expect(await plane.scheduler.command(run, { ...decision, form })).toEqual({
        kind: "refused",
        about: "form",
        run: "RUNNING",
        why: expect.stringMatching(
          /cents must be an integer|must have "cents"|cents \(number\) is required/,
        ),
      });
    expect(await historyOf(plane, run)).toEqual(before);
    const decided = { ...decision, form: json({ cents: 5 }) };
    expect(await plane.scheduler.command(run, decided)).toEqual({ kind: "done" });
    expect((await historyOf(plane, run)).attempts).toMatchObject([
      { outcome: { output: json({ approved_by: ["ann"], form: { cents: 5 } }) } },
    ]);
  });
});
