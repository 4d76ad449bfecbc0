// The workflow of the good history, and the rows of a run of it as it begins.
import type { Step } from "../../server/core/model/model.ts";
import type { Mutable } from "./damage.ts";
import type { TokenParts } from "./history.ts";
import type { FinalRun } from "./history-rows.ts";

export type Draft = Mutable<FinalRun>;
export type DraftStep = Mutable<Step>;

export const HEARTBEAT_MS = 3_000;
export const STEPS = ["flight", "hotel", "mail"] as const;

export const DEFINITION = {
  workflow: "trip",
  steps: [
    {
      id: "flight",
      needs: [],
      task: "book-flight",
      timeouts: { heartbeatMs: HEARTBEAT_MS },
      compensate: { task: "cancel-flight" },
    },
    { id: "hotel", needs: ["flight"], task: "book-hotel", compensate: { task: "cancel-hotel" } },
    { id: "mail", needs: ["hotel"], task: "send-mail" },
  ],
};

/** Of the only strategy that its step has. */
export function keyOf({ runId, step }: TokenParts): string {
  return `${runId}/${STEPS[step]}/0`;
}

export function newRun(
  { runId, namespace, key }: { runId: string; namespace: string; key: string | null },
  mark: string,
  createdAt: number,
): Draft {
  const none = {
    settleUntil: null,
    result: null,
    firstReadyAt: null,
    unknownOutcome: null,
    items: null,
    verifies: 0,
  };
  const steps = STEPS.map(
    (_, no): DraftStep => ({
      no,
      forward: { kind: "BLOCKED", waitingFor: 1, ok: 0, skipped: 0 },
      undo: { kind: "NONE" },
      strategies: [{ planned: 0, changed: false, effectStatus: "NONE" }],
      ...none,
      fence: 0,
      attempt: 0,
      lost: 0,
      tries: [],
    }),
  );
  return {
    runId,
    namespace,
    key,
    mark,
    partition: 7,
    definitionId: 1,
    version: 1,
    createdAt,
    steps,
    state: "RUNNING",
    reason: null,
    endedAt: null,
    wakeAt: createdAt + 3_600_000,
    attempts: [],
    interventions: [],
    escalations: [],
    signals: [],
    decisions: [],
    pivoted: false,
    concurrency: null,
    rerunOf: null,
    parent: null,
    reused: [],
    scheduledBy: null,
  };
}

export function acted(runId: string, dueAt: number, actedAt: number) {
  const who = { node: "node-1", partition: 7, epoch: 1 };
  return { runId, saw: "nothing", did: "something", dueAt, actedAt, ...who };
}
