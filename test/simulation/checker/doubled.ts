// Calls whose message a fault has doubled: the caller hears one answer, and both copies are done.
import type { Answer, History } from "../history.ts";
import { isOverloaded } from "../seen.ts";

/** A copy of the call may have been taken although the caller heard that this one was not. */
export function unlessAsked(answer: Answer): Answer {
  return isOverloaded(answer) || hasFailed(answer) ? { kind: "unknown", code: "REPEATED" } : answer;
}

/** The server failed at a report, as the passes of its run fail, and gave nothing out. */
function hasFailed(answer: Answer): boolean {
  if (answer.kind !== "completed" || answer.tasks.length > 0) return false;
  return answer.answers.some((one) => one.kind === "refused" && one.reason === "INTERNAL");
}

/** Calls whose message a fault has doubled. */
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
