// The tables of pauses, limits and pins, and of the questions about lanes.
import type { Bucket, QueueLimits } from "../../core/model/limits.ts";
import type { Pin } from "../pins.ts";
import type { LaneQuestion, Pause, QueueRef, WorkflowRef } from "../queues.ts";
import { createTable, type Table } from "./table.ts";
import type { Journal } from "./transactions.ts";

interface PausedWorkflowRow extends WorkflowRef {
  readonly pause: Pause;
}

export interface QueueRow extends QueueRef {
  readonly pause: Pause | null;
  readonly limits: QueueLimits;
  readonly bucket: Bucket | null;
  /** The number of the last one (../queue-shares.ts). */
  readonly allotment: number;
}

export interface PinRow extends Pin {
  /** null: every version that has no pin of its own. */
  readonly definitionId: number | null;
}

/** Of all shards. */
export interface QueueTables {
  readonly queue: Table<QueueRow, never>;
  readonly pausedWorkflow: Table<PausedWorkflowRow, never>;
  readonly versionPin: Table<PinRow, "workflow">;
}

/** Of one shard. */
export interface LaneQuestionTables {
  readonly laneQuestion: Table<LaneQuestion, never>;
}

export function queueKey({ namespaceId, queue }: QueueRef): string {
  return `${namespaceId}/${queue}`;
}

export function workflowKey({ namespaceId, workflow }: WorkflowRef): string {
  return `${namespaceId}/${workflow}`;
}

export function createTablesOfQueues(journal: Journal): QueueTables {
  return {
    queue: createTable<QueueRow, never>(journal, {
      name: "queue",
      key: queueKey,
      indexes: {},
    }),
    versionPin: createTable<PinRow, "workflow">(journal, {
      name: "version_pin",
      key: (row) => JSON.stringify([row.namespaceId, row.workflow, row.queue, row.version]),
      indexes: { workflow: workflowKey },
    }),
    pausedWorkflow: createTable<PausedWorkflowRow, never>(journal, {
      name: "paused_workflow",
      key: workflowKey,
      indexes: {},
    }),
  };
}

export function createTablesOfLaneQuestions(journal: Journal): LaneQuestionTables {
  return {
    laneQuestion: createTable<LaneQuestion, never>(journal, {
      name: "lane_question",
      key: (row) => String(row.lane),
      indexes: {},
    }),
  };
}
