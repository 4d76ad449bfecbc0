// A paused run is granted nothing: a part of G16.
import { allHandOuts, type Call, type Facts, fateOf, type RunFacts } from "./facts.ts";
import { isForward } from "./families.ts";
import { handedOutBy, taskName } from "./hand-outs.ts";
import { makesRoomFrom } from "./permits.ts";
import type { Finding } from "./violation.ts";

/**
 * From the answer to an accepted PauseRun to the next call that may let the run move, or to a newer
 * run of its key that has it cancelled, no task of it is handed out. Where such a call was sent
 * before, it may have come after the pause: no finding then.
 */
export function* pausesHold(facts: Facts): Iterable<Finding> {
  for (const run of facts.runs.values()) {
    if (run.pauses.length === 0) continue;
    const moves = facts.calls.filter((call) => letsMove(call, run));
    for (const pause of run.pauses) {
      const [received] = pause.answers;
      if (!received || fateOf(pause).kind !== "accepted") continue;
      if (moves.some(({ index }) => index < received.index)) continue;
      const movedAt = moves[0]?.sent.at ?? Number.POSITIVE_INFINITY;
      const untilAt = Math.min(movedAt, makesRoomFrom(facts, run));
      const tasks = [...allHandOuts(run), ...[...run.verifies.values()].flat()];
      for (const task of tasks) {
        // A run above it may have stopped it.
        if (run.above.length > 0 && !isForward(run, task)) continue;
        if (task.startedAt <= received.at + facts.clockBackMs) continue;
        if (handedOutBy(facts, run, task) >= untilAt) continue;
        const { runId } = run.run;
        const text = `${taskName(run, task)} was handed out at ${task.startedAt}, though the pause of run ${runId} was acknowledged at ${received.at}`;
        yield { runId, text };
      }
    }
  }
}

function letsMove({ request }: Call, { run: { runId }, above }: RunFacts): boolean {
  if (request.rpc !== "ResumeRun" && request.rpc !== "CancelRun") return false;
  return request.runId === runId || above.includes(request.runId);
}
