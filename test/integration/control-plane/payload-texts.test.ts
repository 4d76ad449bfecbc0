/**
 * Payloads may have any JSON text as a key or a value, also NUL, which PostgreSQL's texts cannot
 * hold, and keys of any length. A failure that quotes one is stored, short, and its run goes on.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
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
const KEY = "a\0b";
const DOLLAR = ["$", "{input[input.key]}"].join("");
const LONG = "k".repeat(50_000);

it.each([
  { says: "a condition", more: { when: "input[input.key] > 0" }, key: KEY },
  { says: "an input", more: { input: json({ v: DOLLAR }) }, key: KEY },
  { says: "a condition, of a long key", more: { when: "input[input.key] > 0" }, key: LONG },
])(
  "$says that fails by a key asks a person, and quotes the key as it can be stored",
  async ({ more, key }) => {
    const input = json({ key });
    const run = await schedule(plane, chain(newTask(), 1, more), { input });
    await expect.poll(() => stateOf(plane, run)).toBe("ESCALATED");
    const { escalations } = await historyOf(plane, run);
    expect(escalations).toMatchObject([{ reason: "expression" }]);
    const quoted = key.replace("\0", "\uFFFD").slice(0, 100);
    const message = escalations[0]?.message ?? "";
    expect(message.includes(`there is no "${quoted}`)).toBe(true);
    expect(message.length).toBeLessThan(1_000);
  },
);

it("an output that breaks its schema below such a key is a failure as any other", async () => {
  const task = newTask();
  const outputSchema = json({ type: "object", additionalProperties: { type: "integer" } });
  const run = await schedule(plane, chain(task, 1, { outputSchema }));
  const agent = newAgent(plane);
  const output: Reported = { kind: "success", output: json({ [KEY]: "x" }) };
  expect(await agent.report(await agent.take(task), output)).toBe("accepted");
  expect(await stateOf(plane, run)).toBe("FAILED");
  const [attempt] = (await historyOf(plane, run)).attempts;
  expect(attempt?.outcome).toMatchObject({
    code: "drover.schema",
    message: expect.stringContaining("a\uFFFDb must be an integer"),
  });
});
