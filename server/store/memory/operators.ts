// What operators look at: agents, queues in full, partitions, supervisors, interventions.
import type { Moment } from "../../core/attempt.ts";
import type { Circuit } from "../circuits.ts";
import {
  type AgentPage,
  type AgentRecord,
  ATTENTION_MAX,
  type Attention,
  ESCALATIONS_COUNTED_MAX,
  type HandOverPage,
  type HandOverRecord,
  HELD_MAX,
  type HeldTask,
  type InterventionPage,
  type InterventionPlace,
  type ListedIntervention,
  type Operators,
  type OrphanLane,
  type PartitionPage,
  type PartitionRecord,
  QUEUE_TASKS_MAX,
  type QueueLook,
  type QueueTask,
  type Standing,
  type SupervisorRecord,
  WAITING_COUNTED_MAX,
} from "../operators.ts";
import { partitionsOf, regionOf } from "../partition.ts";
import { READY_COUNTED_MAX } from "../queues.ts";
import type { StoreTimes } from "../store-times.ts";
import { createActivity, openRuns } from "./activity.ts";
import { agentsAsking, isSilent } from "./agents-asking.ts";
import type { LaneRow } from "./catalogue-tables.ts";
import { isHeld } from "./circuits.ts";
import { overdueSince } from "./looks.ts";
import type { KnownNode } from "./partitions.ts";
import { lanePause, type QueueWorld } from "./queues.ts";
import { isUsed } from "./regions.ts";
import type { AgentRow, Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

const NODE_SHOWN_MS = 60_000;

export interface OperatorWorld extends QueueWorld, StoreTimes {
  readonly nodes: () => readonly KnownNode[];
  readonly regionNames: () => readonly string[];
}

export function createOperators(world: OperatorWorld, { run }: Transactions): Operators {
  const { tables, now } = world;
  const lanesOf = (namespaceId: number, queue: string) =>
    world.lanes().filter((one) => one.namespaceId === namespaceId && one.queue === queue);

  return Object.freeze({
    ...createActivity(tables, run),
    agents: (...of) => run(() => listAgents(tables, ...of)),
    held: (session) => run(() => heldTasks(world, session)),
    queueLooks: (namespaceId, names) =>
      run(() =>
        names.map((name): QueueLook => {
          const looks = lanesOf(namespaceId, name).map((lane) => laneLook(tables, lane));
          const asking = agentsAsking(tables, now(), { namespaceId, queue: name });
          return {
            name,
            oldestAt: least(looks.map(({ oldestAt }) => oldestAt)),
            polledAt: greatest(looks.map(({ polledAt }) => polledAt)),
            agents: asking.length,
          };
        }),
      ),
    queueTasks: (namespaceId, queue) =>
      run(() =>
        lanesOf(namespaceId, queue)
          .filter((lane) => isShown(tables, lane))
          .sort((a, b) => compare(a, b, ["task"]) || a.base - b.base || a.lane - b.lane)
          .slice(0, QUEUE_TASKS_MAX)
          .map((lane) => queueTask(tables, now(), lane)),
      ),
    partitions: (page) => run(() => listPartitions(world, page)),
    handOvers: (page) => run(() => listHandOvers(tables, page)),
    supervisors: () => run(() => supervisors(world)),
    interventions: (...of) => run(() => listInterventions(tables, ...of)),
    now: () => run(now),
    cluster: (namespaceId) =>
      run(() => ({ database: "memory", migrations: [], ...openRuns(tables, namespaceId) })),
    attention: (namespaceId) => run(() => attention(world, namespaceId)),
    standing: () => run(() => standing(world)),
    connections: () => [],
  } satisfies Operators);
}

function listAgents(
  tables: Tables,
  namespaceId: number,
  { agentId, session, after, limit }: AgentPage,
): readonly AgentRecord[] {
  const inOrder = (a: AgentPlace, b: AgentPlace) => compare(a, b, ["agentId", "session"]);
  return tables.agent
    .all()
    .filter((row) => row.namespaceId === namespaceId)
    .filter((row) => agentId === null || row.agentId === agentId)
    .filter((row) => session === null || row.session === session)
    .sort(inOrder)
    .filter((row) => after === null || inOrder(row, after) > 0)
    .slice(0, limit)
    .map(({ namespaceId: _, calledAt: __, ...row }) => ({
      ...row,
      lastBeatAt: tables.agentSession.get(row.session)?.lastBeatAt ?? null,
      held: Math.min(tables.lease.where("session", row.session).length, HELD_MAX),
    }));
}

type AgentPlace = Pick<AgentRow, "agentId" | "session">;

function heldTasks({ tables }: QueueWorld, session: string): readonly HeldTask[] {
  return tables.lease
    .where("session", session)
    .sort((a, b) => a.lease.grantedAt - b.lease.grantedAt || compare(a, b, ["runId", "step"]))
    .slice(0, HELD_MAX)
    .map(({ runId, step, lane, lease, progress }) => {
      const { queue = "", task = "" } = tables.lane.get(String(lane)) ?? {};
      const { workflow, definitionId } = tables.run.expect(runId);
      const { fence, attempt, attemptBy, progressAt } = lease;
      return {
        ...{ runId, workflow, definitionId, step, kind: lease.task, queue, task, fence, attempt },
        ...{ since: lease.grantedAt, attemptBy, progress, progressAt },
        cancelling: lease.cancel.kind !== "none",
      };
    });
}

/** Of the rows of a lane, those of a paused workflow too. */
function laneLook(tables: Tables, { lane }: LaneRow): Omit<QueueLook, "name" | "agents"> {
  return {
    oldestAt: oldestOf(tables, [lane, -lane]),
    polledAt: greatest(tables.lanePoller.where("lane", lane).map(({ seenAt }) => seenAt)),
  };
}

/** The oldest of the heads of its priorities. */
function oldestOf(tables: Tables, lanes: readonly number[]): Moment | null {
  const rows = lanes.flatMap((one) => tables.ready.where("lane", one));
  const heads = Map.groupBy(rows, ({ priority }) => priority)
    .values()
    .map((of) => of.sort((a, b) => a.transaction - b.transaction || a.number - b.number)[0]);
  return least([...heads].map((head) => head?.ready.readyAt ?? null));
}

function queueTask(tables: Tables, now: Moment, known: LaneRow): QueueTask {
  const { lane, task, agentVersion } = known;
  const waiting = [lane, -lane].flatMap((one) => tables.ready.where("lane", one));
  const asking = agentsAsking(tables, now, known);
  return {
    ...{ task, agentVersion, ...laneLook(tables, known), agents: asking.length },
    ready: Math.min(waiting.length, READY_COUNTED_MAX),
    leased: tables.lease.where("lane", lane).length,
  };
}

/** A lane of one version of agents is, while a pin names the version or something is in it. */
function isShown(tables: Tables, { namespaceId, queue, lane, agentVersion }: LaneRow): boolean {
  if (agentVersion === null || tables.lease.where("lane", lane).length > 0) return true;
  if ([lane, -lane].some((one) => tables.ready.where("lane", one).length > 0)) return true;
  return tables.versionPin
    .all()
    .some(
      (pin) =>
        pin.namespaceId === namespaceId && pin.queue === queue && pin.agentVersion === agentVersion,
    );
}

function listPartitions(world: OperatorWorld, { after, limit }: PartitionPage) {
  const { tables } = world;
  const now = world.now();
  const nodes = new Map(world.nodes().map((one) => [one.node, one]));
  const regionNames = world.regionNames();
  const used = regionNames.map((_, region) => isUsed(world, region));
  const known = tables.partitionLease.all().map(({ partition }) => partition);
  const partitions = [
    ...new Set([...regionNames.flatMap((_, region) => partitionsOf(region)), ...known]),
  ]
    .filter((partition) => partition > after)
    .sort((a, b) => a - b)
    .slice(0, limit)
    .map((partition): PartitionRecord => {
      const row = tables.partitionLease.get(String(partition));
      const { node = null, epoch = 0, takenAt = null } = row ?? {};
      const seen = node === null ? undefined : nodes.get(node);
      const { address = null, lastSeenAt = null } = seen ?? {};
      return {
        ...{ partition, epoch, takenAt },
        region: regionNames[regionOf(partition)] ?? "",
        used: used[regionOf(partition)] ?? false,
        owner: node === null ? null : { node, address, lastSeenAt },
        watched: lastSeenAt !== null && lastSeenAt > now - world.ownerLostMs,
        overdueAt: overdueSince(tables, now, partition),
      };
    });
  return { now, partitions };
}

function listHandOvers(
  tables: Tables,
  { partition, after, limit }: HandOverPage,
): readonly HandOverRecord[] {
  const newestFirst = (a: HandOverPlace, b: HandOverPlace) =>
    b.takenAt - a.takenAt || a.partition - b.partition || b.epoch - a.epoch;
  return tables.partitionHistory
    .all()
    .filter((row) => partition === null || row.partition === partition)
    .filter((row) => after === null || newestFirst(row, after) > 0)
    .sort(newestFirst)
    .slice(0, limit);
}

type HandOverPlace = NonNullable<HandOverPage["after"]>;

function supervisors(world: OperatorWorld): readonly SupervisorRecord[] {
  const now = world.now();
  const owned = Map.groupBy(world.tables.partitionLease.all(), ({ node }) => node);
  return world
    .nodes()
    .filter(({ lastSeenAt }) => lastSeenAt > now - NODE_SHOWN_MS)
    .sort((a, b) => compare(a, b, ["startedAt", "node"]))
    .map(({ node, address, startedAt, lastSeenAt }) => {
      const alive = lastSeenAt > now - world.ownerLostMs;
      const partitions = owned.get(node)?.length ?? 0;
      return { node, address, startedAt, lastSeenAt, alive, partitions };
    });
}

function listInterventions(
  tables: Tables,
  namespaceId: number,
  { rules, runId, from, until, after, limit }: InterventionPage,
): readonly ListedIntervention[] {
  return tables.intervention
    .all()
    .filter((row) => tables.run.expect(row.runId).namespaceId === namespaceId)
    .filter((row) => rules === null || rules.includes(row.rule))
    .filter((row) => runId === null || row.runId === runId)
    .filter(({ actedAt }) => (from === null || actedAt >= from) && actedAt < (until ?? Infinity))
    .sort(newestFirst)
    .filter((row) => after === null || newestFirst(row, after) > 0)
    .slice(0, limit)
    .map((row) => {
      const { workflow, definitionId } = tables.run.expect(row.runId);
      const about = tables.attempt
        .where("step", `${row.runId}/${row.step}`)
        .find(({ attempt }) => attempt.fence === row.fence);
      return { ...row, workflow, definitionId, attempt: about?.attempt.attempt ?? 0 };
    });
}

/** Rules of one moment, run, step and fence come in no order that means anything. */
function newestFirst(a: InterventionPlace, b: InterventionPlace): number {
  const placed = (at: InterventionPlace) => ({ ...at, step: at.step ?? -1 });
  return compare(placed(b), placed(a), ["actedAt", "runId", "step", "fence", "rule", "n"]);
}

function standing(world: OperatorWorld): Standing {
  const { tables, now } = world;
  const lanes = world.lanes().filter(({ lane }) => !lanePause(world, lane));
  const waiting = lanes.map(({ lane }) => tables.ready.where("lane", lane).length);
  const oldest = least(lanes.map(({ lane }) => oldestOf(tables, [lane])));
  const asked = Map.groupBy(
    tables.escalation.all().filter(({ closedAt }) => closedAt === null),
    ({ namespaceId }) => namespaceId,
  );
  // What a person says is said of all lanes of the task: it counts once.
  const isOnce = ({ lane, said }: Circuit) =>
    !said || tables.lane.get(String(lane))?.agentVersion === null;
  const open = tables.circuit.all().filter((one) => isHeld(one) && isOnce(one));
  const queue = open.filter(({ agentId }) => agentId === "").length;
  return {
    openRuns: openRuns(tables, null).openRuns,
    waiting: waiting.reduce((sum, of) => sum + Math.min(of, WAITING_COUNTED_MAX), 0),
    waitingMs: oldest === null ? 0 : Math.max(0, now() - oldest),
    escalations: [...asked.values()].reduce(
      (sum, of) => sum + Math.min(of.length, ESCALATIONS_COUNTED_MAX),
      0,
    ),
    openCircuits: { queue, agent: open.length - queue },
  };
}

function attention(world: OperatorWorld, namespaceId: number): Attention {
  const { tables } = world;
  const open = tables.escalation
    .where("namespace", namespaceId)
    .filter(({ closedAt }) => closedAt === null);
  const orphans = world
    .lanes()
    .filter((one) => one.namespaceId === namespaceId && isOrphan(world, one))
    .sort((a, b) => compare(a, b, ["queue", "task", "lane"]))
    .slice(0, ATTENTION_MAX)
    .map((lane): OrphanLane => {
      const { queue, task, agentVersion } = lane;
      return { queue, task, agentVersion, ...laneLook(tables, lane) };
    });
  const queues = tables.queue.where("namespace", namespaceId).flatMap(({ queue: name, pause }) => {
    return pause ? [{ name, pause }] : [];
  });
  const workflows = tables.pausedWorkflow
    .all()
    .filter((row) => row.namespaceId === namespaceId)
    .map(({ workflow: name, pause }) => ({ name, pause }));
  const byName = (a: { name: string }, b: { name: string }) => compare(a, b, ["name"]);
  return {
    escalations: Math.min(open.length, ESCALATIONS_COUNTED_MAX),
    orphans,
    namespacePause: queues.find(({ name }) => name === "")?.pause ?? null,
    pausedQueues: queues
      .filter(({ name }) => name !== "")
      .sort(byName)
      .slice(0, ATTENTION_MAX),
    pausedWorkflows: workflows.sort(byName).slice(0, ATTENTION_MAX),
  };
}

function isOrphan(world: OperatorWorld, known: LaneRow): boolean {
  const { tables, now, polledMs } = world;
  const { lane } = known;
  if (tables.ready.where("lane", lane).length === 0 || lanePause(world, lane)) return false;
  if (isSilent(tables, now(), known, polledMs)) return true;
  return !tables.lanePoller.where("lane", lane).some(({ seenAt }) => seenAt > now() - polledMs);
}

function least(moments: readonly (Moment | null)[]): Moment | null {
  const known = moments.filter((at) => at !== null);
  return known.length === 0 ? null : Math.min(...known);
}

function greatest(moments: readonly (Moment | null)[]): Moment | null {
  const known = moments.filter((at) => at !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** By the first of these that differs. */
function compare<Row>(a: Row, b: Row, by: readonly (keyof Row)[]): number {
  const on = by.find((key) => a[key] !== b[key]);
  if (on === undefined) return 0;
  return a[on] < b[on] ? -1 : 1;
}
