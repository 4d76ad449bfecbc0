/** Why a run is not moving, as programs read it; names as in runs.ts. */
import {
  ActionKind,
  type ApprovalWait,
  type ChildWait,
  type EscalationWait,
  NextKind,
  StopCause,
  WaitKind,
  type PersonAction as WireAction,
  type Wait as WireWait,
} from "@drover/proto/drover/v1/explain_pb.ts";
import { OutcomeKind } from "@drover/proto/drover/v1/run_pb.ts";
import type { ExplainRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Progress, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { present } from "./call.ts";
import { DroverCallError } from "./call-error.ts";
import { type Failure, namesOf, type Run, readFailure, readRun, readTime } from "./runs.ts";

export interface RunExplanation {
  readonly run: Run;
  /** What the run waits for: its own wait, or that of the first of the steps in `waitsOn`. */
  readonly wait: RunWait;
  /** Each step that is active or waits, in the order of the definition. */
  readonly steps: readonly RunWait[];
  /** By the database clock, as all times here. */
  readonly now: Date | null;
  /** The newest 10 signals that no step has taken. */
  readonly untakenSignals: readonly UntakenSignal[];
}

export interface UntakenSignal {
  readonly name: string;
  readonly id: string;
  readonly receivedTime: Date | null;
  /** For a person: which step will take it later, or that none will. */
  readonly sentence: string;
}

export interface RunWait {
  /** Empty: the run as a whole. */
  readonly stepId: string;
  readonly undo: boolean;
  readonly waitingFor: keyof typeof WaitKind;
  /** The whole entry in one sentence for a person. */
  readonly sentence: string;
  readonly sinceTime: Date | null;
  /** What happens at `nextTime` if nothing else happens before; UNSPECIFIED: nothing. */
  readonly next: keyof typeof NextKind;
  readonly nextTime: Date | null;
  /** null: no agent performs the step. */
  readonly tried: Tried | null;
  readonly actions: readonly PersonAction[];
  /** Ids of steps. */
  readonly waitsOn: readonly string[];
  readonly taskKind: keyof typeof TaskKind;
  /** With AGENT_TO_POLL. */
  readonly lane: LaneWait | null;
  /** With AGENT_WORKING, AGENT_TO_STOP and CALLBACK. */
  readonly agent: AgentWait | null;
  /** With SIGNAL; otherwise empty. */
  readonly signalName: string;
  /** With APPROVAL. */
  readonly approval: Pick<ApprovalWait, "approvers" | "approvals" | "need"> | null;
  /** With CHILD: `client.explainRun` of the child run says what it waits for. */
  readonly child: Pick<ChildWait, "runId" | "stopping"> | null;
  /** With PERSON. */
  readonly escalation: Pick<EscalationWait, "id" | "reason" | "message"> | null;
}

export interface LaneWait {
  readonly queue: string;
  readonly task: string;
  /** An agent polled for it in the last minute. */
  readonly polled: boolean;
  readonly lastPollTime: Date | null;
  readonly alarms: number;
  /** Number of agent sessions that poll for it, if every one of them is cordoned; otherwise 0. */
  readonly cordoned: number;
  /** Only agents of this version get it, because of a pin of the queue; empty: all agents do. */
  readonly agentVersion: string;
}

export interface AgentWait {
  readonly agentId: string;
  readonly lastHeartbeatTime: Date | null;
  readonly progress: Progress["kind"]["value"] | null;
  readonly progressTime: Date | null;
  readonly attemptEndTime: Date | null;
  readonly stopCause: keyof typeof StopCause;
  readonly stopDelivered: boolean;
  /** Since when its attempt is suspect: it runs far longer than other attempts of the step did. */
  readonly suspectTime: Date | null;
}

export interface Tried {
  readonly attempts: number;
  /** Number of lost attempts in a row. */
  readonly lost: number;
  readonly handedOut: number;
  readonly verifies: number;
  readonly strategy: number;
  readonly strategies: number;
  /** UNSPECIFIED: no attempt has ended. */
  readonly lastOutcome: keyof typeof OutcomeKind;
  readonly lastFailure: Failure | null;
  readonly lastAgentId: string;
  readonly lastEndedTime: Date | null;
}

export interface PersonAction {
  readonly kind: keyof typeof ActionKind;
  readonly stepId: string;
  readonly escalationId: string;
  /** The possible values. */
  readonly choices: readonly string[];
  readonly signalName: string;
  readonly queue: string;
  readonly task: string;
  /** With START_AGENT: required version of the agent; empty: any. */
  readonly agentVersion: string;
  /** With START_SUPERVISOR. */
  readonly region: string;
  readonly approvers: readonly string[];
}

const waitKinds = namesOf(WaitKind);
const nextKinds = namesOf(NextKind);
const taskKinds = namesOf(TaskKind);
const stopCauses = namesOf(StopCause);
const outcomeKinds = namesOf(OutcomeKind);
const actionKinds = namesOf(ActionKind);

export function readExplanation(answer: ExplainRunResponse): RunExplanation {
  const { wait } = answer;
  if (wait === undefined)
    throw new DroverCallError("INTERNAL", "The server answered without an explanation.");
  return Object.freeze({
    run: readRun(present(answer.run)),
    wait: readWait(wait),
    steps: answer.steps.map(readWait),
    now: readTime(answer.now),
    untakenSignals: answer.untakenSignals.map(({ name, signalId, receivedTime, sentence }) =>
      Object.freeze({ name, id: signalId, receivedTime: readTime(receivedTime), sentence }),
    ),
  });
}

function readWait(wait: WireWait): RunWait {
  const { detail, tried } = wait;
  return Object.freeze({
    stepId: wait.stepId,
    undo: wait.undo,
    waitingFor: waitKinds.get(wait.waitingFor) ?? "UNSPECIFIED",
    sentence: wait.sentence,
    sinceTime: readTime(wait.sinceTime),
    next: nextKinds.get(wait.next) ?? "UNSPECIFIED",
    nextTime: readTime(wait.nextTime),
    tried: tried === undefined ? null : readTried(tried),
    actions: wait.actions.map(readAction),
    waitsOn: wait.waitsOn,
    taskKind: taskKinds.get(wait.taskKind) ?? "UNSPECIFIED",
    lane: detail.case === "lane" ? readLane(detail.value) : null,
    agent: detail.case === "agent" ? readAgent(detail.value) : null,
    signalName: detail.case === "signalName" ? detail.value : "",
    approval: detail.case === "approval" ? bare(detail.value) : null,
    child: detail.case === "child" ? bare(detail.value) : null,
    escalation: detail.case === "escalation" ? bare(detail.value) : null,
  });
}

/** The fields of a message that need no conversion. */
function bare<Message extends { readonly $typeName: string }>({
  $typeName: _,
  ...fields
}: Message): Omit<Message, "$typeName"> {
  return fields;
}

function readAction(action: WireAction): PersonAction {
  return { ...bare(action), kind: actionKinds.get(action.kind) ?? "UNSPECIFIED" };
}

type Detail = WireWait["detail"];

function readLane(lane: Extract<Detail, { case: "lane" }>["value"]): LaneWait {
  const { queue, task, polled, alarms, cordoned, agentVersion } = lane;
  const lastPollTime = readTime(lane.lastPollTime);
  return { queue, task, polled, alarms, cordoned, agentVersion, lastPollTime };
}

function readAgent(agent: Extract<Detail, { case: "agent" }>["value"]): AgentWait {
  return {
    agentId: agent.agentId,
    lastHeartbeatTime: readTime(agent.lastHeartbeatTime),
    progress: agent.progress?.kind.value ?? null,
    progressTime: readTime(agent.progressTime),
    attemptEndTime: readTime(agent.attemptEndTime),
    stopCause: stopCauses.get(agent.stopCause) ?? "UNSPECIFIED",
    stopDelivered: agent.stopDelivered,
    suspectTime: readTime(agent.suspectTime),
  };
}

function readTried(tried: NonNullable<WireWait["tried"]>): Tried {
  return {
    attempts: tried.attempts,
    lost: tried.lost,
    handedOut: tried.handedOut,
    verifies: tried.verifies,
    strategy: tried.strategy,
    strategies: tried.strategies,
    lastOutcome: outcomeKinds.get(tried.lastOutcome) ?? "UNSPECIFIED",
    lastFailure: readFailure(tried.lastFailure),
    lastAgentId: tried.lastAgentId,
    lastEndedTime: readTime(tried.lastEndedTime),
  };
}
