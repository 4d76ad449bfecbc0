// A definition on its way in and out of the core: nothing is lost, added or filled in.
import { create, toJson } from "@bufbuild/protobuf";
import {
  StepDefinitionSchema,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { definitionFrom, definitionMessage } from "../../server/api/workflow/convert-definition.ts";
import type { Definition } from "../../server/core/definition/definition.ts";
import { definitions } from "../support/random-workflow-text.ts";

const json = (text: string) => ({ kind: "json" as const, json: text });

const everything: Definition = {
  workflow: "order",
  timeoutMs: 60_000,
  inputSchema: json("true"),
  steps: [
    {
      id: "charge",
      needs: ["released"],
      task: "charge",
      queue: "money",
      input: json('{"sum":1}'),
      retry: [{ on: ["full"], attempts: 2, initialMs: 5, factor: 1.5, maxMs: 9, jitter: 0 }, {}],
      timeouts: {
        pickupMs: 1,
        attemptMs: 2,
        heartbeatMs: 3,
        stallMs: 4,
        totalMs: 5,
        cancelMs: 0,
        settleMs: 0,
        callbackMs: 8,
      },
      effects: "verifiable",
      verify: { task: "find", queue: "q", retry: [{ attempts: 1 }], timeouts: { stallMs: 1 } },
      compensate: { task: "refund", when: "attempted", timeouts: { attemptMs: 1 } },
      fallback: [{ queue: "other" }, { task: "charge-2", input: json("{}") }],
      onFailure: "continue",
      onPickup: "fallback",
      escalation: { remindMs: 120_000, deadlineMs: 3_600_000, answer: "compensate" },
      runIf: "any_ok",
      when: "input.sum > 0",
      pivot: true,
      outputSchema: json('{"type":"object"}'),
      logs: "off",
    },
    { id: "pause", needs: [], kind: "wait", forMs: 60_000 },
    { id: "monday", needs: [], kind: "wait", until: "2026-03-02T08:00:00Z" },
    { id: "paid", needs: [], kind: "signal", name: "paid", withinMs: 1, onExpiry: "skip" },
    {
      id: "released",
      needs: ["paid"],
      kind: "approval",
      approvers: ["finance"],
      need: 2,
      notRequester: true,
      form: json("{}"),
      withinMs: 2,
      onExpiry: "approve",
    },
    {
      id: "bill",
      needs: [],
      kind: "run",
      workflow: "billing",
      version: 3,
      fallback: [{ workflow: "billing-eu", version: 2 }, { workflow: "billing-us" }],
    },
    { id: "asked", needs: [], kind: "approval", approvers: [] },
    {
      id: "rooms",
      needs: [],
      kind: "map",
      over: `\${input.rooms}`,
      task: "clean",
      queue: `floor-\${item.floor}`,
      concurrency: 4,
      toleratePercent: 12.5,
      waves: {
        percent: 25,
        pauseMs: 60_000,
        gate: {
          task: "inspect",
          queue: "office",
          input: { kind: "json", json: '{"who":"ada"}' },
          retry: [{ attempts: 3 }],
          timeouts: { attemptMs: 1_000 },
        },
      },
    },
    {
      id: "keys",
      needs: [],
      kind: "map",
      over: "7",
      task: "count",
      tolerate: 2,
      waves: { size: 3 },
    },
    { id: "notify", needs: [], task: "mail", always: true, effects: "once" },
  ],
};

test("every field of a definition comes back from its message", () => {
  expect(definitionFrom(definitionMessage(everything))).toEqual(everything);
});

test("any message is the same after a way through the core", () => {
  fc.assert(
    fc.property(definitions, (init) => {
      const definition = definitionFrom(create(WorkflowDefinitionSchema, init));
      expect(definitionFrom(definitionMessage(definition))).toEqual(definition);
    }),
    { numRuns: 200 },
  );
});

test("no field of a step is forgotten", () => {
  const fields = definitionMessage(everything).steps.flatMap((step) =>
    Object.keys(toJson(StepDefinitionSchema, step) ?? {}),
  );
  const all = StepDefinitionSchema.fields.map(({ jsonName }) => jsonName);
  expect([...new Set(fields)].sort()).toEqual([...all].sort());
});
