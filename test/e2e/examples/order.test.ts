/** The order story, run as a user runs it, and by the naive caller. */
import { expect, test } from "vitest";
import { runStory, storyMsMax, untrueLines } from "../../support/story-run.ts";

test(
  "who paid has a parcel, who has none has the money back, and all were notified",
  async () => {
    const result = await runStory("order");
    expect(result.code, result.output).toBe(0);
    const states = [...result.runs.values()].map(({ run }) => run.state).sort();
    const undone = Array(4).fill("COMPENSATED");
    expect(states).toEqual([...undone, ...Array(3).fill("COMPLETED"), "FAILED"]);

    const approvals = [...result.runs.values()].flatMap(
      ({ steps }) => steps.find(({ id }) => id === "approve")?.state ?? [],
    );
    expect(approvals.sort()).toEqual([
      // Of the order that is sold out no approver was asked.
      "CANCELLED",
      "FAILED",
      "FAILED",
      "SKIPPED",
      "SKIPPED",
      "SKIPPED",
      "SKIPPED",
      "SUCCEEDED",
    ]);

    // Undone last first, and the customer is notified after it.
    const refunded = result.facts.filter(({ did }) => did === "refunded").map(({ ref }) => ref);
    expect(refunded).toHaveLength(2);
    for (const run of refunded) {
      const did = result.facts.filter(({ ref }) => ref === run).map((fact) => fact.did);
      expect(did).toEqual(["reserved", "charged", "refunded", "put back", "told"]);
    }
  },
  storyMsMax,
);

test(
  "the naive caller keeps money and stock, and notifies no customer, as the README states",
  async () => {
    const result = await runStory("order", "--naive");
    expect(result.code).toBe(1);
    const unreturned = result.problems.filter(({ message }) =>
      message.startsWith("paid 1, stock taken 1"),
    );
    expect(unreturned).toHaveLength(3);
    expect(untrueLines("order", [result])).toEqual([]);
  },
  storyMsMax,
);
