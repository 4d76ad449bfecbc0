/** What is stored as text is read back as it was given, bytes and names of any kind among it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Definition } from "../../server/core/definition/definition.ts";
import type { Payload } from "../../server/core/model/payload.ts";
import {
  definitionFromText,
  definitionText,
  specFromText,
  specText,
} from "../../server/store/definition-text.ts";
import type { ScheduleSpec } from "../../server/store/schedules.ts";

const bytes = fc.uint8Array({ maxLength: 64 });
const payload = fc.oneof(
  fc.record({ kind: fc.constant("json" as const), json: fc.json() }),
  fc.record({ kind: fc.constant("data" as const), contentType: fc.string(), data: bytes }),
);
const definition = fc.record({
  workflow: fc.string(),
  steps: fc.array(
    fc.record(
      { id: fc.string(), needs: fc.array(fc.string()), task: fc.string(), input: payload },
      { requiredKeys: ["id", "needs", "task"] },
    ),
    { maxLength: 5 },
  ),
});
const name = fc.oneof(fc.string(), fc.constantFrom("data", "$bytes", "type"));

test("a definition is read back as it was given", () => {
  fc.assert(
    fc.property(definition, (original) => {
      expect(definitionFromText(definitionText(original))).toEqual(original);
    }),
  );
});

test("bytes as a connection gives them make the same text, and are read back as plain bytes", () => {
  const fromWire = (input: Payload): Payload =>
    input.kind === "data" ? { ...input, data: Buffer.from(input.data) } : input;
  fc.assert(
    fc.property(payload, (input) => {
      const of = (input: Payload): Definition => ({
        workflow: "w",
        steps: [{ id: "a", needs: [], task: "t", input }],
      });
      const text = definitionText(of(fromWire(input)));
      expect(text).toBe(definitionText(of(input)));
      expect(definitionFromText(text)).toEqual(of(input));
    }),
  );
});

test("a schedule is read back as it was given, whatever its labels are called", () => {
  fc.assert(
    fc.property(payload, fc.dictionary(name, fc.string()), (input, labels) => {
      const original: ScheduleSpec = {
        calendar: { kind: "interval", everyMs: 60_000, offsetMs: 0 },
        workflow: "w",
        version: 0,
        input,
        priority: 5,
        labels,
        notify: null,
        concurrency: null,
        overlap: "skip",
        catchUpMs: 0,
        jitterMs: 0,
      };
      expect(specFromText(specText(original))).toEqual(original);
    }),
  );
});

test("a row that holds what a Buffer makes of itself is read as the bytes that were meant", () => {
  const row =
    '{"steps":[{"id":"a","input":{"contentType":"x/y","data":{"data":[0,9,255],"type":"Buffer"},' +
    '"kind":"data"},"needs":[],"task":"t"}],"workflow":"w"}';
  const data = new Uint8Array([0, 9, 255]);
  const input = { kind: "data", contentType: "x/y", data } as const;
  expect(definitionFromText(row)).toEqual({
    workflow: "w",
    steps: [{ id: "a", needs: [], task: "t", input }],
  });
});
