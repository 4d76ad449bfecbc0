// What callers sent and received, in the form of the history.
import { createHash } from "node:crypto";
import type { Message } from "@bufbuild/protobuf";
import { anyUnpack, durationMs } from "@bufbuild/protobuf/wkt";
import type { HeartbeatAnswer } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { type Run, RunState, type Step, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import type { Task } from "@drover/proto/drover/v1/task_pb.ts";
import { ErrorInfoSchema } from "@drover/proto/google/rpc/error_details_pb.ts";
import type { Status } from "@drover/proto/google/rpc/status_pb.ts";
import type { RunState as CoreRunState } from "../../server/core/model/model.ts";
import { parseTaskToken } from "../../server/dispatch/token.ts";
import type {
  Answer,
  HeartbeatSeen,
  ReportSeen,
  RunSeen,
  TaskSeen,
  TokenParts,
} from "./history.ts";
import type { Reply } from "./network.ts";

/** Nothing was done, since too many calls wait for the store. */
export const OVERLOADED = "OVERLOADED";

/** Codes that leave open whether anything was done. */
const UNKNOWN_CODES: ReadonlySet<string> = new Set([
  "UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "CANCELLED",
  "INTERNAL",
  "UNKNOWN",
]);

const RUN_STATES: Readonly<Record<string, CoreRunState["kind"]>> = {
  PENDING: "PENDING",
  RUNNING: "RUNNING",
  PAUSED: "PAUSED",
  FINISHING: "FINISHING",
  STOPPING: "STOPPING",
  COMPENSATING: "COMPENSATING",
  ESCALATED: "ESCALATED",
  COMPLETED: "COMPLETED",
  FAILED: "FAILED",
  COMPENSATED: "COMPENSATED",
  CANCELLED: "CANCELLED",
};

/** The name of a value of an enum of the contract. */
export function nameIn<Name extends string>(
  values: Readonly<Record<Name, number>>,
  value: number,
): string {
  for (const name in values) if (values[name] === value) return name;
  throw new Error(`the contract has no value ${value}`);
}

export function answerSeen<M extends Message>(reply: Reply<M>, ok: (message: M) => Answer): Answer {
  if (reply.kind === "ok") return ok(reply.message);
  const { code, reason } = reply;
  return UNKNOWN_CODES.has(code) ? { kind: "unknown", code } : { kind: "refused", code, reason };
}

/** Whether it is sent again: its outcome is unknown, or the server asks for patience. */
export function isToRepeat(answer: Answer): boolean {
  return answer.kind === "unknown" || isOverloaded(answer);
}

export function isOverloaded(answer: Answer): boolean {
  return answer.kind === "refused" && answer.reason === OVERLOADED;
}

export function canariesIn(bytes: Uint8Array, words: readonly string[]): readonly string[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return words.filter((word) => text.includes(word));
}

export function runSeen(run: Run | undefined, steps: readonly Step[]): RunSeen {
  const state = RUN_STATES[nameIn(RunState, run?.state ?? 0)];
  if (!run || !state) throw new Error("an answer without a run, or in no state that is known");
  return {
    runId: run.runId,
    version: Number(run.version),
    state,
    steps: steps.map((step) => ({ stepId: step.id, state: nameIn(StepState, step.state) })),
  };
}

export function tokenSeen(text: string): TokenParts {
  const token = parseTaskToken(text);
  if (!token) throw new Error(`a token that cannot be read: ${text}`);
  const { runId, step, task, fence, secret } = token;
  return { runId, step, task, fence, secret };
}

export function taskSeen(task: Task, pollSeq: number): TaskSeen {
  return {
    token: tokenSeen(task.taskToken),
    stepId: task.stepId,
    pollSeq,
    attempt: task.attempt,
    queue: task.queue,
    taskName: task.task,
    leaseMs: task.leaseFor ? durationMs(task.leaseFor) : 0,
    idempotencyKey: task.idempotencyKey,
    effectKey: task.effectKey === "" ? null : task.effectKey,
    inputDigest: inputDigest(task),
  };
}

function inputDigest({ input }: Task): string {
  if (input?.body.value === undefined) return "";
  return createHash("sha256").update(input.body.value).digest("hex").slice(0, 12);
}

export function heartbeatSeen({ answer }: HeartbeatAnswer): HeartbeatSeen {
  switch (answer.case) {
    case "carryOn":
      return {
        kind: "carry-on",
        leaseMs: answer.value.leaseFor ? durationMs(answer.value.leaseFor) : 0,
      };
    case "cancel":
      return {
        kind: "cancel",
        withinMs: answer.value.within ? durationMs(answer.value.within) : 0,
      };
    case "leaseLost":
      return { kind: "lease-lost" };
    default:
      return { kind: "error", reason: answer.value ? reasonOf(answer.value) : "" };
  }
}

export function reportSeen(status: Status | undefined, repeated: boolean): ReportSeen {
  if (!status || status.code === 0) return { kind: "accepted", repeated };
  return { kind: "refused", reason: reasonOf(status) };
}

export function reasonOf(status: Status): string {
  for (const detail of status.details) {
    const info = anyUnpack(detail, ErrorInfoSchema);
    if (info) return info.reason;
  }
  return "";
}
