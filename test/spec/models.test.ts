/**
 * The models of spec/ hold, and each twin, which leaves one rule out, fails: every state that they
 * can reach is walked. That every fair path ends well takes longest to walk, and is left to
 * `npm run model`.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { checks } from "../../spec/models.ts";
import { isRequired, missingTool, search } from "../../spec/spin.ts";

const searchMs = 180_000;
const missing = await missingTool();

beforeEach((context) => {
  if (missing === null) return;
  if (isRequired(process.env)) throw new Error(missing);
  context.skip(missing);
});

const inWords = checks.map((check) => ({
  check,
  name: [check.model, check.without ?? check.of, ...check.defines].join(": "),
}));

describe("holds", () => {
  test.for(inWords.filter(({ check }) => check.without === null && check.formula === null))(
    "$name",
    { timeout: searchMs },
    async ({ check }) => {
      expect(await search(check)).toMatchObject({ result: "holds" });
    },
  );
});

describe("fails", () => {
  test.for(inWords.filter(({ check }) => check.without !== null))(
    "$name",
    { timeout: searchMs },
    async ({ check }) => {
      const result = check.formula === null ? "assertion" : "cycle";
      expect(await search(check)).toMatchObject({ result });
    },
  );
});

test("a missing tool is a failure where DROVER_REQUIRE asks for it", () => {
  expect(isRequired({})).toBe(false);
  expect(isRequired({ DROVER_REQUIRE: "go,python" })).toBe(false);
  expect(isRequired({ DROVER_REQUIRE: "go,spin" })).toBe(true);
  expect(isRequired({ DROVER_REQUIRE: "all" })).toBe(true);
});
