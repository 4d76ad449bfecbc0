// Calls whose message a fault has duplicated: the caller receives one answer, and both copies are
// executed.
import type { Answer, History } from "../history.ts";
import { isOverloaded } from "../seen.ts";
import type { Fate } from "./facts.ts";

/** A copy of the call may have been taken although the answer was that this one was not. */
export function unlessAsked(answer: Answer): Answer {
  return isOverloaded(answer) ? { kind: "unknown", code: "REPEATED" } : answer;
}

/**
 * The server failed at a report, as every pass of its run failed then. A copy of the call may have
 * come later, and its report may have been taken.
 */
export function unlessFailed(fate: Fate): Fate {
  return fate.kind === "refused" && fate.reason === "INTERNAL" ? { kind: "unknown" } : fate;
}

/** Calls whose message a fault has duplicated. */
export function repeatedCalls({ records }: History): ReadonlySet<number> {
  const doubled = new Set(
    records.flatMap((record) =>
      record.kind === "fault" && record.fault.kind === "network" && record.fault.did === "repeated"
        ? [`${record.at} ${record.target}`]
        : [],
    ),
  );
  return new Set(
    records.flatMap((record) =>
      record.kind === "call" && doubled.has(`${record.at} ${record.server}`) ? [record.call] : [],
    ),
  );
}
