/** The provisioning story, run as a user runs it, and by the naive caller. */
import { expect, test } from "vitest";
import { runStory, storyMsMax, untrueLines } from "../../support/story-run.ts";

test(
  "each environment is whole or gone, although every eighth call goes wrong",
  async () => {
    const result = await runStory("provisioning");
    expect(result.code, result.output).toBe(0);
    expect(result.output).toMatch(/drover +0 of 8 +0\.0 %/);
    expect(result.output).toMatch(/naive +[1-9]\d* of 8 /);

    const undone = [...result.runs.values()].filter(({ run }) => run.state === "COMPENSATED");
    expect(undone.length).toBeGreaterThan(0);
    for (const { run, steps } of undone) {
      expect(steps.find(({ id }) => id === "nodes")).toMatchObject({
        state: "FAILED",
        undoState: "DONE",
      });
      const nodes = result.facts.filter(({ ref }) => ref === `${run.key}/nodes`);
      expect(nodes.map(({ did }) => did)).toEqual(["begun", "deleted"]);
    }

    const inSecondRegion = result.facts.filter(({ what }) => what.region === "south");
    expect(inSecondRegion.length).toBeGreaterThan(0);
    expect(inSecondRegion.every(({ ref }) => ref.endsWith("/database"))).toBe(true);
  },
  storyMsMax,
);

test(
  "the naive caller leaves environments half-made, as the README states",
  async () => {
    const result = await runStory("provisioning", "--naive");
    expect(result.code).toBe(1);
    expect(untrueLines("provisioning", [result])).toEqual([]);
  },
  storyMsMax,
);
