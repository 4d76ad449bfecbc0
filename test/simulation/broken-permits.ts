// The history of concurrency keys, broken by hand.
import { type BrokenHistory, callsWith, must, runOf } from "./damage.ts";
import { PERMIT_KEY } from "./good-history-permits.ts";

export const BROKEN_PERMITS: readonly BrokenHistory[] = [
  {
    promise: "G3",
    what: "two runs of a key with one permit are under way",
    break: (history) => {
      const second = must(runOf(history, "q2").attempts[0], "attempt").endedAt;
      runOf(history, "q1").endedAt = second;
    },
    message:
      /2 runs of key "customer-7" of namespace blue were under way at \d+, of 1 at most: q1, q2/,
  },
  {
    promise: "G7",
    what: "a run has ended and holds its permit",
    break: (history) => {
      const permit = { namespace: "blue", key: PERMIT_KEY, runId: "q1", holds: true };
      history.final.permits.push(permit);
    },
    message: /run q1 has ended and holds a permit of key "customer-7"/,
  },
  {
    promise: "G8",
    what: "a run began before its time",
    break: (history) => {
      for (const { request } of callsWith(history, "Schedule"))
        if (request.rpc === "Schedule" && request.mark === "order q2")
          request.startAt = history.final.at;
    },
    message: /run q2 was to start at \d+, and its first task was handed out at \d+/,
  },
  {
    promise: "G15",
    what: "a run waited for a permit that no run had",
    break: (history) => {
      history.final.at += 10_000;
      const end = { reason: "NEVER_STARTED", endedAt: history.final.at } as const;
      Object.assign(runOf(history, "q3"), end);
    },
    message:
      /run q3 waited for a permit of key "customer-7" of namespace blue until \d+, and from \d+ on/,
  },
  {
    promise: "G15",
    what: "a run was refused a permit that no run had",
    break: (history) => {
      const [call] = callsWith(history, "Schedule");
      const { request, process, server } = must(call, "Schedule");
      if (request.rpc !== "Schedule") return;
      const asked = { ...structuredClone(request), key: null, mark: "another" };
      const at = history.final.at - 10;
      history.records.push({ kind: "call", at, process, call: 900, server, request: asked });
      const refused = { code: "FAILED_PRECONDITION", reason: "CONCURRENCY_LIMIT" };
      const answer = { kind: "refused" as const, ...refused };
      history.records.push({ kind: "answer", at, process, call: 900, answer, canaries: [] });
    },
    message:
      /"another" was refused a permit of key "customer-7" of namespace blue at \d+, and no run/,
  },
  {
    promise: "G1",
    what: "a run made room for a newer one that is not there",
    break: (history) => {
      Object.assign(runOf(history, "q3"), { state: "CANCELLED", reason: "CANCELLED_BY_NEWER" });
    },
    message: /run q3 made room for a newer run of its key; there is none/,
  },
];
