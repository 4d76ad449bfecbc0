// The attempts of a run's tasks and how they ended, as messages: the recorded ones, and those that
// agents hold right now.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type Attempt,
  AttemptSchema,
  AttemptSource,
  type Failure,
  FailureSchema,
  OutcomeKind,
} from "@drover/proto/drover/v1/run_pb.ts";
import { FailureClass, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import type { AttemptKind, Outcome } from "../../core/model/attempt.ts";
import { type Lease, movingSide, type Step } from "../../core/model/model.ts";
import { nameAt, type Plan } from "../../core/plan/plan.ts";
import type { AttemptRecord, Reads, RunDetail } from "../../store/reads.ts";
import { progressMessage } from "../agent/convert-progress.ts";
import { TASK_KINDS } from "../agent/convert-task.ts";
import { payloadField } from "../calls/payload.ts";

export const OUTCOMES: Readonly<Record<Outcome["kind"], OutcomeKind>> = Object.freeze({
  success: OutcomeKind.SUCCESS,
  failure: OutcomeKind.FAILURE,
  unknown: OutcomeKind.UNKNOWN,
  again: OutcomeKind.AGAIN,
  deferred: OutcomeKind.DEFERRED,
  released: OutcomeKind.RELEASED,
  cancelled: OutcomeKind.CANCELLED,
  undelivered: OutcomeKind.GIVEN_BACK,
  unsent: OutcomeKind.GIVEN_BACK,
  superseded: OutcomeKind.SUPERSEDED,
});

const SOURCES: Readonly<Record<AttemptKind, AttemptSource>> = Object.freeze({
  perform: AttemptSource.TASK,
  verify: AttemptSource.TASK,
  compensate: AttemptSource.TASK,
  late: AttemptSource.TASK,
  engine: AttemptSource.ENGINE,
  answer: AttemptSource.ANSWER,
});

/** Oldest first, with the attempts that agents still hold; without hosts. */
export function attemptMessages(detail: RunDetail, plan: Plan): Attempt[] {
  const ended = detail.attempts.map((record) => ({
    at: record.startedAt,
    message: endedMessage(record, detail.attempts, plan),
  }));
  const inHand = [...detail.steps.values()].flatMap((step) => {
    const lease = movingSide(step)?.state;
    return lease?.kind === "LEASED"
      ? [{ at: lease.grantedAt, message: inHandMessage(step, lease, plan) }]
      : [];
  });
  return [...ended, ...inHand].sort((a, b) => a.at - b.at).map(({ message }) => message);
}

/** Adds the hosts of the agents that are known. */
export async function withHosts(
  attempts: readonly Attempt[],
  reads: Pick<Reads, "hosts">,
): Promise<Attempt[]> {
  const sessionOf = ({ session }: Attempt) => Buffer.from(session).toString("hex");
  const sessions = new Set(attempts.map(sessionOf).filter((session) => session !== ""));
  const hosts = await reads.hosts([...sessions]);
  return attempts.map((one) => ({ ...one, host: hosts.get(sessionOf(one)) ?? "" }));
}

function endedMessage(record: AttemptRecord, all: readonly AttemptRecord[], plan: Plan): Attempt {
  const { outcome } = record;
  const failure = failureOf(outcome);
  return create(AttemptSchema, {
    stepId: nameAt(plan, record.step),
    kind: taskKind(record, all),
    fence: record.fence,
    attempt: record.attempt,
    agentId: record.agentId ?? "",
    session: Buffer.from(record.session ?? "", "hex"),
    startedTime: timestampFromMs(record.startedAt),
    endedTime: timestampFromMs(record.endedAt),
    outcome: OUTCOMES[outcome.kind],
    ...(failure ? { failure } : {}),
    ...payloadField("output", outcome.kind === "success" ? outcome.output : null),
    late: record.kind === "late",
    source: SOURCES[record.kind],
    n: record.n,
    ...(record.progress === null ? {} : { progress: progressMessage(record.progress) }),
  });
}

function inHandMessage(step: Step, lease: Lease, plan: Plan): Attempt {
  return create(AttemptSchema, {
    stepId: nameAt(plan, step.no),
    kind: TASK_KINDS[lease.task],
    fence: lease.fence,
    attempt: lease.attempt,
    agentId: lease.agentId,
    session: Buffer.from(lease.session, "hex"),
    startedTime: timestampFromMs(lease.grantedAt),
    source: AttemptSource.TASK,
    n: lease.task === "verify" ? lease.attempt : 0,
  });
}

/**
 * A late report belongs to the task that had its fence. The engine and people end forward tasks
 * only.
 */
function taskKind(record: AttemptRecord, all: readonly AttemptRecord[]): TaskKind {
  if (record.kind !== "late" && record.kind !== "engine" && record.kind !== "answer")
    return TASK_KINDS[record.kind];
  const undo = all.some(
    ({ step, fence, kind }) =>
      step === record.step && fence === record.fence && kind === "compensate",
  );
  return undo ? TaskKind.COMPENSATE : TaskKind.PERFORM;
}

/** The failure of an outcome, or null for an outcome that is no failure. */
export function failureOf(outcome: Outcome): Failure | null {
  if (outcome.kind === "failure")
    return create(FailureSchema, {
      code: outcome.code,
      message: outcome.message,
      failureClass: outcome.class === "permanent" ? FailureClass.PERMANENT : FailureClass.TRANSIENT,
    });
  if (outcome.kind === "unknown")
    return create(FailureSchema, {
      code: outcome.code,
      message: outcome.message,
      failureClass: FailureClass.UNKNOWN,
    });
  return null;
}
