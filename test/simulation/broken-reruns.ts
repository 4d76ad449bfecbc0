// The history of a run that is done again, broken by hand.
import {
  type AnswerPayload,
  type Broken,
  type BrokenHistory,
  callsWith,
  dropCalls,
  must,
  runOf,
} from "./damage.ts";

/** The request once more, with another answer. */
function askAgain(history: Broken, answer: AnswerPayload): void {
  const asked = must(callsWith(history, "RetryRun")[0], "RetryRun");
  const { at } = history.final;
  history.records.push({ ...structuredClone(asked), call: 900, at });
  const { process } = asked;
  history.records.push({ kind: "answer", at, process, call: 900, answer, canaries: [] });
}

export const BROKEN_RERUNS: readonly BrokenHistory[] = [
  {
    promise: "G1",
    what: "a run is done again, and no call asked for it",
    break: (history) => dropCalls(history, ({ rpc }) => rpc === "RetryRun"),
    message: /run n1 does run o1 again; no call asked for it/,
    also: ["G13"],
  },
  {
    promise: "G1",
    what: "an acknowledged re-run is of another run",
    break: (history) => {
      const { request } = must(callsWith(history, "RetryRun")[0], "RetryRun");
      if ("runId" in request) request.runId = "o2";
    },
    message: /run n1 was acknowledged as run o2 done again from what failed/,
    also: ["G13"],
  },
  {
    promise: "G1",
    what: "a step was reused that had not ended well",
    break: (history) => {
      const { reused } = runOf(history, "n1");
      reused.push({ step: 1, of: "o1" });
    },
    message: /reuses "hotel", which did not end well/,
    // And what is reused is never performed.
    also: ["G3"],
  },
  {
    promise: "G1",
    what: "the effect that was reused is of another run",
    break: (history) => {
      must(runOf(history, "n1").reused[0], "reused").of = "o2";
    },
    message: /reuses "flight" of run o2; its effect is of run o1/,
    // Its undo has the key of that one.
    also: ["G12"],
  },
  {
    promise: "G1",
    what: "what had ended well was done again",
    break: (history) => {
      runOf(history, "n1").reused = [];
    },
    message: /does "flight" again, which had ended well/,
    // Its undo has lost the fences and the effect that it is about.
    also: ["G3", "G5", "G11", "G12"],
  },
  {
    promise: "G2",
    what: "one request did a run again twice",
    break: (history) => {
      askAgain(history, { kind: "scheduled", runId: "o1", created: false });
    },
    message: /request "again-1" to do run o1 again was answered with several runs: n1, o1/,
    // The other one is no re-run.
    also: ["G1"],
  },
  {
    promise: "G11",
    what: "a reused effect is left in a run that was undone",
    break: (history) => {
      history.records = history.records.filter(
        (record) => record.kind !== "effect" || record.did !== "undone",
      );
    },
    message: /still has the effect "o1\/flight\/0", which step "flight" of run n1 reused of run o1/,
  },
  {
    promise: "G13",
    what: "a run was done again though every request for it was refused",
    break: (history) => {
      const asked = must(callsWith(history, "RetryRun")[0], "RetryRun");
      for (const record of history.records)
        if (record.kind === "answer" && record.call === asked.call)
          record.answer = { kind: "refused", code: "FAILED_PRECONDITION", reason: "RUN_STATE" };
    },
    message: /run o1 was done again 1 times; 0 requests for it were not refused/,
  },
];
