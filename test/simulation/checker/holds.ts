// What people hold back, a queue, a workflow or a namespace: a part of G16, and what excuses G15.
import type { Moment } from "../../../server/core/attempt.ts";
import {
  allHandOuts,
  type Call,
  callsTo,
  type Facts,
  fateOf,
  type HandOut,
  type RunFacts,
} from "./facts.ts";
import { taskName } from "./hand-outs.ts";
import { type LaneOf, lanesSeen } from "./lanes.ts";
import { wasRepeated } from "./schedulings.ts";
import type { Finding } from "./violation.ts";

type Hold = ReturnType<typeof holdsOf>[number];

function holdsOf(facts: Facts) {
  return callsTo(facts, "Hold");
}

/**
 * From the answer to an accepted pause to the next call that may end it, nothing of what was paused
 * is handed out. Where such a call was still on its way, it may have come after the pause: no word
 * then.
 */
export function* whatIsHeldStays(facts: Facts): Iterable<Finding> {
  const laneOf = lanesSeen(facts);
  for (const hold of holdsOf(facts)) {
    const [heard] = hold.answers;
    if (!heard || fateOf(hold).kind !== "accepted") continue;
    const ends = letGos(facts, hold).filter((call) => !isOver(facts, call, hold));
    if (ends.some(({ place }) => place < heard.place)) continue;
    const untilAt = ends[0]?.sent.at ?? Number.POSITIVE_INFINITY;
    for (const run of facts.runs.values()) {
      if (run.run.namespace !== hold.request.namespace) continue;
      for (const task of [...allHandOuts(run), ...[...run.verifies.values()].flat()]) {
        if (!isOf(hold, run, task, laneOf)) continue;
        if (task.startedAt <= heard.at + facts.clockBackMs) continue;
        if (task.startedAt + facts.clockBackMs >= untilAt) continue;
        const { what, name } = hold.request.held;
        const text = `${taskName(run, task)} was handed out at ${task.startedAt}, though the pause of ${what} "${name}" was acknowledged at ${heard.at}`;
        yield { runId: run.run.runId, text };
      }
    }
  }
}

function letGos(facts: Facts, { request: { namespace, held } }: Hold): readonly Call[] {
  return callsTo(facts, "LetGo").filter(
    ({ request }) =>
      request.namespace === namespace &&
      request.held.what === held.what &&
      request.held.name === held.name,
  );
}

/** It had been answered before the other one was sent, and no copy of it comes later. */
export function isOver(facts: Facts, call: Call, other: Call): boolean {
  const [heard] = call.answers;
  if (!heard || heard.place > other.place) return false;
  return fateOf(call).kind !== "unknown" && !wasRepeated(facts, call);
}

function isOf({ request: { held } }: Hold, run: RunFacts, task: HandOut, laneOf: LaneOf): boolean {
  if (held.what === "namespace") return true;
  if (held.what === "workflow") return run.plan.workflow === held.name;
  return laneOf(run, task)?.queue === held.name;
}

/** Moments between which something of the namespace may have been held back. */
export function heldSpans(facts: Facts, namespace: string) {
  return holdsOf(facts).flatMap((hold): { readonly from: Moment; readonly until: Moment }[] => {
    if (hold.request.namespace !== namespace) return [];
    // One without a definite answer may not have been carried out.
    const ends = letGos(facts, hold).flatMap((call) =>
      call.place > hold.place && fateOf(call).kind === "accepted"
        ? call.answers.map(({ at }) => at)
        : [],
    );
    const from = hold.sent.at - facts.clockBackMs;
    return [{ from, until: (ends[0] ?? Number.POSITIVE_INFINITY) + facts.bounds.frozenMs }];
  });
}
