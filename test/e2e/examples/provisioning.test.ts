/** The provisioning story, told as a user tells it, and by the naive caller. */
import { expect, test } from "vitest";
import { storyMsMax, tellStory, untrueLines } from "../../support/story-run.ts";

test(
  "each environment is whole or gone, although every eighth call goes wrong",
  async () => {
    const told = await tellStory("provisioning");
    expect(told.code, told.output).toBe(0);
    expect(told.output).toMatch(/drover +0 of 8 +0\.0 %/);
    expect(told.output).toMatch(/naive +[1-9]\d* of 8 /);

    const undone = [...told.runs.values()].filter(({ run }) => run.state === "COMPENSATED");
    expect(undone.length).toBeGreaterThan(0);
    for (const { run, steps } of undone) {
      expect(steps.find(({ id }) => id === "nodes")).toMatchObject({
        state: "FAILED",
        undoState: "DONE",
      });
      const nodes = told.facts.filter(({ ref }) => ref === `${run.key}/nodes`);
      expect(nodes.map(({ did }) => did)).toEqual(["begun", "deleted"]);
    }

    const inSecondRegion = told.facts.filter(({ what }) => what.region === "south");
    expect(inSecondRegion.length).toBeGreaterThan(0);
    expect(inSecondRegion.every(({ ref }) => ref.endsWith("/database"))).toBe(true);
  },
  storyMsMax,
);

test(
  "the naive caller leaves environments half-made, as the README says",
  async () => {
    const told = await tellStory("provisioning", "--naive");
    expect(told.code).toBe(1);
    expect(untrueLines("provisioning", [told])).toEqual([]);
  },
  storyMsMax,
);
