// The good history, broken by hand in its triggers: runs that start at the end of other runs, or by
// calls from outside.
import { type Broken, type BrokenHistory, callsWith, must, runOf } from "./damage.ts";

function waitForEnds({ final }: Broken): void {
  const states = ["COMPLETED" as const];
  final.triggers.push({ namespace: "blue", name: "then", workflow: "trip", states });
}

export const BROKEN_BEGINNINGS: readonly BrokenHistory[] = [
  {
    promise: "G1",
    what: "an end has set off nothing",
    break: waitForEnds,
    message: /the end of run r1 has set off "then" 0 times/,
  },
  {
    promise: "G1",
    what: "what an end sets off was refused",
    break: (history) => {
      history.final.refusals.push("then after r1: WORKFLOW_NOT_FOUND, there is none");
    },
    message: /was refused: then after r1/,
  },
  {
    promise: "G1",
    what: "an end has set off what does not wait for it",
    break: (history) => {
      runOf(history, "r3").key = "trigger:then:r1";
    },
    message: /run r3 was started by "then" after run r1, whose end it does not wait for/,
  },
  {
    promise: "G1",
    what: "an end was reported before it was there",
    break: (history) => {
      waitForEnds(history);
      const run = runOf(history, "r3");
      run.key = "trigger:then:r1";
      run.createdAt = must(runOf(history, "r1").endedAt ?? undefined, "end") - 1;
    },
    message: /run r3 was started by "then" at \d+, before run r1 ended/,
  },
  {
    promise: "G1",
    what: "an unsigned call was done",
    break: (history) => {
      const [call] = callsWith(history, "Schedule");
      const { request, server } = must(call, "Schedule");
      const own = { process: "caller", at: history.final.at, call: 900 };
      if (request.rpc !== "Schedule") return;
      const forged = { ...structuredClone(request), rpc: "CallTrigger" as const, forged: true };
      history.records.push({ kind: "call", ...own, server, request: forged });
      const answer = { kind: "scheduled" as const, runId: "r1", created: false };
      history.records.push({ kind: "answer", ...own, answer, canaries: [] });
    },
    message: /an unsigned call was done at/,
  },
];
