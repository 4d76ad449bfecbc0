// A fourth correct history: a run fails at its second step, and a rerun from there reuses the first
// step. The rerun is undone in the end, and so is the effect that it had reused.
import { type Mutable, must } from "./damage.ts";
import { createStory, failure } from "./good-history.ts";
import { STEPS } from "./good-history-rows.ts";
import type { History, TokenParts } from "./history.ts";

const SUCCESS = { kind: "success" } as const;

/** o1: the run that fails; n1: its rerun. */
export function rerunsHistory(): History {
  const story = createStory();
  story.schedule("clerk", { runId: "o1", namespace: "blue", key: null });
  story.wait(4_000);
  story.poll("agent-1", "o1", 0);
  const made = story.token("o1", 0);
  story.effect("made", made);
  story.complete("agent-1", "o1", 0, SUCCESS);
  story.poll("agent-1", "o1", 1);
  story.complete("agent-1", "o1", 1, failure("permanent", "full"));
  story.end("o1", "FAILED", "STEP_FAILED");
  story.schedule("clerk", { runId: "n1", namespace: "blue", key: null });
  story.wait(4_000);
  story.poll("agent-1", "n1", 1);
  story.complete("agent-1", "n1", 1, failure("permanent", "full"));
  story.stop("n1", "STEP_FAILED");
  story.poll("agent-1", "n1", 0, "compensate");
  story.effect("undone", story.token("n1", 0));
  story.complete("agent-1", "n1", 0, SUCCESS);
  story.end("n1", "COMPENSATED", "STEP_FAILED");
  return doneAgain(story.history(), made);
}

/** Changes the history of two runs into that of a run and its rerun. */
function doneAgain(good: History, made: TokenParts): History {
  const history = structuredClone(good) as Mutable<History>;
  const [definition] = history.final.definitions;
  const [flight] = must(definition, "definition").definition.steps;
  const run = must(
    history.final.runs.find(({ runId }) => runId === "n1"),
    "n1",
  );
  const [old] = history.final.runs;
  const hotel = must(old?.steps[1], "hotel");
  const fails = must(definition, "definition").definition.steps[1];
  Object.assign(must(fails, "hotel"), { onFailure: "fail", compensate: undefined });
  const ask = history.records.find(
    (record) =>
      record.kind === "call" &&
      record.request.rpc === "Schedule" &&
      record.request.mark === "order n1",
  );
  if (ask?.kind !== "call" || !flight || !hotel) throw new Error("the story has no n1");
  const of = { runId: "o1", requestId: "again-1", from: null, digest: "again" };
  ask.request = { rpc: "RetryRun", namespace: "blue", ...of };
  const startedAt = run.createdAt;
  Object.assign(run, {
    rerunOf: { runId: "o1", from: null },
    mark: "order o1",
    reused: [{ step: 0, of: "o1" }],
  });
  const reused = { step: 0, kind: "answer", fence: made.fence, n: 0, attempt: 0 } as const;
  const times = { agentId: "run o1", startedAt, endedAt: startedAt };
  run.attempts.unshift({ ...reused, ...times, outcome: SUCCESS });
  const first = must(run.steps[0], STEPS[0]);
  const result = { fence: made.fence, kind: "answer", n: 0 } as const;
  Object.assign(first, { forward: { kind: "SUCCEEDED" }, result, firstReadyAt: null });
  must(run.steps[1], STEPS[1]).firstReadyAt = startedAt;
  for (const record of history.records) underOldKey(record);
  for (const row of run.attempts) if (row.kind === "compensate") row.fence = made.fence + 1;
  return history as History;
}

/** The undo of a reused effect continues its fences, and has its key. */
function underOldKey(record: Mutable<History>["records"][number]): void {
  const isUndo = (token: Mutable<TokenParts>) =>
    token.runId === "n1" && token.task === "compensate";
  if (record.kind === "effect" && record.runId === "n1")
    Object.assign(record, { key: record.key.replace("n1", "o1"), fence: 2 });
  if (record.kind === "answer" && record.answer.kind === "polled")
    for (const task of record.answer.tasks)
      if (isUndo(task.token)) {
        task.token.fence = 2;
        task.effectKey = task.effectKey?.replace("n1", "o1") ?? null;
        task.idempotencyKey = task.idempotencyKey.replace("n1", "o1");
      }
  if (record.kind === "call" && record.request.rpc === "Complete")
    for (const { token } of record.request.results) if (isUndo(token)) token.fence = 2;
}
