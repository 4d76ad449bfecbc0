// Of which queue and of what name each task was.
import { type Facts, type HandOut, type RunFacts, tokenKey } from "./facts.ts";

export type LaneOf = (
  run: RunFacts,
  handOut: HandOut,
) => { readonly queue: string; readonly task: string } | undefined;

/** As in the task that its agent received. */
export function lanesSeen(facts: Facts): LaneOf {
  const lanes = new Map(
    facts.seen.map(({ task: { token, attempt, queue, taskName } }) => [
      tokenKey(token, attempt),
      { queue, task: taskName },
    ]),
  );
  return ({ run: { runId } }, handOut) =>
    lanes.get(tokenKey({ runId, ...handOut }, handOut.attempt));
}
