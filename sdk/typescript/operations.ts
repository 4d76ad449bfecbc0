/** State for operators: agents, waiting tasks, partitions, supervisors, and interventions. */
import { durationMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type * as agents from "@drover/proto/drover/v1/agent_info_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type * as overview from "@drover/proto/drover/v1/overview_pb.ts";
import * as partitions from "@drover/proto/drover/v1/partition_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { DroverCallError } from "./call-error.ts";
import { type Circuit, type Cordon, readCircuit, readCordon } from "./circuits.ts";
import { fromDuration } from "./duration.ts";
import { type Intervention, readIntervention } from "./run-history.ts";
import { namesOf, readTime } from "./runs.ts";

export interface PageSpec extends CallControl {
  /** Default 50, at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListAgentsSpec extends PageSpec {
  /** Only the sessions of the agent with this id. */
  readonly agentId?: string;
}

/** One session of an agent: one start of its process. The information may be 20 s old. */
export interface AgentInfo {
  readonly id: string;
  /** 16 bytes, in hex. */
  readonly session: string;
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Name of its machine; empty: not stated. */
  readonly host: string;
  /** Its process id on that machine; 0: not stated. */
  readonly pid: number;
  /** When the session began; null: not stated. */
  readonly startedTime: Date | null;
  /** Most tasks that it holds at a time; 0: not stated. */
  readonly capacity: number;
  /** How its attempts of the last hour ended. */
  readonly attempts: AttemptCounts;
  readonly queues: readonly string[];
  /** Empty: all tasks of its queues. */
  readonly tasks: readonly string[];
  /** The address of the server that the agent called last. */
  readonly server: string;
  readonly firstSeenTime: Date | null;
  readonly lastSeenTime: Date | null;
  readonly lastHeartbeatTime: Date | null;
  readonly lastSuccessTime: Date | null;
  /**
   * Since when it is silent: it lost a lease or its connection, and has not called since; null: it
   * counts as polling.
   */
  readonly silentSinceTime: Date | null;
  /** Number of tasks that it holds, counted up to 1,000. */
  readonly held: number;
  /** Why it gets no new tasks: cordons of its session, its id or its version. */
  readonly cordons: readonly Cordon[];
  /** Its circuits that are not closed, or that are set by hand. */
  readonly circuits: readonly Circuit[];
}

/** How attempts ended. Those that were released, cancelled or given back are not counted. */
export interface AttemptCounts {
  /** All that ended, whatever their outcome. */
  readonly ended: number;
  /** Transient and permanent failures. */
  readonly failed: number;
  readonly unknown: number;
}

/** A live session that fails nearly all of its attempts at a task. */
export interface FailingAgent {
  readonly agentId: string;
  /** 16 bytes, in hex. */
  readonly session: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  readonly queue: string;
  readonly task: string;
  /** Its attempts at the task in the last hour. */
  readonly attempts: AttemptCounts;
  /** Those of all other sessions. */
  readonly others: AttemptCounts;
}

/** A task that an agent holds. */
export interface HeldTask {
  readonly runId: string;
  readonly workflow: string;
  /** An item of a map is named as `deploy[3]`. */
  readonly stepId: string;
  readonly kind: string;
  readonly queue: string;
  readonly task: string;
  readonly fence: number;
  /** From 1. */
  readonly attempt: number;
  readonly grantedTime: Date | null;
  /** When the attempt ends, whatever the agent does. */
  readonly attemptDeadlineTime: Date | null;
  /** The server asks the agent to stop it. */
  readonly cancelling: boolean;
}

export interface AgentDetails {
  readonly agent: AgentInfo;
  /** The tasks that it holds, the longest held first; the first 1,000. */
  readonly tasks: readonly HeldTask[];
}

export interface AgentPage {
  /** Ordered by id and session. */
  readonly agents: readonly AgentInfo[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface Partition {
  readonly partition: number;
  /** Name of its region. */
  readonly region: string;
  /** Its owner was seen in the last 3 seconds. */
  readonly watched: boolean;
  /** The supervisor that took it last; empty: it was given back, or none has taken it yet. */
  readonly supervisor: string;
  readonly address: string;
  readonly lastSeenTime: Date | null;
  /** How often it has changed hands. */
  readonly epoch: bigint;
  readonly takenTime: Date | null;
  /** Delay of the oldest timer that is due and not yet handled; null: there is none. */
  readonly lagMs: number | null;
  /**
   * No supervisor watches it, or it lags by more than the server's overdue limit: 5 s by default.
   */
  readonly late: boolean;
}

export interface PartitionPage {
  /** By number. */
  readonly partitions: readonly Partition[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

/** A period during which one supervisor owned a partition. */
export interface HandOver {
  readonly partition: number;
  readonly epoch: bigint;
  readonly supervisor: string;
  readonly address: string;
  /** Why it was free: FIRST, GIVEN_BACK or LOST. */
  readonly reason: string;
  readonly takenTime: Date | null;
  /** null: no other supervisor has taken it since. */
  readonly leftTime: Date | null;
}

export interface ListHandOversSpec extends PageSpec {
  /** Default: all partitions. */
  readonly partition?: number;
}

export interface HandOverPage {
  /** Newest first; the last 20 of each partition. */
  readonly handOvers: readonly HandOver[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface Supervisor {
  readonly id: string;
  readonly address: string;
  readonly startedTime: Date | null;
  readonly lastSeenTime: Date | null;
  /** Seen in the last 3 seconds. */
  readonly alive: boolean;
  readonly partitions: number;
}

/** Versions, clocks and runs of the installation. */
export interface ClusterInfo {
  readonly serverVersion: string;
  readonly databaseVersion: string;
  /** The server's clock minus the database clock, which determines all timers. */
  readonly clockDifferenceMs: number;
  readonly migrations: readonly {
    readonly number: number;
    readonly name: string;
    readonly appliedTime: Date | null;
  }[];
  /** Open runs of all namespaces, by state. */
  readonly openRuns: Readonly<Record<string, number>>;
  /** There are more open runs than were counted: about 100,000. */
  readonly moreOpenRuns: boolean;
}

export interface ListInterventionsSpec extends PageSpec {
  /** Only interventions by these rules, such as "lease". Default: all. */
  readonly rules?: readonly string[];
  /** Only interventions in this run, by its id. Default: all. */
  readonly runId?: string;
  readonly actedAfter?: Date;
  readonly actedBefore?: Date;
}

export interface InterventionPage {
  /** Newest first. */
  readonly interventions: readonly (Intervention & {
    readonly runId: string;
    readonly workflow: string;
  })[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

/** What needs a person; all fields are empty when nothing does. */
export interface Overview {
  /** Counted up to 10,000. */
  readonly openEscalations: number;
  /** Waiting tasks for which no agent has polled in the last minute. */
  readonly unservedTasks: readonly {
    readonly queue: string;
    readonly task: string;
    /** Only agents of this version may take them; empty: all agents may. */
    readonly agentVersion: string;
    readonly oldestTime: Date | null;
  }[];
  /** Partitions that no supervisor watches, or that are late by more than 5 s. */
  readonly latePartitions: readonly Partition[];
  /** All regions with such partitions, with exact counts. */
  readonly lateRegions: readonly LateRegion[];
  readonly isNamespacePaused: boolean;
  readonly pausedQueues: readonly string[];
  readonly pausedWorkflows: readonly string[];
  /** Open, half-open with a probe task, or kept open by a person. */
  readonly openCircuits: readonly Circuit[];
  /** Agents, sessions and versions of agents that get no new tasks. */
  readonly cordons: readonly Cordon[];
  /** By queue, task and session; the first 100. */
  readonly failingAgents: readonly FailingAgent[];
}

/** A region that is not watched as it should be: `drover supervisor --region NAME` watches it. */
export interface LateRegion {
  readonly region: string;
  readonly partitions: number;
  /** Number of partitions that no supervisor watches. */
  readonly unwatched: number;
  /** Number of partitions with overdue work. */
  readonly overdue: number;
  /** The longest delay; null: nothing is overdue. */
  readonly lagMs: number | null;
}

export interface Operations {
  agents(options?: ListAgentsSpec): Promise<AgentPage>;
  /** By its session, in hex. */
  agent(session: string, options?: CallControl): Promise<AgentDetails>;
  partitions(options?: PageSpec): Promise<PartitionPage>;
  handOvers(options?: ListHandOversSpec): Promise<HandOverPage>;
  /** The longest running first. */
  supervisors(options?: CallControl): Promise<readonly Supervisor[]>;
  interventions(options?: ListInterventionsSpec): Promise<InterventionPage>;
  clusterInfo(options?: CallControl): Promise<ClusterInfo>;
  overview(options?: CallControl): Promise<Overview>;
}

const rpc = OperatorService.method;
const taskKinds = namesOf(TaskKind);
const runStates = namesOf(RunState);
const handOverReasons = namesOf(partitions.HandOverReason);

export function createOperations(call: Call, namespace: string): Operations {
  return Object.freeze({
    async agents(spec: ListAgentsSpec = {}): Promise<AgentPage> {
      const { agentId = "", signal } = spec;
      const request = { namespace, agentId, ...toPage(spec) };
      const answer = await call(rpc.listAgents, request, { signal });
      return { agents: answer.agents.map(readAgent), nextPageToken: answer.nextPageToken };
    },

    async agent(hex: string, { signal }: CallControl = {}): Promise<AgentDetails> {
      const request = { namespace, session: Buffer.from(hex, "hex") };
      const { agent, tasks } = await call(rpc.getAgent, request, { signal });
      if (!agent) throw new DroverCallError("INTERNAL", "The server answered without an agent.");
      return { agent: readAgent(agent), tasks: tasks.map(readHeld) };
    },

    async partitions(spec: PageSpec = {}): Promise<PartitionPage> {
      const answer = await call(rpc.listPartitions, toPage(spec), { signal: spec.signal });
      const { nextPageToken } = answer;
      return { partitions: answer.partitions.map(readPartition), nextPageToken };
    },

    async handOvers(spec: ListHandOversSpec = {}): Promise<HandOverPage> {
      const { partition, signal } = spec;
      const request = { ...(partition === undefined ? {} : { partition }), ...toPage(spec) };
      const { handOvers, nextPageToken } = await call(rpc.listHandOvers, request, { signal });
      return { handOvers: handOvers.map(readHandOver), nextPageToken };
    },

    async supervisors({ signal }: CallControl = {}): Promise<readonly Supervisor[]> {
      return (await call(rpc.listSupervisors, {}, { signal })).supervisors.map(readSupervisor);
    },

    async clusterInfo({ signal }: CallControl = {}): Promise<ClusterInfo> {
      return readCluster(await call(rpc.getClusterInfo, {}, { signal }));
    },

    async interventions(spec: ListInterventionsSpec = {}): Promise<InterventionPage> {
      const { rules = [], runId = "", actedAfter, actedBefore, signal } = spec;
      const request = {
        namespace,
        rules: [...rules],
        runId,
        ...toPage(spec),
        ...(actedAfter ? { actedAfter: timestampFromDate(actedAfter) } : {}),
        ...(actedBefore ? { actedBefore: timestampFromDate(actedBefore) } : {}),
      };
      const answer = await call(rpc.listInterventions, request, { signal });
      const interventions = answer.interventions.map((one) =>
        Object.freeze({ ...readIntervention(one), runId: one.runId, workflow: one.workflow }),
      );
      return { interventions, nextPageToken: answer.nextPageToken };
    },

    async overview({ signal }: CallControl = {}): Promise<Overview> {
      return readOverview(await call(rpc.getOverview, { namespace }, { signal }));
    },
  });
}

function toPage({ pageSize = 0, pageToken = "" }: PageSpec) {
  return { pageSize, pageToken };
}

function readAgent(agent: agents.AgentInfo): AgentInfo {
  const { id, version, labels, host, pid, capacity, queues, tasks, server, held } = agent;
  return Object.freeze({
    id,
    version,
    labels,
    host,
    pid,
    startedTime: readTime(agent.startedTime),
    capacity,
    attempts: readAttempts(agent.attempts),
    queues,
    tasks,
    server,
    held,
    session: Buffer.from(agent.session).toString("hex"),
    firstSeenTime: readTime(agent.firstSeenTime),
    lastSeenTime: readTime(agent.lastSeenTime),
    lastHeartbeatTime: readTime(agent.lastHeartbeatTime),
    lastSuccessTime: readTime(agent.lastSuccessTime),
    silentSinceTime: readTime(agent.silentSinceTime),
    cordons: agent.cordons.map(readCordon),
    circuits: agent.circuits.map(readCircuit),
  });
}

function readAttempts(counts: agents.AttemptCounts | undefined): AttemptCounts {
  const { ended = 0, failed = 0, unknown = 0 } = counts ?? {};
  return Object.freeze({ ended, failed, unknown });
}

function readFailing(agent: agents.FailingAgent): FailingAgent {
  const { agentId, version, host, pid, queue, task } = agent;
  return Object.freeze({
    agentId,
    version,
    host,
    pid,
    queue,
    task,
    session: Buffer.from(agent.session).toString("hex"),
    attempts: readAttempts(agent.attempts),
    others: readAttempts(agent.others),
  });
}

function readHeld(held: agents.HeldTask): HeldTask {
  const { runId, workflow, stepId, queue, task, fence, attempt, cancelling } = held;
  return Object.freeze({
    runId,
    workflow,
    stepId,
    queue,
    task,
    fence,
    attempt,
    cancelling,
    kind: taskKinds.get(held.kind) ?? "UNSPECIFIED",
    grantedTime: readTime(held.grantedTime),
    attemptDeadlineTime: readTime(held.attemptDeadlineTime),
  });
}

function readHandOver(one: partitions.HandOver): HandOver {
  const { partition, epoch, supervisor, address } = one;
  return Object.freeze({
    partition,
    epoch,
    supervisor,
    address,
    reason: handOverReasons.get(one.reason) ?? "UNSPECIFIED",
    takenTime: readTime(one.takenTime),
    leftTime: readTime(one.leftTime),
  });
}

function readSupervisor(one: partitions.Supervisor): Supervisor {
  const { id, address, alive, partitions: owned } = one;
  return Object.freeze({
    id,
    address,
    alive,
    partitions: owned,
    startedTime: readTime(one.startedTime),
    lastSeenTime: readTime(one.lastSeenTime),
  });
}

function readCluster(answer: overview.GetClusterInfoResponse): ClusterInfo {
  const { serverVersion, databaseVersion, moreOpenRuns } = answer;
  return Object.freeze({
    serverVersion,
    databaseVersion,
    moreOpenRuns,
    clockDifferenceMs: fromDuration(answer.clockDifference),
    migrations: answer.migrations.map(({ number, name, appliedTime }) => {
      return { number, name, appliedTime: readTime(appliedTime) };
    }),
    openRuns: Object.fromEntries(
      answer.openRuns.map(({ state, count }) => [runStates.get(state) ?? "UNSPECIFIED", count]),
    ),
  });
}

function readPartition(one: partitions.Partition): Partition {
  const { partition, region, watched, supervisor, address, epoch, lag, late } = one;
  return Object.freeze({
    partition,
    region,
    watched,
    supervisor,
    address,
    epoch,
    late,
    lastSeenTime: readTime(one.lastSeenTime),
    takenTime: readTime(one.takenTime),
    lagMs: lag === undefined ? null : durationMs(lag),
  });
}

function readOverview(answer: overview.GetOverviewResponse): Overview {
  return Object.freeze({
    openEscalations: answer.openEscalations,
    unservedTasks: answer.unservedTasks.map(({ queue, task, agentVersion, oldestTime }) => {
      return { queue, task, agentVersion, oldestTime: readTime(oldestTime) };
    }),
    latePartitions: answer.latePartitions.map(readPartition),
    lateRegions: answer.lateRegions.map(({ region, partitions, unwatched, overdue, lag }) => {
      const lagMs = lag === undefined ? null : durationMs(lag);
      return { region, partitions, unwatched, overdue, lagMs };
    }),
    isNamespacePaused: answer.namespacePause !== undefined,
    pausedQueues: answer.pausedQueues.map(({ name }) => name),
    pausedWorkflows: answer.pausedWorkflows.map(({ name }) => name),
    openCircuits: answer.openCircuits.map(readCircuit),
    cordons: answer.cordons.map(readCordon),
    failingAgents: answer.failingAgents.map(readFailing),
  });
}
