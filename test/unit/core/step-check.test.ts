/** What does not go together in a step is refused, with a helpful message and its path. */
import { describe, expect, test } from "vitest";
import type { StepDefinition } from "../../../server/core/definition/definition.ts";
import { definitionProblems } from "../../../server/core/definition/definition-check.ts";
import { ENGINE_CODES } from "../../../server/core/definition/step-check.ts";

const json = (value: unknown) => ({ kind: "json" as const, json: JSON.stringify(value) });
const bytes = { kind: "data" as const, contentType: "text/plain", data: new Uint8Array([1]) };

const task = (over: Partial<StepDefinition> = {}): StepDefinition =>
  ({ id: "a", needs: [], task: "book", ...over }) as StepDefinition;
const wait = (over: object = {}): StepDefinition => ({
  id: "a",
  needs: [],
  kind: "wait",
  forMs: 1,
  ...over,
});
const signal = (over: object = {}): StepDefinition => ({
  id: "a",
  needs: [],
  kind: "signal",
  name: "paid",
  ...over,
});
const approval = (over: object = {}): StepDefinition => ({
  id: "a",
  needs: [],
  kind: "approval",
  approvers: ["finance"],
  ...over,
});

const run = (over: object = {}): StepDefinition => ({
  id: "a",
  needs: [],
  kind: "run",
  workflow: "other",
  ...over,
});

const problems = (...steps: StepDefinition[]) =>
  definitionProblems({ workflow: "w", steps }).map(({ path, message }) => `${path}: ${message}`);

describe("what goes together", () => {
  test.each<[string, StepDefinition]>([
    ["a verifiable step with its verify", task({ effects: "verifiable", verify: { task: "v" } })],
    ["a step that may be done once", task({ effects: "once" })],
    [
      "a fallback for a task that no agent picks up",
      task({ onPickup: "fallback", fallback: [{ queue: "other" }] }),
    ],
    [
      "an input that a fallback changes",
      task({ input: json({ a: 1 }), fallback: [{ input: json({ a: 2 }) }] }),
    ],
    [
      "an input that becomes an object when it is rendered",
      task({ input: json("$\u007binput.order}"), fallback: [{ input: json({}) }] }),
    ],
    ["a schema, also one that takes everything", task({ outputSchema: json(true) })],
    ["a wait until a time", wait({ forMs: undefined, until: "2026-03-01T08:00:00+01:00" })],
    [
      "a wait until what an expression gives",
      wait({ forMs: undefined, until: "$\u007binput.at}" }),
    ],
    ["an approval with a form", approval({ form: json({ type: "object" }), need: 2 })],
    ["an approval without approvers", approval({ approvers: [] })],
    [
      "a child run with an input, a total time, other ways to try it, and what undoes it",
      run({
        input: json({ a: 1 }),
        timeouts: { totalMs: 1 },
        retry: [{ on: ["drover.child-failed"], attempts: 2 }],
        fallback: [{ input: json({ a: 2 }) }, { workflow: "third", version: 2 }],
        compensate: { task: "undo" },
      }),
    ],
    [
      "a last step after which a person may be asked",
      task({ always: true, onFailure: "escalate" }),
    ],
    [
      "codes of the engine",
      task({ retry: [{ on: ENGINE_CODES.map((code) => `drover.${code}`) }] }),
    ],
  ])("%s", (_, step) => {
    expect(problems(step)).toEqual([]);
  });

  test("a deadline of escalations with its answer, and reminders with neither", () => {
    const escalations = [{ deadlineMs: 1_000, answer: "fail" }, { remindMs: 60_000 }, {}] as const;
    for (const escalation of escalations) expect(problems(task({ escalation }))).toEqual([]);
  });

  test("steps that run last may need each other", () => {
    expect(problems(task({ always: true }), task({ id: "b", needs: ["a"], always: true }))).toEqual(
      [],
    );
  });
});

describe("what does not", () => {
  test("a deadline of escalations without an answer, and an answer without a deadline", () => {
    expect(problems(task({ escalation: { deadlineMs: 1_000 } }))).toEqual([
      'steps[0].escalation.deadline: step "a" has a deadline for its escalations and no answer for then: add then: fail, or another',
    ]);
    expect(problems(task({ escalation: { answer: "skip" } }))).toEqual([
      'steps[0].escalation.then: step "a" has an answer that follows when no person answers, and no deadline: add deadline: 1d, or another',
    ]);
  });

  test.each<[string, StepDefinition, string]>([
    [
      "verifiable effects without a verify",
      task({ effects: "verifiable" }),
      'steps[0].verify: step "a" has effects that are verifiable and no verify: name the task that finds out whether an attempt took effect',
    ],
    [
      "a verify that is never asked",
      task({ verify: { task: "v" } }),
      'steps[0].verify: step "a" has a verify that is never asked, since its effects are idempotent: add `effects: verifiable`, or remove it',
    ],
    [
      "a verify of a step that is done once",
      task({ effects: "once", verify: { task: "v" } }),
      'steps[0].verify: step "a" has a verify that is never asked, since its effects are once: add `effects: verifiable`, or remove it',
    ],
    [
      "a fallback that is the same again",
      task({ fallback: [{ queue: "q" }, {}] }),
      'steps[0].fallback[1]: step "a" has a fallback that changes nothing: give it a queue, a task or an input',
    ],
    [
      "a list that is to be merged",
      task({ fallback: [{ input: json([1]) }] }),
      'steps[0].fallback[0].input: step "a" merges this over its input key by key: it must be a JSON object',
    ],
    [
      "an object that is to be merged over bytes",
      task({ input: bytes, fallback: [{ input: json({}) }] }),
      'steps[0].fallback[0].input: step "a" merges this over its input, which is no JSON object: give it another task or queue instead, or make its input an object',
    ],
    [
      "a fallback on pickup that is not there",
      task({ onPickup: "fallback" }),
      'steps[0].on_pickup: step "a" falls back when no agent picks it up, and has no fallback: add one',
    ],
    [
      "a join over nothing",
      task({ runIf: "any_ok" }),
      'steps[0].run_if: step "a" needs no step, so run_if has nothing to check: remove it',
    ],
    [
      "a timer that is tried again",
      wait({ retry: [{}] }),
      'steps[0].retry: step "a" has no agent, so retry means nothing: remove it',
    ],
    [
      "times of an agent that is not there",
      signal({ timeouts: { totalMs: 1 } }),
      'steps[0].timeouts: step "a" has no agent, so timeouts means nothing: remove it, and set how long with `within`, and what follows with `on_expiry`',
    ],
    [
      "a fallback of people",
      approval({ fallback: [{ queue: "q" }] }),
      'steps[0].fallback: step "a" has no agent, so fallback means nothing: remove it',
    ],
    [
      "an output of a timer",
      wait({ outputSchema: json({}) }),
      'steps[0].output_schema: step "a" is a wait, which has no output: remove it',
    ],
    [
      "a schema of what a signal brings",
      signal({ outputSchema: json({}) }),
      'steps[0].output_schema: step "a" is a signal, whose payload is not checked: let the next step ask for what it needs by its `when`, or by its own schema',
    ],
    [
      "an output of an approval",
      approval({ outputSchema: json({}) }),
      'steps[0].output_schema: step "a" is an approval: what approvers fill in has its schema in `approval.form`',
    ],
    [
      "a time that is none",
      wait({ forMs: undefined, until: "tomorrow" }),
      'steps[0].wait.until: step "a" waits until "tomorrow", which is no time: write it as 2026-03-01T08:00:00Z, or an expression as "$\u007binput.start}"',
    ],
    [
      "a time outside the calendar",
      wait({ forMs: undefined, until: "2026-13-01T08:00:00Z" }),
      'steps[0].wait.until: step "a" waits until "2026-13-01T08:00:00Z", which is no time: write it as 2026-03-01T08:00:00Z, or an expression as "$\u007binput.start}"',
    ],
    [
      "an approver who is named twice",
      approval({ approvers: ["ann", "finance", "ann"] }),
      'steps[0].approval.approvers[2]: step "a" names "ann" twice: once is enough',
    ],
    [
      "a form that is no JSON",
      approval({ form: bytes }),
      'steps[0].approval.form: step "a" has a schema that is no JSON but text/plain: send it as a JSON payload',
    ],
    [
      "times of a child run that are its own",
      run({ timeouts: { totalMs: 1, attemptMs: 1 } }),
      'steps[0].timeouts: step "a" has a child run, whose times are those of its own steps: set only total',
    ],
    [
      "a child run that is tried again whatever went wrong",
      run({ retry: [{ attempts: 2 }] }),
      'steps[0].retry[0].on: step "a" has a child run, which is started again only for the codes drover.child-failed and drover.child-cancelled: name one of them',
    ],
    [
      "effects of a child run",
      run({ effects: "once" }),
      'steps[0].effects: step "a" has no agent, so effects means nothing: remove it',
    ],
    [
      "another task in place of a child run",
      run({ fallback: [{ task: "book", input: json({}) }] }),
      'steps[0].fallback[0]: step "a" has a child run, and falls back to another workflow: remove queue and task',
    ],
    [
      "a child run in place of a task",
      task({ fallback: [{ workflow: "other", queue: "q" }] }),
      'steps[0].fallback[0]: step "a" has an agent, and falls back to another task or queue: remove run',
    ],
    [
      "a child run that falls back to itself",
      run({ fallback: [{}] }),
      'steps[0].fallback[0]: step "a" has a fallback that changes nothing: give it a run or an input',
    ],
    [
      "a schema that is a text",
      task({ outputSchema: json("object") }),
      'steps[0].output_schema: step "a" has a schema that is neither an object nor true or false: write it as { type: object, ... }',
    ],
    [
      "a code of the engine that is mistyped",
      task({ retry: [{ on: ["full", "drover.stuled"] }] }),
      'steps[0].retry[0].on[1]: step "a" retries on "drover.stuled", which is no code of the engine: did you mean "drover.stalled"?',
    ],
    [
      "undoing of what runs after all undoing",
      task({ always: true, compensate: { task: "undo" } }),
      'steps[0].compensate: step "a" is an always step, which runs after all undoing: remove its compensate',
    ],
    [
      "a pivot at the very end",
      task({ always: true, pivot: true }),
      'steps[0].pivot: step "a" is an always step, after which there is nothing to go back from: remove pivot',
    ],
    [
      "a last step that would change how the run ends",
      task({ always: true, onFailure: "fail" }),
      'steps[0].on_failure: step "a" is an always step, and how the run ends is certain by then: on_failure can be continue or escalate, not fail',
    ],
  ])("%s", (_, step, expected) => {
    expect(problems(step)).toEqual([expected]);
  });

  test("a code of the engine that resembles none gets the list", () => {
    for (const policies of [
      {
        verify: { task: "v", retry: [{ on: ["drover.everything"] }] },
        effects: "verifiable" as const,
      },
      { compensate: { task: "c", retry: [{ on: ["drover.everything"] }] } },
    ])
      expect(problems(task(policies))[0]).toMatch(
        /^steps\[0\]\.(verify|compensate)\.retry\[0\]\.on\[0\]: .*: those are drover\.lost, drover\.timeout, /,
      );
  });

  test("needs between steps that run last and others", () => {
    expect(
      problems(
        task(),
        task({ id: "b", needs: ["a"], always: true }),
        task({ id: "c", needs: ["b"] }),
      ),
    ).toEqual([
      'steps[1].needs[0]: step "b" is an always step, which runs after all others by itself: remove its need "a"',
      'steps[2].needs[0]: step "c" needs "b", which is an always step and runs after all others: remove the need, or make "c" an always step too',
    ]);
  });

  test("a schema of the input that is no schema", () => {
    expect(definitionProblems({ workflow: "w", steps: [task()], inputSchema: json([]) })).toEqual([
      {
        path: "input_schema",
        message:
          "the schema is neither an object nor true or false: write it as { type: object, ... }",
      },
    ]);
  });

  test("everything of every step at once", () => {
    expect(
      problems(
        task({ effects: "verifiable", onPickup: "fallback" }),
        wait({ id: "b", needs: ["x"] }),
      ).map((line) => line.split(":")[0]),
    ).toEqual(["steps[1].needs[0]", "steps[0].verify", "steps[0].on_pickup"]);
  });
});
