/** The order story, told as a user tells it, and by the naive caller. */
import { expect, test } from "vitest";
import { storyMsMax, tellStory, untrueLines } from "../../support/story-run.ts";

test(
  "who paid has a parcel, who has none has the money back, and all were told",
  async () => {
    const told = await tellStory("order");
    expect(told.code, told.output).toBe(0);
    const states = [...told.runs.values()].map(({ run }) => run.state).sort();
    const undone = Array(4).fill("COMPENSATED");
    expect(states).toEqual([...undone, ...Array(3).fill("COMPLETED"), "FAILED"]);

    const approvals = [...told.runs.values()].flatMap(
      ({ steps }) => steps.find(({ id }) => id === "approve")?.state ?? [],
    );
    expect(approvals.sort()).toEqual([
      // Of the order that is sold out nobody was asked.
      "CANCELLED",
      "FAILED",
      "FAILED",
      "SKIPPED",
      "SKIPPED",
      "SKIPPED",
      "SKIPPED",
      "SUCCEEDED",
    ]);

    // Undone last first, and the customer is told after it.
    const refunded = told.facts.filter(({ did }) => did === "refunded").map(({ ref }) => ref);
    expect(refunded).toHaveLength(2);
    for (const run of refunded) {
      const did = told.facts.filter(({ ref }) => ref === run).map((fact) => fact.did);
      expect(did).toEqual(["reserved", "charged", "refunded", "put back", "told"]);
    }
  },
  storyMsMax,
);

test(
  "the naive caller keeps money and stock, and tells nobody, as the README says",
  async () => {
    const told = await tellStory("order", "--naive");
    expect(told.code).toBe(1);
    const kept = told.problems.filter(({ message }) => message.startsWith("paid 1, stock taken 1"));
    expect(kept).toHaveLength(3);
    expect(untrueLines("order", [told])).toEqual([]);
  },
  storyMsMax,
);
