// The history of a schedule, broken by hand.
import { type Broken, type BrokenHistory, callsWith, must } from "./damage.ts";
import { SCHEDULE } from "./good-history-schedules.ts";

function occurrence(history: Broken, index: number) {
  return must(history.final.occurrences[index], `occurrence ${index}`);
}

function schedule(history: Broken) {
  return must(history.final.schedules[0], "schedule");
}

export const BROKEN_SCHEDULES: readonly BrokenHistory[] = [
  {
    promise: "G1",
    what: "a schedule was acknowledged and is not there",
    break: (history) => {
      history.final.schedules = [];
    },
    message: /schedule "clock" of blue was acknowledged at \d+; it is not stored/,
  },
  {
    promise: "G1",
    what: "a schedule is there that no call asked for",
    break: (history) => {
      for (const { request } of callsWith(history, "ChangeSchedule"))
        if (request.rpc === "ChangeSchedule" && request.did === "create")
          request.schedule = "other";
    },
    message: /schedule "clock" is stored; no call asked for it/,
  },
  {
    promise: "G1",
    what: "an occurrence was forgotten",
    break: (history) => {
      history.final.occurrences.splice(1, 1);
    },
    message:
      /occurrence 1970-01-01T00:16:41.000Z of schedule "clock" of blue has passed, and nothing/,
  },
  {
    promise: "G1",
    what: "an occurrence passed behind those that were marked",
    break: (history) => {
      must(occurrence(history, 2).missed ?? undefined, "mark").until -= 1_000;
    },
    message:
      /occurrence 1970-01-01T00:16:43.000Z of schedule "clock" of blue has passed, and nothing/,
  },
  {
    promise: "G1",
    what: "an occurrence that was backfilled has no run",
    break: (history) => {
      const [last] = history.final.occurrences.splice(4, 1);
      for (const run of history.final.runs) if (run.runId === last?.runId) run.scheduledBy = null;
    },
    message:
      /occurrence 1970-01-01T00:16:42.000Z of schedule "clock" of blue was backfilled, and has no run/,
  },
  {
    promise: "G1",
    what: "a run of a schedule is of none of its occurrences",
    break: (history) => {
      occurrence(history, 3).runId = null;
    },
    message: /run q2 of schedule "clock" is of no occurrence of it/,
  },
  {
    promise: "G2",
    what: "an occurrence has two runs",
    break: (history) => {
      history.final.occurrences.push({ ...occurrence(history, 0), runId: "q9" });
      history.final.runs.push({ ...must(history.final.runs[2], "run"), runId: "q9" });
      must(history.final.runs[2], "run").key = null;
    },
    also: ["G1"],
    message:
      /occurrence 1970-01-01T00:16:40.000Z of schedule "clock" of blue has two runs, q1 and q9/,
  },
  {
    promise: "G8",
    what: "an occurrence fired before its time",
    break: (history) => {
      occurrence(history, 3).handledAt -= 20;
    },
    message: /occurrence .* was due at 1004000, and fired at 1003995/,
  },
  {
    promise: "G8",
    what: "an occurrence fired late",
    break: (history) => {
      occurrence(history, 3).handledAt += 5_000;
    },
    message: /occurrence .* was due at 1004000, and fired late, at 1009015/,
  },
  {
    promise: "G8",
    what: "occurrences were given up within their catch-up window",
    break: (history) => {
      const mark = occurrence(history, 2);
      Object.assign(mark, { outcome: "missed", handledAt: mark.at + 1_200 });
    },
    also: ["G16"],
    message: /were given up at 1003200, within the 10000 ms of their catch-up/,
  },
  {
    promise: "G8",
    what: "the next occurrence is overdue",
    break: (history) => {
      history.final.at += 10_000;
    },
    message: /occurrence .* was due at 1005000, and at \d+ it had not fired/,
  },
  {
    promise: "G9",
    what: "an occurrence was fired in an epoch of another",
    break: (history) => {
      for (const one of history.final.occurrences) if (one.actor) one.actor.node = "node-2";
    },
    message: /was fired by node-2 in epoch 1, which is node-1's/,
  },
  {
    promise: "G9",
    what: "an occurrence was fired after a take-over",
    break: (history) => {
      const index = history.records.findIndex(({ at }) => at > 1_003_000);
      const took = { partition: 7, node: "node-2", epoch: 2, did: "took" } as const;
      history.records.splice(index, 0, { kind: "owner", at: 1_003_000, process: "b", ...took });
    },
    message: /was fired at 1004015 in epoch 1, after epoch 2 of node-2 began/,
  },
  {
    promise: "G15",
    what: "an occurrence was overlapped by no run",
    break: (history) => {
      const [first] = history.final.runs;
      for (const run of history.final.runs) if (run !== first) run.concurrency = null;
      if (first?.concurrency) first.concurrency.key = "another";
    },
    message: /was overlapped at 1001015 by 0 runs, and its policy is skip/,
  },
  {
    promise: "G16",
    what: "an occurrence fired while its schedule was paused",
    break: (history) => {
      const mark = occurrence(history, 2);
      Object.assign(mark, { outcome: "started", series: 1, missed: null, handledAt: mark.at + 15 });
    },
    also: ["G1"],
    message: /fired at \d+, though the pause was acknowledged at 1001510/,
  },
  {
    promise: "G16",
    what: "an occurrence fired after its schedule was deleted",
    break: (history) => {
      schedule(history).current = null;
      for (const { request } of callsWith(history, "ChangeSchedule"))
        if (request.rpc === "ChangeSchedule" && request.schedule === SCHEDULE)
          if (request.did === "pause") Object.assign(request, { did: "delete" });
    },
    message: /fired at 1004015, though the deletion was acknowledged at 1001510/,
  },
];
