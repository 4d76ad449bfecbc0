/**
 * A definition binds step, handler and caller: what the compiler takes, and what it refuses. The
 * mistakes are compiled here, so that one that goes unnoticed fails a test.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type Client,
  type DroverCallError,
  defineTask,
  defineWorkflow,
  ErrorReason,
  handle,
  happened,
  type RunOutputs,
  step,
  unchecked,
} from "../../sdk/typescript/index.ts";
import { runHandler } from "../../sdk/typescript/testing.ts";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

const dated = z.object({ to: z.string(), day: z.coerce.date(), seats: z.number().default(1) });
const booking = z.object({ id: z.string() });
const book = defineTask("book", { input: dated, output: booking });
const find = defineTask("find", { verifies: book });
const cancel = defineTask("cancel", { compensates: book });

test("a handler reads what the schema makes, and returns what it takes", async () => {
  const handler = handle(book, (task) => {
    expectTypeOf(task.input()).toEqualTypeOf<{ to: string; day: Date; seats: number }>();
    expectTypeOf(task.lastDetails()).toEqualTypeOf<unknown>();
    return { id: `${task.input().to}-${task.input().day.getUTCDate()}` };
  });
  const outcome = await runHandler(handler, { input: { to: "Rome", day: "2026-03-01" } });
  if (outcome.kind === "success") expectTypeOf(outcome.output).toEqualTypeOf<{ id: string }>();
  expect(outcome).toMatchObject({ kind: "success", output: { id: "Rome-1" } });
});

test("tasks that verify and undo have the types of the task that they serve", () => {
  handle(find, (task) => {
    expectTypeOf(task.input().day).toEqualTypeOf<Date>();
    return happened({ id: "f-1" });
  });
  handle(cancel, (task) => {
    expectTypeOf(task.output()).toEqualTypeOf<{ id: string } | undefined>();
  });
});

test("a type alone, and a function that reads a value, have types too", () => {
  handle(defineTask("a", { input: unchecked<{ to: string }>() }), (task) => {
    expectTypeOf(task.input()).toEqualTypeOf<{ to: string }>();
  });
  handle(defineTask("b", { input: (value: unknown) => String(value) }), (task) => {
    expectTypeOf(task.input()).toEqualTypeOf<string>();
  });
  handle(defineTask("c"), (task) => {
    expectTypeOf(task.input()).toEqualTypeOf<unknown>();
  });
});

test("a workflow has the input of its definition, and the outputs of its bound steps", () => {
  const trip = defineWorkflow("trip", {
    input: dated,
    timeout: "1h",
    steps: [
      step({ id: "flight", task: book, verify: find, compensate: { task: cancel, retry: {} } }),
      { id: "pause", wait: "1m", needs: ["flight"] },
      step({
        id: "hotel",
        task: book,
        input: { to: "to ${input.to}", day: "${input.day}", seats: "${input.seats}" },
        fallback: [{ task: book, input: { to: "${input.other}" } }],
      }),
    ],
  });
  expect(trip.spec).toEqual({
    workflow: "trip",
    timeout: "1h",
    steps: [
      {
        id: "flight",
        task: "book",
        verify: "find",
        compensate: { task: "cancel", retry: {} },
      },
      { id: "pause", wait: "1m", needs: ["flight"] },
      {
        id: "hotel",
        task: "book",
        input: { to: "to ${input.to}", day: "${input.day}", seats: "${input.seats}" },
        fallback: [{ task: "book", input: { to: "${input.other}" } }],
      },
    ],
  });
  const schedule = (client: Client) =>
    client.schedule({ workflow: trip, input: { to: "Rome", day: 1 } });
  const wait = (client: Client) => client.waitOutputs(trip, "r");
  expectTypeOf(schedule).returns.resolves.toHaveProperty("runId");
  expectTypeOf(wait).returns.resolves.toEqualTypeOf<
    RunOutputs<{ readonly flight: { id: string }; readonly hotel: { id: string } }>
  >();
});

test("a workflow that is defined elsewhere has the outputs that its callers read", () => {
  const holiday = defineWorkflow("book-holiday", { input: dated, outputs: { flight: booking } });
  const wait = (client: Client) => client.waitOutputs(holiday, { key: "k" });
  expectTypeOf(wait).returns.resolves.toEqualTypeOf<{ readonly flight?: { id: string } }>();
});

test("each reason is a constant of its own type, and of the type of an error's reason", () => {
  expectTypeOf(ErrorReason.KEY_REUSED).toEqualTypeOf<"KEY_REUSED">();
  expectTypeOf<DroverCallError["reason"]>().toEqualTypeOf<ErrorReason | "">();
  expect(ErrorReason.KEY_REUSED).toBe("KEY_REUSED");
  expect(Object.entries(ErrorReason).filter(([name, value]) => name !== value)).toEqual([]);
  expect(Object.keys(ErrorReason).length).toBeGreaterThan(40);
});

/** What is written in place of MISTAKE, and what the compiler says of it. */
const MISTAKES: readonly [what: string, mistake: string, says: RegExp][] = [
  [
    "a handler that returns another output",
    "handle(book, () => ({ id: 7 }));",
    /'number' is not assignable to type 'string'/,
  ],
  [
    "a handler that reads what the input does not have",
    "handle(book, (task) => ({ id: task.input().form }));",
    /Property 'form' does not exist/,
  ],
  [
    "a verify that does not answer",
    "handle(find, () => ({ id: 'f-1' }));",
    /not assignable to type '.*Answer</s,
  ],
  [
    "a verify with the output of another task",
    "handle(find, () => happened({ id: 7 }));",
    /'number' is not assignable to type 'string'/,
  ],
  [
    "a step whose input lacks a field",
    "step({ id: 'a', task: book, input: { day: '2026-03-01' } });",
    /Property 'to' is missing/,
  ],
  [
    "a step whose input has an unknown field",
    "step({ id: 'a', task: book, input: { to: 'Rome', day: 1, form: 'Oslo' } });",
    /'form' does not exist/,
  ],
  [
    "a step with a number where a text is needed",
    "step({ id: 'a', task: book, input: { to: 7, day: 1 } });",
    /'number' is not assignable to type 'string/,
  ],
  [
    "a step with a text where a number is needed",
    "step({ id: 'a', task: book, input: { to: 'Rome', day: 1, seats: 'two' } });",
    /'"two"' is not assignable|'string' is not assignable/,
  ],
  [
    "a step that is undone by what undoes another task",
    "step({ id: 'a', task: book, compensate: defineTask('c', { compensates: pay }) });",
    /not assignable/,
  ],
  [
    "a step that is undone by the work itself",
    "step({ id: 'a', task: book, compensate: book });",
    /not assignable to type '"compensate"'/,
  ],
  [
    "a definition in a step that is not bound",
    "defineWorkflow('w', { steps: [{ id: 'a', task: book }] });",
    /not assignable/,
  ],
  [
    "a workflow whose input is none for its step",
    "defineWorkflow('w', { input: booking, steps: [step({ id: 'a', task: book })] });",
    /not assignable/,
  ],
  [
    "a caller without the input",
    "client.schedule({ workflow: trip });",
    /Property 'input' is missing/,
  ],
  [
    "a caller with another input",
    "client.schedule({ workflow: trip, input: { to: 7, day: 1 } });",
    /'number' is not assignable to type 'string'/,
  ],
  [
    "a caller that reads the output of an unknown step",
    "(await client.waitOutputs(trip, 'r')).hotel;",
    /Property 'hotel' does not exist/,
  ],
  [
    "a caller that forgets that a step may have been skipped",
    "(await client.waitOutputs(trip, 'r')).flight.id;",
    /possibly 'undefined'/,
  ],
  [
    "a test that gives another input",
    "await runHandler(handle(book, () => ({ id: '1' })), { input: { to: 7, day: 1 } });",
    /'number' is not assignable to type 'string'/,
  ],
  [
    "a reason that there is not",
    "new DroverCallError('UNKNOWN', '').reason === 'KEY_RE_USED';",
    /no overlap/,
  ],
];

const preamble = `// Compiled by a test.
import { z } from "zod";
import { type Client, DroverCallError, defineTask, defineWorkflow, handle, happened, step } from "@drover/sdk";
import { runHandler } from "@drover/sdk/testing";
export { DroverCallError, defineWorkflow, handle, happened, runHandler, step };
const dated = z.object({ to: z.string(), day: z.coerce.date(), seats: z.number().default(1) });
const booking = z.object({ id: z.string() });
export const book = defineTask("book", { input: dated, output: booking });
export const pay = defineTask("pay", { input: z.object({ cents: z.number() }), output: booking });
export const find = defineTask("find", { verifies: book });
export const trip = defineWorkflow("trip", { input: dated, steps: [step({ id: "flight", task: book })] });
export declare const client: Client;
`;

describe("the compiler refuses", () => {
  let printed = "";
  beforeAll(async () => {
    const parent = join(root, ".drover");
    mkdirSync(parent, { recursive: true });
    const folder = mkdtempSync(join(parent, "mistakes-"));
    try {
      for (const [no, [, mistake]] of MISTAKES.entries())
        writeFileSync(join(folder, `mistake-${no}.ts`), `${preamble}\n${mistake}\n`);
      const config = { extends: "../../tsconfig.json", include: ["*.ts"] };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
      printed = await run(join(root, "node_modules/.bin/tsc"), ["-p", folder]).then(
        () => "",
        ({ stdout }: { stdout: string }) => stdout,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.each(MISTAKES.map(([what, , says], no) => [what, says, no] as const))(
    "%s",
    (_what, says, no) => {
      const [, error = "none"] = printed.split(new RegExp(`^\\S*mistake-${no}\\.ts`, "m"));
      expect(error.split(/^\S*mistake-\d+\.ts/m)[0]).toMatch(says);
    },
  );
});
