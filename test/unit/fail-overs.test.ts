// The answer to a call during which the database failed over.
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { StandardError } from "../../server/api/calls/errors.ts";
import { createFailOvers } from "../../server/api/calls/fail-overs.ts";
import { DroverError } from "../../server/errors.ts";

function world() {
  let incarnation = 0;
  const failOvers = createFailOvers({ incarnation: () => incarnation });
  const failOver = (): void => {
    incarnation++;
  };
  return { failOvers, failOver };
}

const defect = new Error("there is no definition 23");

describe("a call that was under way while the database failed over", () => {
  it("is to be repeated where it met what is no more", () => {
    const { failOvers, failOver } = world();
    const seen = failOvers.begin();
    failOver();
    const again = { reason: "STORE_UNAVAILABLE", cause: defect };
    expect(seen(defect)).toMatchObject(again);
    const inner = new DroverError("INTERNAL", "definition 23 is not stored");
    expect(seen(inner)).toMatchObject({ ...again, cause: inner });
  });

  it("keeps an answer that is one", () => {
    const { failOvers, failOver } = world();
    const seen = failOvers.begin();
    failOver();
    const gone = new DroverError("RUN_NOT_FOUND", "there is no such run");
    const over = new StandardError(Code.Unimplemented, "there is no such method");
    expect([seen(gone), seen(over)]).toEqual([gone, over]);
  });
});

it("a call that began since, or meanwhile no fail-over came, has met a defect", () => {
  const { failOvers, failOver } = world();
  const before = failOvers.begin();
  expect(before(defect)).toBe(defect);
  failOver();
  expect(failOvers.begin()(defect)).toBe(defect);
});
