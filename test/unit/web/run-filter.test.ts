/** The filter of runs in the address: what cannot be read is reported, and is never no filter. */
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { expect, test } from "vitest";
import { readFilter } from "../../../web/src/pages/runs/run-filter.ts";

const read = (search: string) => readFilter(new URLSearchParams(search));

test("a filter is repeated in text", () => {
  const { filter, problems, words } = read(
    "state=FAILED&workflow=order&labels=team%3Dblue,zone%3Db&since=24h",
  );
  expect([...problems]).toEqual([]);
  expect(filter).toMatchObject({
    states: [RunState.FAILED],
    workflow: "order",
    labels: { team: "blue", zone: "b" },
  });
  expect(words).toBe(
    "state failed, workflow order, label team=blue, label zone=b, started in the last 24 hours",
  );
});

test("no filter has no text", () => {
  expect(read("order=oldest").words).toBe("");
});

test("a value of a label may have equal liveness", () => {
  expect(read("labels=query%3Da%3Db").filter.labels).toEqual({ query: "a=b" });
});

test.each([
  ["labels=tenant", "labels", '"tenant" is not a label: write name=value'],
  ["labels=tenant%3Aglobex", "labels", '"tenant:globex" is not a label: write name=value'],
  ["labels=%3Dglobex", "labels", '"=globex" is not a label: write name=value'],
  ["labels=a%3D1+a%3D2", "labels", 'the label "a" is given twice: a run has one value for it'],
  ["state=FALED", "state", 'there is no state "FALED"'],
  ["since=9d", "since", 'there is no time range "9d"'],
  ["order=newest", "order", 'there is no order "newest"'],
])("%s cannot be read", (search, field, problem) => {
  expect([...read(search).problems]).toEqual([[field, problem]]);
});
