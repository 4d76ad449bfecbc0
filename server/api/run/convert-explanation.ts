// Converts the explanation of why a run is not moving from the core to protobuf.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  ActionKind,
  type AgentWaitSchema,
  NextKind,
  PausedThing,
  type PersonActionSchema,
  StopCause,
  type TriedSchema,
  type Wait,
  WaitKind,
  WaitSchema,
} from "@drover/proto/drover/v1/explain_pb.ts";
import type { ExplainRunResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { endSentence } from "../../core/explain/end-sentence.ts";
import { explain } from "../../core/explain/explain.ts";
import { runSentence, stepSentence } from "../../core/explain/explain-words.ts";
import type {
  Action,
  NextKind as CoreNextKind,
  Wait as CoreWait,
  LanePause,
  Next,
  Tried,
  WaitsFor,
} from "../../core/explain/explanation.ts";
import { untakenSignals } from "../../core/explain/untaken-signals.ts";
import type { CancelCause } from "../../core/model/model.ts";
import { nameAt, type Plan } from "../../core/plan/plan.ts";
import { childRunId } from "../../store/child-run.ts";
import type { RunDetail, RunLiveness } from "../../store/reads.ts";
import { progressMessage } from "../agent/convert-progress.ts";
import { TASK_KINDS } from "../agent/convert-task.ts";
import { timeField } from "../calls/time-field.ts";
import { laneCircuitMessage } from "../operator/circuit-calls.ts";
import { pauseMessage } from "../operator/queue-calls.ts";
import { failureOf, OUTCOMES } from "./convert-attempt.ts";
import { namedSteps, runMessage } from "./convert-run.ts";

const WAIT_KINDS: Readonly<Record<WaitsFor["kind"], WaitKind>> = Object.freeze({
  "agent-to-poll": WaitKind.AGENT_TO_POLL,
  "queue-to-resume": WaitKind.QUEUE_TO_RESUME,
  "circuit-to-close": WaitKind.CIRCUIT_TO_CLOSE,
  "agent-working": WaitKind.AGENT_WORKING,
  "agent-to-stop": WaitKind.AGENT_TO_STOP,
  backoff: WaitKind.BACKOFF,
  again: WaitKind.AGAIN,
  settle: WaitKind.SETTLE,
  timer: WaitKind.TIMER,
  signal: WaitKind.SIGNAL,
  approval: WaitKind.APPROVAL,
  callback: WaitKind.CALLBACK,
  child: WaitKind.CHILD,
  person: WaitKind.PERSON,
  resume: WaitKind.RESUME,
  steps: WaitKind.STEPS,
  "end-of-run": WaitKind.END_OF_RUN,
  start: WaitKind.START,
  permit: WaitKind.PERMIT,
  ended: WaitKind.ENDED,
  items: WaitKind.ITEMS,
});

const NEXT_KINDS: Readonly<Record<CoreNextKind, NextKind>> = Object.freeze({
  "check-again": NextKind.CHECK_AGAIN,
  "try-one": NextKind.TRY_ONE,
  alarm: NextKind.ALARM,
  escalate: NextKind.ESCALATE,
  "fall-back": NextKind.FALL_BACK,
  fail: NextKind.FAIL,
  "check-lease": NextKind.CHECK_LEASE,
  "tell-to-stop": NextKind.TELL_TO_STOP,
  "end-lease": NextKind.END_LEASE,
  "make-ready": NextKind.MAKE_READY,
  succeed: NextKind.SUCCEED,
  skip: NextKind.SKIP,
  "count-as-unknown": NextKind.COUNT_AS_UNKNOWN,
  "stop-child": NextKind.STOP_CHILD,
  undo: NextKind.UNDO,
  start: NextKind.START,
  "give-up": NextKind.GIVE_UP,
  "next-wave": NextKind.NEXT_WAVE,
});

const PAUSED: Readonly<Record<LanePause["scope"], PausedThing>> = Object.freeze({
  queue: PausedThing.QUEUE,
  namespace: PausedThing.NAMESPACE,
  workflow: PausedThing.WORKFLOW,
});

const STOP_CAUSES: Readonly<Record<CancelCause, StopCause>> = Object.freeze({
  run: StopCause.RUN,
  timeout: StopCause.TIMEOUT,
  stalled: StopCause.STALLED,
});

export function explainMessage(
  plan: Plan,
  detail: RunDetail,
  liveness: RunLiveness,
  namespace: string,
): MessageInitShape<typeof ExplainRunResponseSchema> {
  const { now } = liveness;
  const { runId, createdAt, endedAt } = detail.run;
  const explanation = explain(plan, { ...detail, now, createdAt, endedAt, liveness });
  const { run, waitsOn, steps } = explanation;
  const named = namedSteps(detail, plan);
  const ended = endSentence(detail.run, named);
  return {
    run: runMessage(detail.run, namespace, { bodies: false, named }),
    wait: create(WaitSchema, {
      ...waitFields(plan, runId, run),
      sentence: ended === "" ? runSentence(plan, explanation, now) : ended,
      waitsOn: idsOf(plan, waitsOn),
    }),
    steps: steps.map((wait) =>
      create(WaitSchema, {
        ...waitFields(plan, runId, wait),
        stepId: nameAt(plan, wait.step),
        undo: wait.side === "undo",
        sentence: stepSentence(plan, wait, now),
      }),
    ),
    now: timestampFromMs(now),
    untakenSignals: untakenSignals(plan, detail, now).map(({ id, at, ...signal }) => ({
      ...signal,
      signalId: id,
      receivedTime: timestampFromMs(at),
    })),
  };
}

type WaitInit = Exclude<MessageInitShape<typeof WaitSchema>, Wait>;

function waitFields(
  plan: Plan,
  runId: string,
  { waitsFor, since, next, tried, actions }: CoreWait,
): WaitInit {
  return {
    waitingFor: WAIT_KINDS[waitsFor.kind],
    sinceTime: timestampFromMs(since),
    ...nextFields(next),
    ...(tried ? { tried: triedInit(tried) } : {}),
    actions: actions.map((action) => actionInit(plan, action)),
    waitsOn: waitsFor.kind === "steps" ? idsOf(plan, waitsFor.steps) : [],
    taskKind: taskKindOf(waitsFor),
    ...detailOf(runId, waitsFor),
  };
}

/**
 * `unwatched`: no supervisor watches the run, so the next event will not happen by itself. The
 * sentence of the explanation names it.
 */
function nextFields(next: Next | null): Pick<WaitInit, "next" | "nextTime"> {
  if (next === null || next.unwatched) return { next: NextKind.UNSPECIFIED };
  return { next: NEXT_KINDS[next.what], nextTime: timestampFromMs(next.at) };
}

function taskKindOf(waitsFor: WaitsFor): TaskKind {
  if (waitsFor.kind === "callback") return TaskKind.PERFORM;
  if (!("task" in waitsFor) || waitsFor.task === null) return TaskKind.UNSPECIFIED;
  return TASK_KINDS[waitsFor.task];
}

function detailOf(runId: string, waitsFor: WaitsFor): Pick<WaitInit, "detail"> {
  switch (waitsFor.kind) {
    case "agent-to-poll": {
      const { queue, taskName: task, polled, alarms, cordoned, lastPolledAt } = waitsFor;
      const agentVersion = waitsFor.agentVersion ?? "";
      const lane = { queue, task, polled, alarms, cordoned, agentVersion };
      const value = { ...lane, ...timeField("lastPollTime", lastPolledAt) };
      return { detail: { case: "lane", value } };
    }
    case "queue-to-resume": {
      const { queue, taskName: task, pause } = waitsFor;
      const value = { queue, task, of: PAUSED[pause.scope], pause: pauseMessage(pause) };
      return { detail: { case: "pause", value } };
    }
    case "circuit-to-close": {
      const { queue, taskName: task, circuit } = waitsFor;
      return { detail: { case: "circuit", value: laneCircuitMessage(queue, task, circuit) } };
    }
    case "agent-working":
    case "agent-to-stop":
    case "callback":
      return { detail: { case: "agent", value: agentInit(waitsFor) } };
    case "signal":
      return { detail: { case: "signalName", value: waitsFor.name } };
    case "approval": {
      const { approvers, approvals, need } = waitsFor;
      return {
        detail: { case: "approval", value: { approvers: [...approvers], approvals, need } },
      };
    }
    case "child": {
      const { step, fence, stopping } = waitsFor;
      const value = { runId: childRunId(runId, step, fence), stopping };
      return { detail: { case: "child", value } };
    }
    case "person": {
      const { escalation, reason, message } = waitsFor;
      return { detail: { case: "escalation", value: { id: String(escalation), reason, message } } };
    }
    default:
      return {};
  }
}

function agentInit(
  waitsFor: Extract<WaitsFor, { kind: "agent-working" | "agent-to-stop" | "callback" }>,
): MessageInitShape<typeof AgentWaitSchema> {
  if (waitsFor.kind === "callback") return { agentId: waitsFor.agentId ?? "" };
  const { agentId, lastHeartbeatAt } = waitsFor;
  const sent = { agentId, ...timeField("lastHeartbeatTime", lastHeartbeatAt) };
  if (waitsFor.kind === "agent-to-stop")
    return { ...sent, stopCause: STOP_CAUSES[waitsFor.cause], stopDelivered: waitsFor.informed };
  const { attemptBy, progress, suspectAt } = waitsFor;
  return {
    ...sent,
    attemptEndTime: timestampFromMs(attemptBy),
    ...(progress ? { progress: progressMessage(progress.text) } : {}),
    ...timeField("progressTime", progress?.since ?? null),
    ...timeField("suspectTime", suspectAt),
  };
}

function triedInit({ last, ...counts }: Tried): MessageInitShape<typeof TriedSchema> {
  if (last === null) return counts;
  const lastFailure = failureOf(last.outcome);
  return {
    ...counts,
    lastOutcome: OUTCOMES[last.outcome.kind],
    ...(lastFailure ? { lastFailure } : {}),
    lastAgentId: last.agentId ?? "",
    lastEndedTime: timestampFromMs(last.endedAt),
  };
}

function actionInit(plan: Plan, action: Action): MessageInitShape<typeof PersonActionSchema> {
  switch (action.kind) {
    case "start-agent":
      return {
        kind: ActionKind.START_AGENT,
        queue: action.queue,
        task: action.taskName,
        agentVersion: action.agentVersion ?? "",
      };
    case "answer":
      return {
        kind: ActionKind.ANSWER,
        stepId: nameAt(plan, action.step),
        escalationId: String(action.escalation),
        choices: [...action.answers],
      };
    case "signal":
      return { kind: ActionKind.SIGNAL, signalName: action.name };
    case "decide":
      return {
        kind: ActionKind.DECIDE,
        stepId: nameAt(plan, action.step),
        choices: ["approve", "reject"],
        approvers: [...action.approvers],
      };
    case "complete-deferred":
      return { kind: ActionKind.COMPLETE_DEFERRED, stepId: nameAt(plan, action.step) };
    case "pause":
      return { kind: ActionKind.PAUSE };
    case "resume":
      return { kind: ActionKind.RESUME };
    case "set-circuit":
      return { kind: ActionKind.SET_CIRCUIT, queue: action.queue, task: action.taskName };
    case "uncordon-agent":
      return { kind: ActionKind.UNCORDON_AGENT, queue: action.queue, task: action.taskName };
    case "resume-queue":
      return { kind: ActionKind.RESUME_QUEUE, queue: action.queue };
    case "resume-namespace":
      return { kind: ActionKind.RESUME_NAMESPACE };
    case "resume-workflow":
      return { kind: ActionKind.RESUME_WORKFLOW, workflow: plan.workflow };
    case "start-supervisor":
      return { kind: ActionKind.START_SUPERVISOR, region: action.region };
    case "retry-run":
      return { kind: ActionKind.RETRY_RUN };
    case "rerun":
      return { kind: ActionKind.RERUN };
    case "cancel":
      return { kind: ActionKind.CANCEL, choices: [...action.undo] };
  }
}

function idsOf(plan: Plan, steps: readonly number[]): string[] {
  return steps.map((no) => nameAt(plan, no));
}
