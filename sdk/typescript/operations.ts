/** What operators look at: who performs tasks, what waits, who watches, and what was done. */
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
  /** Only the sessions of the agent of this id. */
  readonly agentId?: string;
}

/** One start of an agent's process; what is said of it may be 20 s old. */
export interface AgentInfo {
  readonly id: string;
  /** 16 bytes, in hex. */
  readonly session: string;
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly queues: readonly string[];
  /** Empty: any task of its queues. */
  readonly tasks: readonly string[];
  /** The address of the server that it called last. */
  readonly server: string;
  readonly firstSeenTime: Date | null;
  readonly lastSeenTime: Date | null;
  readonly lastBeatTime: Date | null;
  readonly lastSuccessTime: Date | null;
  /** It lost a lease or its connection, and has not called since; null: it counts as polling. */
  readonly silentSinceTime: Date | null;
  /** Tasks that it holds, counted up to 1,000. */
  readonly held: number;
  /** Why it gets nothing new: its own cordon, that of its version, or both. */
  readonly cordons: readonly Cordon[];
  /** Its circuits that are not closed, or are set by hand. */
  readonly circuits: readonly Circuit[];
}

/** A task in an agent's hands. */
export interface HeldTask {
  readonly runId: string;
  readonly workflow: string;
  /** An item of a map as `deploy[3]`. */
  readonly stepId: string;
  readonly kind: string;
  readonly queue: string;
  readonly task: string;
  readonly fence: number;
  /** From 1. */
  readonly attempt: number;
  readonly grantedTime: Date | null;
  /** When the attempt is over, whatever the agent does. */
  readonly attemptDeadlineTime: Date | null;
  /** It is told to stop. */
  readonly cancelling: boolean;
}

export interface AgentDetails {
  readonly agent: AgentInfo;
  /** What it has held longest first, the first 1,000. */
  readonly tasks: readonly HeldTask[];
}

export interface AgentPage {
  /** By id and session. */
  readonly agents: readonly AgentInfo[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface Partition {
  readonly partition: number;
  /** Its region, by name. */
  readonly region: string;
  /** Its owner was seen in the last 3 seconds. */
  readonly watched: boolean;
  /** Who took it last; empty: it was given back, or nobody has had it yet. */
  readonly supervisor: string;
  readonly address: string;
  readonly lastSeenTime: Date | null;
  /** How often it has changed hands. */
  readonly epoch: bigint;
  readonly takenTime: Date | null;
  /** How long ago the oldest moment came that nobody has acted upon; null: there is none. */
  readonly lagMs: number | null;
  /** Nobody watches it, or it lags by more than the server calls overdue: 5 s unless told. */
  readonly late: boolean;
}

export interface PartitionPage {
  /** By number. */
  readonly partitions: readonly Partition[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

/** A partition in one supervisor's hands. */
export interface HandOver {
  readonly partition: number;
  readonly epoch: bigint;
  readonly supervisor: string;
  readonly address: string;
  /** Why it was free: FIRST, GIVEN_BACK or LOST. */
  readonly reason: string;
  readonly takenTime: Date | null;
  /** null: nobody has taken it since. */
  readonly leftTime: Date | null;
}

export interface ListHandOversSpec extends PageSpec {
  /** Default: of all partitions. */
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

/** What runs here. */
export interface ClusterInfo {
  readonly serverVersion: string;
  readonly databaseVersion: string;
  /** The server's clock less the database's, by which everything goes. */
  readonly clockDifferenceMs: number;
  readonly migrations: readonly {
    readonly number: number;
    readonly name: string;
    readonly appliedTime: Date | null;
  }[];
  /** Of all namespaces, by state. */
  readonly openRuns: Readonly<Record<string, number>>;
  /** There are more than were counted: some 100,000. */
  readonly moreOpenRuns: boolean;
}

export interface ListInterventionsSpec extends PageSpec {
  /** Of these rules, as "lease". Default: of all. */
  readonly rules?: readonly string[];
  /** Of this run, by its id. Default: of all. */
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

/** What needs a person; empty where nothing does. */
export interface Overview {
  /** Counted up to 10,000. */
  readonly openEscalations: number;
  /** Tasks that wait, and nobody has asked for them in the last minute. */
  readonly unservedTasks: readonly {
    readonly queue: string;
    readonly task: string;
    /** They are for agents of this version; empty: for all. */
    readonly agentVersion: string;
    readonly oldestTime: Date | null;
  }[];
  /** Those that nobody watches, or that are late by more than 5 s. */
  readonly latePartitions: readonly Partition[];
  /** Regions with such partitions: all of them, with true counts. */
  readonly lateRegions: readonly LateRegion[];
  readonly isNamespacePaused: boolean;
  readonly pausedQueues: readonly string[];
  readonly pausedWorkflows: readonly string[];
  /** Open, tried by one task, or kept open by a person. */
  readonly openCircuits: readonly Circuit[];
  /** Agents, and versions of agents, that get nothing new. */
  readonly cordons: readonly Cordon[];
}

/** A region that is not watched as it should be: `drover supervisor --region NAME` watches it. */
export interface LateRegion {
  readonly region: string;
  readonly partitions: number;
  /** Of its partitions, those that nobody watches. */
  readonly unwatched: number;
  /** Those where something is overdue. */
  readonly overdue: number;
  /** By how much, at most; null: nothing is. */
  readonly lagMs: number | null;
}

export interface Operations {
  agents(options?: ListAgentsSpec): Promise<AgentPage>;
  /** By its session, in hex. */
  agent(session: string, options?: CallControl): Promise<AgentDetails>;
  partitions(options?: PageSpec): Promise<PartitionPage>;
  handOvers(options?: ListHandOversSpec): Promise<HandOverPage>;
  /** The longest there first. */
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
        ...{ namespace, rules: [...rules], runId, ...toPage(spec) },
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
  const { id, version, labels, queues, tasks, server, held } = agent;
  return Object.freeze({
    ...{ id, version, labels, queues, tasks, server, held },
    session: Buffer.from(agent.session).toString("hex"),
    firstSeenTime: readTime(agent.firstSeenTime),
    lastSeenTime: readTime(agent.lastSeenTime),
    lastBeatTime: readTime(agent.lastBeatTime),
    lastSuccessTime: readTime(agent.lastSuccessTime),
    silentSinceTime: readTime(agent.silentSinceTime),
    cordons: agent.cordons.map(readCordon),
    circuits: agent.circuits.map(readCircuit),
  });
}

function readHeld(held: agents.HeldTask): HeldTask {
  const { runId, workflow, stepId, queue, task, fence, attempt, cancelling } = held;
  return Object.freeze({
    ...{ runId, workflow, stepId, queue, task, fence, attempt, cancelling },
    kind: taskKinds.get(held.kind) ?? "UNSPECIFIED",
    grantedTime: readTime(held.grantedTime),
    attemptDeadlineTime: readTime(held.attemptDeadlineTime),
  });
}

function readHandOver(one: partitions.HandOver): HandOver {
  const { partition, epoch, supervisor, address } = one;
  return Object.freeze({
    ...{
      partition,
      epoch,
      supervisor,
      address,
      reason: handOverReasons.get(one.reason) ?? "UNSPECIFIED",
    },
    takenTime: readTime(one.takenTime),
    leftTime: readTime(one.leftTime),
  });
}

function readSupervisor(one: partitions.Supervisor): Supervisor {
  const { id, address, alive, partitions: owned } = one;
  return Object.freeze({
    ...{ id, address, alive, partitions: owned },
    startedTime: readTime(one.startedTime),
    lastSeenTime: readTime(one.lastSeenTime),
  });
}

function readCluster(answer: overview.GetClusterInfoResponse): ClusterInfo {
  const { serverVersion, databaseVersion, moreOpenRuns } = answer;
  return Object.freeze({
    ...{ serverVersion, databaseVersion, moreOpenRuns },
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
    ...{ partition, region, watched, supervisor, address, epoch, late },
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
  });
}
