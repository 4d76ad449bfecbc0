/** Handlers of defined tasks: schemas check what they get and what they return. */
import { type as ark } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkAgentOptions } from "../../sdk/typescript/agent-options.ts";
import { again, cannotTell, didNotHappen, happened } from "../../sdk/typescript/answers.ts";
import { unchecked } from "../../sdk/typescript/schema.ts";
import { defineTask } from "../../sdk/typescript/task-definition.ts";
import { TransientError } from "../../sdk/typescript/task-errors.ts";
import { runHandler } from "../../sdk/typescript/testing.ts";
import { handle } from "../../sdk/typescript/typed-handler.ts";
import { silentLog } from "../support/agent-script.ts";

interface Trip {
  readonly to: string;
  readonly legs: readonly { readonly nights: number }[];
}

function readTrip(value: unknown): Trip {
  const { to, legs = [] } = { to: undefined, ...Object(value) };
  if (typeof to !== "string") throw new TypeError("a trip needs a city to go to");
  return { to, legs };
}

const zodTrip = z.object({ to: z.string(), legs: z.array(z.object({ nights: z.number() })) });
const valibotTrip = v.object({ to: v.string(), legs: v.array(v.object({ nights: v.number() })) });
const arkTrip = ark({ to: "string", legs: [{ nights: "number" }, "[]"] });
/** As a library that asks a database does. */
const slowTrip = zodTrip.refine(async ({ to }) => (await Promise.resolve(to)) !== "Atlantis", {
  path: ["to"],
  error: "no such city",
});

describe.each([
  ["zod", defineTask("book", { input: zodTrip, output: zodTrip })],
  ["valibot", defineTask("book", { input: valibotTrip, output: valibotTrip })],
  ["arktype", defineTask("book", { input: arkTrip, output: arkTrip })],
  ["an asynchronous schema", defineTask("book", { input: slowTrip, output: slowTrip })],
])("with a schema of %s", (_library, task) => {
  const trip = { to: "Lisbon", legs: [{ nights: 2 }] };

  test("a handler reads what it is given", async () => {
    const echo = handle(task, (one) => one.input());
    expect(await runHandler(echo, { input: trip })).toMatchObject({
      kind: "success",
      output: trip,
    });
  });

  test("a wrong input is a permanent failure that names path and problem", async () => {
    let started = false;
    const handler = handle(task, (one) => {
      started = true;
      return one.input();
    });
    const wrong: unknown = { to: 7, legs: [{ nights: 2 }, { nights: "three" }] };
    const outcome = await runHandler(handler.handler, { input: wrong });
    expect(outcome).toMatchObject({ kind: "failed", code: "bad-input", transient: false });
    const { message } = { message: "", ...outcome };
    expect(message).toMatch(/^The input is not as expected: .*\bto\b.*string/);
    expect(message).toMatch(/legs\[1\]\.nights\b.*number/);
    expect(started).toBe(false);
  });

  test("a wrong output is the failure of a step that was done, and the agent logs it", async () => {
    const lines: string[] = [];
    const log = { ...silentLog, error: (_: object, text: string) => lines.push(text) };
    const wrong = JSON.parse('{ "to": "Lisbon", "legs": [{}] }');
    const outcome = await runHandler(
      handle(task, () => wrong),
      { input: trip, log },
    );
    expect(outcome).toMatchObject({
      kind: "failed",
      code: "drover.output",
      transient: false,
      noEffect: false,
      message: expect.stringMatching(/^The output is not as expected: legs\[0\]\.nights\b/),
    });
    expect(lines).toEqual([expect.stringContaining("legs[0].nights")]);
  });
});

test("a function that reads a value is a schema, and its error is the problem", async () => {
  const echo = handle(defineTask("book", { input: readTrip }), (task) => task.input().legs);
  expect(await runHandler(echo, { input: { to: "Rome", legs: [] } })).toMatchObject({ output: [] });
  expect(await runHandler(echo.handler, { input: {} })).toMatchObject({
    code: "bad-input",
    message: "The input is not as expected: a trip needs a city to go to",
  });
});

test("a type alone checks nothing at run time", async () => {
  const echo = handle(defineTask("book", { input: unchecked<Trip>() }), (task) => task.input());
  expect(await runHandler(echo.handler, { input: 7 })).toMatchObject({ output: 7 });
});

test("a schema converts what is read, and does not change what is sent", async () => {
  const dated = z.object({ day: z.coerce.date(), class: z.string().default("economy") });
  const task = defineTask("book", { input: dated, output: dated });
  const undo = defineTask("cancel", { compensates: task });
  const performed = await runHandler(
    handle(task, (one) => {
      expect(one.input()).toEqual({ day: new Date("2026-03-01"), class: "economy" });
      return { day: "2026-03-02" };
    }),
    { input: { day: "2026-03-01" } },
  );
  expect(performed).toMatchObject({ output: { day: "2026-03-02" } });
  const undone = await runHandler(
    handle(undo, (one) => one.output()?.class),
    { input: { day: "2026-03-01" }, output: { day: "2026-03-02" } },
  );
  expect(undone).toMatchObject({ kind: "success", output: "economy" });
});

describe("a handler that undoes", () => {
  const book = defineTask("book", { input: zodTrip, output: z.object({ id: z.string() }) });
  const cancel = defineTask("cancel", { compensates: book });

  test("needs no input that the schema allows, unless it reads it", async () => {
    const byKey = handle(cancel, (task) => task.effectKey);
    const byInput = handle(cancel, (task) => task.input().to);
    const given = { kind: "compensate", input: { to: 7 }, effectKey: "k" } as const;
    expect(await runHandler(byKey.handler, given)).toMatchObject({ kind: "success", output: "k" });
    expect(await runHandler(byInput.handler, given)).toMatchObject({ code: "bad-input" });
  });

  test("reads the output of the step, or none", async () => {
    const handler = handle(cancel, (task) => task.output()?.id ?? "none");
    const input = { to: "Rome", legs: [] };
    expect(await runHandler(handler, { input, output: { id: "f-1" } })).toMatchObject({
      output: "f-1",
    });
    expect(await runHandler(handler, { input })).toMatchObject({ output: "none" });
    expect(
      await runHandler(handler.handler, { kind: "compensate", input, output: { id: 7 } }),
    ).toMatchObject({ code: "bad-output", transient: false });
  });
});

test("the output of a verify is checked as that of the task that it verifies", async () => {
  const book = defineTask("book", { output: z.object({ id: z.string() }) });
  const find = defineTask("find", { verifies: book });
  const wrong = JSON.parse('{ "id": 7 }');
  expect(
    await runHandler(
      handle(find, () => happened({ id: "f-1" })),
      {},
    ),
  ).toMatchObject({
    output: { id: "f-1" },
  });
  expect(
    await runHandler(
      handle(find, () => happened(wrong)),
      { log: silentLog },
    ),
  ).toMatchObject({ code: "drover.output" });
  expect(
    await runHandler(
      handle(find, () => didNotHappen()),
      {},
    ),
  ).toMatchObject({
    code: "did-not-happen",
  });
  expect(
    await runHandler(
      handle(find, () => cannotTell("no answer")),
      {},
    ),
  ).toMatchObject({
    code: "cannot-tell",
  });
});

test("errors, answers and results without a JSON form are reported as without a schema", async () => {
  const task = defineTask("book", { output: z.object({ seats: z.bigint() }) });
  const busy = handle(task, () => {
    throw new TransientError("busy", "All lines are busy.");
  });
  expect(await runHandler(busy, {})).toMatchObject({ code: "busy", transient: true });
  expect(
    await runHandler(
      handle(task, () => again({ after: "1s" })),
      {},
    ),
  ).toMatchObject({
    kind: "again",
  });
  const outcome = await runHandler(
    handle(task, () => ({ seats: 7n })),
    { log: silentLog },
  );
  expect(outcome).toMatchObject({ code: "drover.output" });
  expect("message" in outcome && outcome.message).toContain("cannot be sent");
});

test("many problems are counted", async () => {
  const numbers = defineTask("sum", { input: z.array(z.number()) });
  const input: unknown = ["a", "b", "c", "d", "e", "f", "g"];
  const outcome = await runHandler(handle(numbers, () => 0).handler, { input });
  expect("message" in outcome && outcome.message).toMatch(/\[4\]: [^;]+; and 2 more$/);
});

test("an agent takes a list of handlers, each task once", () => {
  const task = defineTask("book");
  const options = { address: "127.0.0.1:1", id: "a" };
  const settings = checkAgentOptions({ ...options, handlers: [handle(task, () => 1)] });
  expect([...settings.handlers.keys()]).toEqual(["book"]);
  const twice = { ...options, handlers: [handle(task, () => 1), handle(task, () => 2)] };
  expect(() => checkAgentOptions(twice)).toThrow('The task "book" has two handlers');
});
