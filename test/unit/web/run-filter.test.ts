/** The filter of runs in the address: what cannot be read is reported, and is never no filter. */
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { expect, test } from "vitest";
import { readFilter } from "../../../web/src/pages/runs/run-filter.ts";

const read = (search: string) => readFilter(new URLSearchParams(search));

test("a filter is repeated in text", () => {
  const { filter, problems, words } = read(
    "state=FAILED&workflow=order&filter=label.team%3Dblue&since=24h",
  );
  expect([...problems]).toEqual([]);
  expect(filter).toMatchObject({
    states: [RunState.FAILED],
    workflow: "order",
    query: "label.team=blue",
  });
  expect(words).toBe("state failed, workflow order, label.team=blue, started in the last 24 hours");
});

test("no filter has no text", () => {
  expect(read("order=oldest").words).toBe("");
});

test.each([
  ["state=FALED", "state", 'there is no state "FALED"'],
  ["since=9d", "since", 'there is no time range "9d"'],
  ["order=newest", "order", 'there is no order "newest"'],
])("%s cannot be read", (search, field, problem) => {
  expect([...read(search).problems]).toEqual([[field, problem]]);
});
