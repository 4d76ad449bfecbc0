/** A filter of runs whose conditions are in the fields of the message, and in its text. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { RunFilterSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { expect, test } from "vitest";
import { filterFrom } from "../../server/api/run/run-list.ts";
import { ANY_RUN, type RunFilter } from "../../server/store/lists.ts";

function read(filter: MessageInitShape<typeof RunFilterSchema>): RunFilter {
  return filterFrom(create(RunFilterSchema, filter), 0);
}

test("the conditions of the text come beside those of the fields", () => {
  expect(read({ states: [RunState.FAILED], query: "step:hotel workflow:order" })).toEqual({
    ...ANY_RUN,
    states: ["FAILED"],
    workflow: "order",
    failure: { step: "hotel", code: null },
  });
});

test("a condition in both is refused", () => {
  expect(() => read({ states: [RunState.FAILED], query: "state:open" })).toThrow(
    "filter.query: it has a condition that is also in another field (states): give it once",
  );
});

test("a text that cannot be read is refused with the column of the mistake", () => {
  expect(() => read({ query: "state:failed acme" })).toThrow(
    'filter.query: column 14: "acme" is no condition',
  );
});
