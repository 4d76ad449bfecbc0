/** The transfer story, run as a user runs it, and by the naive caller. */
import { expect, test } from "vitest";
import type { Fact } from "../../../agents-examples/stage/books.ts";
import { runStory, storyMsMax, untrueLines } from "../../support/story-run.ts";

function centsOf(facts: readonly Fact[], did: string): number {
  return facts
    .filter((fact) => fact.did === did)
    .reduce((sum, { what }) => sum + Number(what.cents), 0);
}

test(
  "no cent appears or is lost although agents are killed, and two approve what is large",
  async () => {
    const result = await runStory("transfer");
    expect(result.code, result.output).toBe(0);
    const { facts, runs, output } = result;
    expect(centsOf(facts, "debited")).toBe(centsOf(facts, "credited") + centsOf(facts, "reversed"));
    expect(output.match(/SIGKILL for transfer-/g)).toHaveLength(5);

    const leases = [...runs.values()].flatMap(({ interventions }) =>
      interventions.filter(({ rule }) => rule === "lease"),
    );
    expect(leases.length).toBeGreaterThan(0);

    const deciders = (run: string) =>
      result.runs.get(run)?.decisions.map(({ approver, approved }) => [approver, approved]);
    expect(result.output).toContain("transfer-09 is not Tess's to approve");
    expect(deciders("transfer-09")).toEqual([
      ["Tom", true],
      ["Theo", true],
    ]);
    expect(deciders("transfer-13")).toEqual([
      ["Tom", true],
      ["Tess", false],
    ]);
    expect(result.runs.get("transfer-13")?.run.state).toBe("FAILED");
  },
  storyMsMax,
);

test(
  "the naive caller takes money and puts it nowhere, as the README states",
  async () => {
    const result = await runStory("transfer", "--naive");
    expect(result.code).toBe(1);
    expect(result.problems.at(-1)?.message).toContain("euros are missing");
    expect(untrueLines("transfer", [result])).toEqual([]);
  },
  storyMsMax,
);
