/** What is printed when a story is over: its runs, and what the services wrote down. */
import type { RunDetails } from "@drover/sdk";
import type { Fact } from "./books.ts";
import type { Problem } from "./story.ts";
import { countBy, msBetween, seconds, table, title } from "./tables.ts";
import { paint } from "./timeline.ts";

/** More than these would bury what matters. */
const runsMax = 30;

export function runTable(details: ReadonlyMap<string, RunDetails>): string {
  const inOrder = [...details].toSorted(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  const rows = inOrder.slice(0, runsMax).map(([key, { run, attempts, escalations }]) => {
    const count = (kind: string) => attempts.filter((attempt) => attempt.kind === kind).length;
    return [
      key,
      String(count("PERFORM")),
      blankZero(count("VERIFY")),
      blankZero(count("COMPENSATE")),
      blankZero(escalations.length),
      paint(run.state === "COMPLETED" ? "good" : "undo", run.state),
      seconds(msBetween(run.createdTime, run.endedTime)),
    ];
  });
  const head = ["run", "attempts", "verifies", "undos", "asked", "ended", "took"];
  const more = details.size > runsMax ? `\n  and ${details.size - runsMax} more` : "";
  return `${title("Runs", "")}\n${table(head, rows)}${more}`;
}

export function factTable(facts: readonly Fact[]): string {
  const counts = countBy(facts.map(({ service, did }) => `${service} ${did}`));
  const rows = [...counts].map(([what, count]) => [what, String(count)]);
  return `${title("Ledger", "what the services really did")}\n${table(["fact", "number"], rows)}`;
}

/** How many of the runs are wrong in the end, by caller. */
export function rateTable(
  runs: number,
  problems: Readonly<Record<string, readonly Problem[]>>,
): string {
  const rows = Object.entries(problems).map(([caller, found]) => {
    const wrong = new Set(found.map(({ run }) => run)).size;
    return [caller, `${wrong} of ${runs}`, `${((100 * wrong) / runs).toFixed(1)} %`];
  });
  return `${title("Failure rate", "the same faults")}\n${table(["caller", "wrong", "rate"], rows)}`;
}

function blankZero(count: number): string {
  return count === 0 ? "" : String(count);
}
