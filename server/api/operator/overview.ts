// The state of the cluster: partitions and their supervisors, what needs a person, what runs here.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import {
  ActivitySchema,
  type DatabaseDurabilitySchema,
  type GetClusterInfoResponseSchema,
  GetOverviewResponseSchema,
  type LateRegionSchema,
} from "@drover/proto/drover/v1/overview_pb.ts";
import type { PartitionSchema } from "@drover/proto/drover/v1/partition_pb.ts";
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import type { WholeStore } from "../../store/all-shards.ts";
import type {
  ClusterRecord,
  Durability,
  OrphanLane,
  PartitionRecord,
} from "../../store/operators.ts";
import { PARTITIONS_PER_REGION, REGIONS_MAX } from "../../store/partition.ts";
import type { Pause } from "../../store/queues.ts";
import type { Caller } from "../auth/caller.ts";
import type { Drain } from "../calls/drain.ts";
import type { Handlers } from "../calls/mount.ts";
import { existing } from "../calls/namespace-names.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { timeField } from "../calls/time-field.ts";
import { RUN_STATES } from "../run/convert-run.ts";
import { pageOf } from "../run/run-list.ts";
import { failingMessage, type OperatorCallDeps } from "./agent-list.ts";
import { circuitMessage, cordonMessage } from "./circuit-calls.ts";
import { createOverviewWatch, type OverviewWanted, type ReadOverview } from "./overview-watch.ts";
import { pauseMessage } from "./queue-calls.ts";
import { readActivity } from "./read-activity.ts";

/** The largest number of partitions that can exist, so the counts are complete. */
const PARTITIONS_READ_MAX = REGIONS_MAX * PARTITIONS_PER_REGION;
const LATE_PARTITIONS_MAX = 1_000;
const CIRCUITS_MAX = 100;
const CORDONS_MAX = 100;
/** The id of none: they are counted from 1. */
const NO_NAMESPACE = 0;

/**
 * How old a ready task must be before its lane counts as unserved. Servers tell each other of a
 * lane that is new, or polled for the first time, with their next heartbeats; until then it is
 * unknown whether the lane has agents.
 */
const UNSERVED_AFTER_MS = 3_000;
const SERVER_VERSION = versionOfServer();

interface OverviewDeps extends OperatorCallDeps {
  readonly store: OperatorCallDeps["store"] & Pick<WholeStore, "lists">;
  readonly drain: Drain;
  readonly clock: Clock;
  /**
   * A partition is late if it is overdue by more than this. A server's health uses the same limit.
   */
  readonly overdueMs: number;
}

type OverviewCalls =
  | "listPartitions"
  | "listSupervisors"
  | "getOverview"
  | "watchOverview"
  | "getClusterInfo";

export function createOverviewCalls(
  deps: OverviewDeps,
): Pick<Handlers<typeof OperatorService>, OverviewCalls> {
  const { store, namespaces, overdueMs } = deps;
  const overview: ReadOverview = (of) => overviewOf(deps, of);
  const watch = createOverviewWatch({ ...deps, overview });

  return {
    async listPartitions({ pageSize, pageToken }) {
      const list = "partitions";
      const page = pageOf(list, pageSize);
      const after = parsePageToken(list, pageToken, (item) => /^\d{1,5}$/.test(item)) ?? -1;
      const read = await store.operators.partitions({
        after: Number(after),
        limit: page.limit + 1,
      });
      const { now, partitions: rows } = read;
      return {
        partitions: rows.slice(0, page.limit).map((row) => partitionMessage(row, now, overdueMs)),
        nextPageToken: page.nextToken(rows, ({ partition }) => String(partition)),
      };
    },

    async listSupervisors() {
      const rows = await store.operators.supervisors();
      const supervisors = rows.map(({ node, address, alive, partitions, ...row }) => ({
        id: node,
        address,
        alive,
        partitions,
        startedTime: timestampFromMs(row.startedAt),
        lastSeenTime: timestampFromMs(row.lastSeenAt),
      }));
      return { supervisors };
    },

    async getOverview({ namespace: name }, { caller }) {
      const namespace = await namespaces.find(name);
      const of = { namespace, everyRegion: seesEveryRegion(caller) };
      const message = create(GetOverviewResponseSchema, await overview(of));
      message.activity = create(ActivitySchema, await readActivity(deps, namespace.id));
      return message;
    },

    watchOverview: (request, { signal, caller }) =>
      watch(request, { signal, everyRegion: seesEveryRegion(caller) }),

    getClusterInfo: (_request, { caller }) => clusterInfo(deps, caller),
  };
}

async function clusterInfo(
  deps: OverviewDeps,
  caller: Caller | null,
): Promise<MessageInitShape<typeof GetClusterInfoResponseSchema>> {
  const { store, clock } = deps;
  const sentMs = clock.wallMs();
  const now = await store.operators.now();
  // Assumes that the database read its clock half-way through the round trip.
  const differenceMs = Math.round((sentMs + clock.wallMs()) / 2 - now);
  const record = await clusterSeenBy(deps, caller);
  return {
    serverVersion: SERVER_VERSION,
    databaseVersion: record.database,
    clockDifference: durationFromMs(differenceMs),
    migrations: record.migrations.map(({ number, name, appliedAt }) => {
      return { number, name, appliedTime: timestampFromMs(appliedAt) };
    }),
    openRuns: [...record.openRuns]
      .map(([state, count]) => ({ state: RUN_STATES[state], count }))
      .sort((a, b) => a.state - b.state),
    moreOpenRuns: !record.allCounted,
    durability: durabilityOf(record.durability),
  };
}

function durabilityOf(found: Durability): MessageInitShape<typeof DatabaseDurabilitySchema> {
  const { archivedAt, archiveFailedAt } = found;
  return {
    crashSafe: found.crashSafe,
    synchronousCommit: found.synchronousCommit,
    synchronousStandbyNames: found.synchronousStandbys,
    archivesLog: found.archivesLog,
    ...(archivedAt === null ? {} : { lastArchivedTime: timestampFromMs(archivedAt) }),
    ...(archiveFailedAt === null ? {} : { archiveFailingTime: timestampFromMs(archiveFailedAt) }),
  };
}

/** A caller of certain namespaces sees nothing of others, not even their counts. */
async function clusterSeenBy(
  { store, namespaces }: Pick<OverviewDeps, "store" | "namespaces">,
  caller: Caller | null,
): Promise<ClusterRecord> {
  const names = caller?.namespaces ?? null;
  if (names === null) return store.operators.cluster(null);
  const own = await existing(namespaces, names);
  const first = await store.operators.cluster(own[0]?.id ?? NO_NAMESPACE);
  const openRuns = new Map(first.openRuns);
  let { allCounted } = first;
  for (const { id } of own.slice(1)) {
    const more = await store.operators.cluster(id);
    for (const [state, count] of more.openRuns)
      openRuns.set(state, (openRuns.get(state) ?? 0) + count);
    allCounted &&= more.allCounted;
  }
  return { ...first, openRuns, allCounted };
}

/** A caller of certain namespaces sees no supervisor, and of the regions only its own. */
function seesEveryRegion(caller: Caller | null): boolean {
  return caller === null || caller.namespaces === null;
}

async function overviewOf(
  { store, overdueMs }: OverviewDeps,
  { namespace: { id, region }, everyRegion }: OverviewWanted,
): Promise<MessageInitShape<typeof GetOverviewResponseSchema>> {
  const wanted = everyRegion
    ? { after: -1, limit: PARTITIONS_READ_MAX }
    : { after: region * PARTITIONS_PER_REGION - 1, limit: PARTITIONS_PER_REGION };
  const { now, partitions } = await store.operators.partitions(wanted);
  const seen = await store.operators.attention(id);
  const open = { after: null, limit: CIRCUITS_MAX, openOnly: true };
  const circuits = await store.lists.circuits(id, open);
  const cordons = await store.lists.cordons(id);
  const { namespacePause: pause } = seen;
  return {
    openEscalations: seen.escalations,
    unservedTasks: seen.orphans
      .filter(({ oldestAt }) => oldestAt !== null && now - oldestAt >= UNSERVED_AFTER_MS)
      .map(unservedMessage),
    latePartitions: (everyRegion ? partitions : [])
      .filter((one) => isLate(one, now, overdueMs))
      .slice(0, LATE_PARTITIONS_MAX)
      .map((one) => partitionMessage(one, now, overdueMs)),
    lateRegions: lateRegions(partitions, now, overdueMs),
    ...(pause ? { namespacePause: pauseMessage(pause) } : {}),
    pausedQueues: seen.pausedQueues.map(namedPause),
    pausedWorkflows: seen.pausedWorkflows.map(namedPause),
    openCircuits: circuits.map(circuitMessage),
    cordons: cordons.slice(0, CORDONS_MAX).map(cordonMessage),
    failingAgents: seen.failingAgents.map(failingMessage),
  };
}

/** Regions with late partitions only. */
function lateRegions(
  partitions: readonly PartitionRecord[],
  now: EpochMs,
  overdueMs: number,
): MessageInitShape<typeof LateRegionSchema>[] {
  return [...Map.groupBy(partitions, ({ region }) => region)].flatMap(([region, of]) => {
    if (!of.some((one) => isLate(one, now, overdueMs))) return [];
    const lags = of.map(({ overdueAt }) => (overdueAt === null ? 0 : now - overdueAt));
    const overdue = lags.filter((lag) => lag > overdueMs);
    const unwatched = of.filter(({ watched }) => !watched).length;
    const counts = { region, partitions: of.length, unwatched, overdue: overdue.length };
    return overdue.length === 0
      ? [counts]
      : [{ ...counts, lag: durationFromMs(Math.max(...overdue)) }];
  });
}

/** A region that is not used needs no supervisor. */
function isLate(
  { watched, used, overdueAt }: PartitionRecord,
  now: EpochMs,
  overdueMs: number,
): boolean {
  return (used && !watched) || (overdueAt !== null && now - overdueAt > overdueMs);
}

function partitionMessage(
  record: PartitionRecord,
  now: EpochMs,
  overdueMs: number,
): MessageInitShape<typeof PartitionSchema> {
  const { partition, region, epoch, takenAt, owner, watched, overdueAt } = record;
  const late = isLate(record, now, overdueMs);
  return {
    partition,
    region,
    watched,
    late,
    epoch: BigInt(epoch),
    supervisor: owner?.node ?? "",
    address: owner?.address ?? "",
    ...timeField("lastSeenTime", owner?.lastSeenAt ?? null),
    ...timeField("takenTime", takenAt),
    ...(overdueAt === null ? {} : { lag: durationFromMs(Math.max(0, now - overdueAt)) }),
  };
}

function unservedMessage({ queue, task, agentVersion, oldestAt, polledAt }: OrphanLane) {
  return {
    queue,
    task,
    agentVersion: agentVersion ?? "",
    ...timeField("oldestTime", oldestAt),
    ...timeField("polledTime", polledAt),
  };
}

function namedPause(of: {
  readonly name: string;
  readonly pause: Pause;
  readonly schedules?: number;
}) {
  const { name, pause, schedules = 0 } = of;
  return { name, pause: pauseMessage(pause), schedules };
}

function versionOfServer(): string {
  // By the package's name: where its files are differs between this repository and its package.
  const file = createRequire(import.meta.url).resolve("@drover/server/package.json");
  const text = readFileSync(file, "utf8");
  const { version }: { readonly version?: string } = JSON.parse(text);
  return version ?? "";
}
