/** A workflow as an object has all that the contract can hold, in the keys of the text form. */
import { Effects, OnFailure, OnPickup, RunIf } from "@drover/proto/drover/v1/workflow_pb.ts";
import { expect, test } from "vitest";
import { toDefinition } from "../../sdk/typescript/definition.ts";
import { json } from "../../sdk/typescript/payload.ts";
import type {
  MapSpec,
  StepKindSpec,
  StepSettings,
  WavesSpec,
} from "../../sdk/typescript/workflow.ts";
import { parseWorkflowText } from "../../server/definition-text/workflow-text.ts";

function definitionOf(...steps: (Partial<StepSettings> & StepKindSpec)[]) {
  return toDefinition({ workflow: "w", steps: steps.map((step) => ({ id: "a", ...step })) });
}

const map = { over: 3, task: "t" };

test("an object and a text of the same content become the same definition", () => {
  const then = "fail";
  const text = `
workflow: order
timeout: 1d
input_schema: { type: object }
steps:
  - id: pay
    task: charge
    queue: money
    input: { amount: "\${input.amount}" }
    retry: { on: [busy], attempts: 3, initial: 1s, factor: 3, max: 10s, jitter: 0 }
    timeouts: { attempt: 1m, stall: 5s, callback: 2h }
    effects: verifiable
    verify: { task: find-charge, queue: lookups, retry: { attempts: 9 } }
    compensate: { task: refund, when: attempted, timeouts: { attempt: 2m } }
    fallback: [{ input: { card: second } }, { queue: money-eu, task: charge-eu }]
    on_pickup: fallback
    on_failure: escalate
    escalation: { remind: 2h, deadline: 1d, then: fail }
    output_schema: { type: object }
    logs: off
  - { id: cool, wait: 30m, needs: [pay] }
  - { id: open, wait: { until: "2026-03-01T08:00:00.000Z" }, when: "input.waits" }
  - { id: paid, signal: paid, needs: [cool, open], run_if: any_ok }
  - { id: sent, signal: { name: sent, within: 2d, on_expiry: skip }, pivot: true }
  - id: release
    approval:
      { approvers: [finance], need: 2, not_requester: true, form: true, within: 1d, on_expiry: reject }
  - { id: bill, run: billing, fallback: [{ run: { workflow: billing-eu, version: 2 } }] }
  - { id: tell, task: send-mail, always: true, on_failure: continue }
`;
  const definition = toDefinition({
    workflow: "order",
    timeout: "1d",
    inputSchema: { type: "object" },
    steps: [
      {
        id: "pay",
        task: "charge",
        queue: "money",
        input: { amount: "$" + "{input.amount}" },
        retry: { on: ["busy"], attempts: 3, initial: "1s", factor: 3, max: "10s", jitter: 0 },
        timeouts: { attempt: "1m", stall: "5s", callback: "2h" },
        effects: "verifiable",
        verify: { task: "find-charge", queue: "lookups", retry: { attempts: 9 } },
        compensate: { task: "refund", when: "attempted", timeouts: { attempt: "2m" } },
        fallback: [{ input: { card: "second" } }, { queue: "money-eu", task: "charge-eu" }],
        onPickup: "fallback",
        onFailure: "escalate",
        escalation: { remind: "2h", deadline: "1d", then },
        outputSchema: { type: "object" },
        logs: "off",
      },
      { id: "cool", wait: "30m", needs: ["pay"] },
      { id: "open", wait: { until: new Date(Date.UTC(2026, 2, 1, 8)) }, when: "input.waits" },
      { id: "paid", signal: "paid", needs: ["cool", "open"], runIf: "any_ok" },
      { id: "sent", signal: { name: "sent", within: "2d", onExpiry: "skip" }, pivot: true },
      {
        id: "release",
        approval: {
          approvers: ["finance"],
          need: 2,
          notRequester: true,
          form: true,
          within: "1d",
          onExpiry: "reject",
        },
      },
      {
        id: "bill",
        run: "billing",
        fallback: [{ run: { workflow: "billing-eu", version: 2 } }],
      },
      { id: "tell", task: "send-mail", always: true, onFailure: "continue" },
    ],
  });
  expect(definition).toEqual(parseWorkflowText(text).definition);
});

test.each<readonly [string, MapSpec]>([
  ["tolerate: 2", { ...map, tolerate: 2 }],
  ["tolerate: 0", { ...map, tolerate: 0 }],
  ["tolerate_percent: 5", { ...map, toleratePercent: 5 }],
  ["tolerate_percent: 2.5", { ...map, toleratePercent: 2.5 }],
  ["tolerate_percent: 0", { ...map, toleratePercent: 0 }],
  ["waves: { size: 10 }", { ...map, waves: { size: 10 } }],
  ["waves: { percent: 25, pause: 5m }", { ...map, waves: { percent: 25, pause: "5m" } }],
  [
    "waves: { percent: 12.5, gate: { task: look } }",
    { ...map, waves: { percent: 12.5, gate: "look" } },
  ],
  [
    "concurrency: 3, tolerate_percent: 5, waves: { size: 2, gate: { task: look, input: [1] } }",
    {
      ...map,
      concurrency: 3,
      toleratePercent: 5,
      waves: { size: 2, gate: { task: "look", input: [1] } },
    },
  ],
])("a map with %s is the same in an object", (part, of) => {
  const text = `{ workflow: w, steps: [{ id: a, map: { over: "3", task: t, ${part} } }] }`;
  expect(definitionOf({ map: of })).toEqual(parseWorkflowText(text).definition);
});

test("a map with a number and a share is refused, as in a text", () => {
  const both: object = { ...map, tolerate: 1, toleratePercent: 5 };
  expect(() => definitionOf({ map: both as MapSpec })).toThrow(
    "A map has tolerate and toleratePercent; leave one of them.",
  );
  const waves: object = { size: 1, percent: 5 };
  expect(() => definitionOf({ map: { ...map, waves: waves as WavesSpec } })).toThrow(
    "A map has size and percent; leave one of them.",
  );
  const text = (part: string) =>
    `{ workflow: w, steps: [{ id: a, map: { over: "3", task: t, ${part} } }] }`;
  expect(() => parseWorkflowText(text("tolerate: 1, tolerate_percent: 5"))).toThrow();
  expect(() => parseWorkflowText(text("waves: { size: 1, percent: 5 }"))).toThrow();
});

test("what is left out is left to the server's defaults", () => {
  const [step] = definitionOf({ task: "t" }).steps;
  expect(step).toMatchObject({
    effects: Effects.UNSPECIFIED,
    runIf: RunIf.UNSPECIFIED,
    onPickup: OnPickup.UNSPECIFIED,
    onFailure: OnFailure.UNSPECIFIED,
  });
  expect([step?.input, step?.verify, step?.timeouts, step?.outputSchema]).toEqual(
    Array(4).fill(undefined),
  );
});

test("a setting that means nothing for the kind is sent all the same, for the server to refuse", () => {
  const [step] = definitionOf({ wait: "1h", verify: "find", input: 1 }).steps;
  expect(step).toMatchObject({ verify: { task: "find" }, input: json(1) });
});

test("a step of two kinds is refused at once", () => {
  const both = { task: "t", wait: "1h" };
  expect(() => definitionOf(both)).toThrow('The step "a" is a task and a wait; leave one of them.');
});

test("a name that is none of an enum's is refused with those that are", () => {
  const unknown: string = "compensat";
  const onFailure = unknown as "compensate";
  expect(() => definitionOf({ task: "t", onFailure })).toThrow(
    '"compensat" is none of compensate, fail, continue, escalate.',
  );
});

test("an object may have the keys of the text form", () => {
  const spelledAsText: object = {
    output_schema: { type: "object" },
    on_failure: "continue",
    input: { some_key: 1 },
    fallback: [{ input: { other_key: 2 } }],
  };
  const spelled: Partial<StepSettings> = {
    outputSchema: { type: "object" },
    onFailure: "continue",
    input: { some_key: 1 },
    fallback: [{ input: { other_key: 2 } }],
  };
  expect(definitionOf({ task: "t", ...spelledAsText })).toEqual(
    definitionOf({ task: "t", ...spelled }),
  );
  expect(definitionOf({ wait: { for: "6h" } })).toEqual(definitionOf({ wait: "6h" }));
});

test.each<[string, object, string]>([
  [
    "a step",
    { outputShema: {} },
    'steps[0] has the unknown key "outputShema": did you mean "outputSchema"?',
  ],
  [
    "timeouts",
    { timeouts: { hartbeat: 5 } },
    'steps[0].timeouts has the unknown key "hartbeat": did you mean "heartbeat"?',
  ],
  [
    "one of many policies",
    { retry: [{}, { atempts: 5 }] },
    'steps[0].retry[1] has the unknown key "atempts": did you mean "attempts"?',
  ],
  [
    "a key that resembles none",
    { fallback: [{ colour: "red" }] },
    'steps[0].fallback[0] has the unknown key "colour": it may have queue, task, run, input.',
  ],
  [
    "both spellings of a key",
    { on_failure: "fail", onFailure: "fail" },
    'steps[0] has "onFailure" and "on_failure", which are one key: leave one of them.',
  ],
])("an unknown key is refused: %s", (_name, settings, message) => {
  expect(() => definitionOf({ task: "t", ...settings })).toThrow(new TypeError(message));
});

test("an unknown key of the workflow is refused", () => {
  const spec = { workflow: "w", input_shema: {}, steps: [] };
  expect(() => toDefinition(spec)).toThrow(
    'The workflow has the unknown key "input_shema": did you mean "inputSchema"?',
  );
});
