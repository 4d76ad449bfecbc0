// Changes of a recorded history that the checker must refuse: so it does read what real processes
// have left behind.
import { planOf, planStepAt } from "../../server/core/plan/plan.ts";
import type { PromiseName } from "../simulation/checker/violation.ts";
import type { History, HistoryRecord } from "../simulation/history.ts";
import type { FinalRun } from "../simulation/history-rows.ts";

export interface Tampering {
  readonly what: string;
  readonly promise: PromiseName;
  /** The text of a violation of that promise must match this. */
  readonly message: RegExp;
  readonly tamper: (history: History) => History;
}

export const TAMPERINGS: readonly Tampering[] = [
  {
    what: "an acknowledged completion is gone",
    promise: "G1",
    message: /the report success of fence \d+ of .* was acknowledged, but no row of it is stored/,
    tamper: withoutCompletion,
  },
  {
    what: "an acknowledged run is gone",
    promise: "G1",
    message: /Schedule was acknowledged with run .*, which is not stored/,
    tamper: (history) => {
      const runId = aCompleted(history).runId;
      return changed(history, (runs) => runs.filter((run) => run.runId !== runId));
    },
  },
  {
    what: "an effect was made twice",
    promise: "G19",
    message: /the remote service still has the effect/,
    tamper: withEffectTwice,
  },
  {
    what: "a task was given to two agents",
    promise: "G3",
    message: /was handed to two sessions/,
    tamper: withTaskGivenTwice,
  },
  {
    what: "a run has not ended",
    promise: "G10",
    message: /is still RUNNING after all was healed/,
    tamper: (history) => {
      const runId = aCompleted(history).runId;
      const open = (run: FinalRun): FinalRun =>
        run.runId === runId ? { ...run, state: "RUNNING", endedAt: null } : run;
      return changed(history, (runs) => runs.map(open));
    },
  },
];

function changed(
  history: History,
  change: (runs: readonly FinalRun[]) => readonly FinalRun[],
): History {
  return { ...history, final: { ...history.final, runs: change(history.final.runs) } };
}

/** A run that a client asked for and got, with a step that has an effect of its own. */
function aCompleted({ final, records }: History): FinalRun {
  const asked = new Set(
    records.flatMap((record) =>
      record.kind === "answer" && record.answer.kind === "scheduled" ? record.answer.runId : [],
    ),
  );
  const batched = new Set(
    records.flatMap((record) =>
      record.kind === "answer" && record.answer.kind === "batch"
        ? record.answer.results.flatMap((one) => (one.kind === "scheduled" ? one.runId : []))
        : [],
    ),
  );
  const known = asked.union(batched);
  const plans = new Map(final.definitions.map(({ id, definition }) => [id, planOf(definition)]));
  const found = final.runs.find((run) => {
    const plan = plans.get(run.definitionId);
    const [first] = run.steps;
    const isUndoable = plan && first && planStepAt(plan, first.no)?.compensate;
    return run.state === "COMPLETED" && known.has(run.runId) && isUndoable;
  });
  if (!found) throw new Error("no run has completed that can be tampered with");
  return found;
}

function withoutCompletion(history: History): History {
  const { runId } = aCompleted(history);
  return changed(history, (runs) =>
    runs.map((run) => {
      if (run.runId !== runId) return run;
      const lost = run.attempts.find(
        ({ kind, outcome }) => kind === "perform" && outcome.kind === "success",
      );
      return { ...run, attempts: run.attempts.filter((row) => row !== lost) };
    }),
  );
}

/** Under another key, as if a fallback had been tried beside the strategy that succeeded. */
function withEffectTwice(history: History): History {
  const { runId, steps } = aCompleted(history);
  const index = history.records.findIndex(
    (record) =>
      record.kind === "effect" &&
      record.did === "made" &&
      record.runId === runId &&
      record.step === steps[0]?.no,
  );
  const made = history.records[index];
  if (made?.kind !== "effect") throw new Error(`no effect of run ${runId} was recorded`);
  const twice: HistoryRecord = { ...made, key: made.key.replace(/\d+$/, "1") };
  return { ...history, records: history.records.toSpliced(index + 1, 0, twice) };
}

/** The answer to a poll comes to another session, too. */
function withTaskGivenTwice(history: History): History {
  const index = history.records.findIndex(
    (record) =>
      record.kind === "answer" && record.answer.kind === "polled" && record.answer.tasks.length > 0,
  );
  const answer = history.records[index];
  if (answer?.kind !== "answer") throw new Error("no task was handed out by a poll");
  const poll = history.records.find(
    (record) => record.kind === "call" && record.call === answer.call,
  );
  if (poll?.kind !== "call" || poll.request.rpc !== "PollTask")
    throw new Error(`call ${answer.call} is no poll`);
  const call = 1 + Math.max(...history.records.map((one) => (one.kind === "call" ? one.call : 0)));
  const session = poll.request.session.replaceAll(/./g, "0");
  const { at } = answer;
  const records = history.records.toSpliced(
    index + 1,
    0,
    { ...poll, at, call, process: "another", request: { ...poll.request, session } },
    { ...answer, call, process: "another" },
  );
  return { ...history, records };
}
