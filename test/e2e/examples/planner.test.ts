/** The planner story, run as a user runs it, and by the naive caller. */
import { expect, test } from "vitest";
import { runStory, storyMsMax, untrueLines } from "../../support/story-run.ts";

test(
  "an assistant plans, is checked, approved, limited by its role, and is in the audit",
  async () => {
    const result = await runStory("planner");
    expect(result.code, result.output).toBe(0);
    // What is wrapped is on the line again, without the columns.
    const printed = result.output.replaceAll(/\s+/g, " ");

    // Checked: both mistakes of the draft, at their places.
    expect(printed).toContain('line 9, column 5: unknown key "retrys" in a step');
    expect(printed).toContain('line 13, column 13: step "food" needs "halls"');
    expect(printed).toContain("corrected and checked again: The definition is valid.");
    expect(printed).toContain("Called twice: The run was started before, with this key.");

    // Approved by a person, and not by itself.
    expect(printed).toContain("approves its own plan, and is refused (DECISION_REFUSED)");
    const run = result.runs.get("offsite");
    expect(run?.run).toMatchObject({
      state: "COMPLETED",
      workflowVersion: 0,
      labels: { requester: "planner", via: "mcp" },
    });
    expect(run?.decisions).toMatchObject([{ stepId: "plan", approver: "olga", approved: true }]);

    // Ran over flaky services, and ended in an escalation that it answered.
    const outcomes = run?.attempts.map(({ stepId, outcome }) => `${stepId} ${outcome}`);
    expect(outcomes).toEqual(expect.arrayContaining(["hall UNKNOWN", "food UNKNOWN"]));
    expect(run?.escalations).toMatchObject([
      { stepId: "food", answer: { answer: "retry", by: "planner" } },
    ]);
    expect(printed).toContain("asks why: For");

    // Refused where its role does not allow it; a person answered.
    expect(printed).toContain("would pay again, and is refused (NOT_ALLOWED)");
    expect(printed).toContain("answers in finance: it is on the statement of the bank");
    expect(result.facts.filter(({ did }) => did === "paid")).toHaveLength(1);

    // The audit has who did it, with which role, and that it was through MCP.
    const audit = [...printed.matchAll(/audit (\w+\.\w+ by \w+ \([^)]*\))/g)].map(([, row]) => row);
    expect(audit).toEqual([
      ...Array(2).fill("token.create by admin (token first, admin)"),
      "run.decide by olga (token olga, operator)",
      "escalation.answer by planner (token planner, operator, via=mcp)",
      "namespace.create by admin (token first, admin)",
      ...Array(2).fill("token.create by admin (token first, admin)"),
      "workflow.register by olga (token olga, operator)",
      "escalation.answer by olga (token olga, operator)",
    ]);
  },
  storyMsMax,
);

test(
  "the naive caller books and pays twice, as the README states",
  async () => {
    const result = await runStory("planner", "--naive");
    expect(result.code).toBe(1);
    expect(result.problems.map(({ message }) => message)).toEqual([
      "hall: booked 2 times; right is once",
      "kitchen: ordered 0 times; right is once",
      "bank: paid 2 times; right is once",
    ]);
    expect(untrueLines("planner", [result])).toEqual([]);
  },
  storyMsMax,
);
