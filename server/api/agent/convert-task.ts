// A task as an agent receives it.
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type Task, TaskKind, TaskSchema } from "@drover/proto/drover/v1/task_pb.ts";
import type { HandedTask } from "../../dispatch/dispatcher.ts";
import { payloadField } from "../calls/payload.ts";

export const TASK_KINDS = Object.freeze({
  perform: TaskKind.PERFORM,
  verify: TaskKind.VERIFY,
  compensate: TaskKind.COMPENSATE,
});

/** `storesLogs`: the server and the namespace store lines of handlers. */
export function taskMessage(task: HandedTask, storesLogs: boolean): Task {
  return create(TaskSchema, {
    taskToken: task.token,
    callbackToken: task.callbackToken,
    runId: task.runId,
    stepId: task.stepId,
    ...(task.item === null ? {} : { item: task.item }),
    attempt: task.attempt,
    workflow: task.workflow,
    workflowVersion: task.version,
    kind: TASK_KINDS[task.kind],
    task: task.task,
    queue: task.queue,
    ...payloadField("input", task.input),
    ...payloadField("lastDetails", task.lastDetails),
    ...payloadField("output", task.output),
    idempotencyKey: task.idempotencyKey,
    effectKey: task.effectKey,
    fence: task.fence,
    leaseFor: wholeMs(task.leaseMs),
    attemptFor: wholeMs(task.attemptMs),
    heartbeatInterval: wholeMs(task.heartbeatIntervalMs),
    labels: { ...task.labels },
    ...task.trace,
    storeLogs: storesLogs && task.storesLogs,
  });
}

/** Rounded down: an agent must not believe that it has more time than it has. */
export function wholeMs(ms: number) {
  return durationFromMs(Math.max(0, Math.floor(ms)));
}
