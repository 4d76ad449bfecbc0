// Namespaces: create and list them with their regions; set how long they retain runs, their limits,
// and whether they store what handlers log.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  NamespaceLimits as LimitsMessage,
  NamespaceLimitsSchema,
  NamespaceSchema,
} from "@drover/proto/drover/v1/namespace_pb.ts";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Rate } from "../../core/model/limits.ts";
import { DroverError } from "../../errors.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { WholeStore } from "../../store/all-shards.ts";
import {
  type AuditAction,
  type AuditDetails,
  type AuditEntry,
  EVERY_NAMESPACE,
} from "../../store/audit.ts";
import type { NamespaceRecord, RegionRecord } from "../../store/lists.ts";
import { type NamespaceLimits, NO_LIMITS } from "../../store/namespaces.ts";
import { PARTITIONS_PER_REGION } from "../../store/partition.ts";
import { auditEntry, type Who } from "../calls/audit-entry.ts";
import { refusal } from "../calls/errors.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { pageOf } from "../run/run-list.ts";

interface NamespaceCallDeps {
  readonly store: Pick<WholeStore, "lists" | "namespace" | "createNamespace" | "namespaces">;
  readonly scheduler: Pick<Scheduler, "limitNamespace" | "setNamespaceLogs">;
  readonly namespaces: Namespaces;
}

type NamespaceCalls =
  | "createNamespace"
  | "getNamespace"
  | "listNamespaces"
  | "setNamespaceRetention"
  | "setNamespaceLimits"
  | "setNamespaceLogs";

const DEFAULT_REGION = "default";
const LIST = "namespaces";

export function createNamespaceCalls({
  store,
  scheduler,
  namespaces,
}: NamespaceCallDeps): Pick<Handlers<typeof OperatorService>, NamespaceCalls> {
  return {
    async createNamespace({ name, region: wanted }, who) {
      const region = wanted === "" ? DEFAULT_REGION : wanted;
      const existed = (await store.namespace(name)) !== null;
      const subject = ["namespace", name] as const;
      const entry = auditEntry(who, {
        action: "namespace.create",
        namespaceId: EVERY_NAMESPACE,
        subject,
        details: { region },
      });
      await store.createNamespace(name, region, entry).catch((error: unknown) => {
        if (!(error instanceof RangeError)) throw error;
        const message = `is the 129th: ${error.message}; name one of them`;
        throw refusal("INVALID_REQUEST", [{ path: "region", message }]);
      });
      const made = await recordOf(name);
      if (made.region === region) return { namespace: namespaceMessage(made), existed };
      throw new DroverError(
        "NAMESPACE_EXISTS",
        `The namespace "${name}" is in the region "${made.region}", where it stays.`,
        { metadata: { name, region: made.region } },
      );
    },
    async getNamespace({ namespace }) {
      const { name } = await namespaces.find(namespace);
      return { namespace: namespaceMessage(await recordOf(name)) };
    },
    async setNamespaceRetention({ namespace, retention }, who) {
      const { id, name } = await namespaces.find(namespace);
      const retentionMs = retention ? durationMs(retention) : null;
      const details = { retention_ms: retentionMs };
      const entry = entryOf(who, "namespace.retention", { id, name }, details);
      await store.namespaces.setRetention(id, retentionMs, entry);
      return { namespace: namespaceMessage(await recordOf(name)) };
    },
    async setNamespaceLimits({ namespace, limits: given }, who) {
      const { id, name } = await namespaces.find(namespace);
      const limits = limitsFrom(given);
      const details = {
        open_runs: limits.openRunsMax,
        runs_per_second: limits.rate?.perSecond ?? null,
        burst: limits.rate?.burst ?? null,
        payload_bytes: limits.payloadBytesMax,
        calls_per_second: limits.callRate?.perSecond ?? null,
        calls_burst: limits.callRate?.burst ?? null,
        storage_bytes: limits.storageBytesMax,
        weight: limits.weight,
      };
      const entry = entryOf(who, "namespace.limits", { id, name }, details);
      await scheduler.limitNamespace(id, limits, entry);
      return { namespace: namespaceMessage(await recordOf(name)) };
    },
    async setNamespaceLogs({ namespace, noLogs }, who) {
      const { id, name } = await namespaces.find(namespace);
      const details = { logs: noLogs ? "off" : "on" };
      const entry = entryOf(who, "namespace.logs", { id, name }, details);
      await scheduler.setNamespaceLogs(id, !noLogs, entry);
      return { namespace: namespaceMessage(await recordOf(name)) };
    },
    async listNamespaces({ pageSize, pageToken }, { caller }) {
      const page = pageOf(LIST, pageSize);
      const after = parsePageToken(LIST, pageToken, (name) => name !== "");
      const names = caller?.namespaces ?? null;
      const rows = await store.lists.namespaces({ names, after }, page.limit + 1);
      const regions = await store.lists.regions();
      // The name of a region may say whose namespaces are in it.
      const shown =
        names === null
          ? regions
          : regions.filter(({ name }) => rows.some(({ region }) => region === name));
      return {
        namespaces: rows.slice(0, page.limit).map(namespaceMessage),
        nextPageToken: page.nextToken(rows, ({ name }) => name),
        regions: shown.map(regionMessage),
      };
    },
  };

  async function recordOf(name: string): Promise<NamespaceRecord> {
    const [found] = await store.lists.namespaces({ names: [name], after: null }, 1);
    if (!found) throw new Error(`namespace ${name} is known and not listed`);
    return found;
  }
}

function entryOf(
  who: Who,
  action: AuditAction,
  { id: namespaceId, name }: { readonly id: number; readonly name: string },
  details: AuditDetails,
): AuditEntry {
  return auditEntry(who, { action, namespaceId, subject: ["namespace", name], details });
}

function namespaceMessage({
  name,
  region,
  createdAt,
  retentionMs,
  limits,
  storesLogs,
}: NamespaceRecord): MessageInitShape<typeof NamespaceSchema> {
  return {
    name,
    region,
    createTime: timestampFromMs(createdAt),
    ...(retentionMs === null ? {} : { retention: durationFromMs(retentionMs) }),
    ...(Object.values(limits).every((limit) => limit === null)
      ? {}
      : { limits: limitsMessage(limits) }),
    noLogs: !storesLogs,
  };
}

function limitsMessage(limits: NamespaceLimits): MessageInitShape<typeof NamespaceLimitsSchema> {
  return {
    openRuns: limits.openRunsMax ?? 0,
    runsPerSecond: limits.rate?.perSecond ?? 0,
    burst: limits.rate?.burst ?? 0,
    payloadBytes: limits.payloadBytesMax ?? 0,
    callsPerSecond: limits.callRate?.perSecond ?? 0,
    callsBurst: limits.callRate?.burst ?? 0,
    storageBytes: BigInt(limits.storageBytesMax ?? 0),
    weight: limits.weight ?? 0,
  };
}

function limitsFrom(message: LimitsMessage | undefined): NamespaceLimits {
  if (message === undefined) return NO_LIMITS;
  const orNull = (value: number): number | null => (value === 0 ? null : value);
  return {
    openRunsMax: orNull(message.openRuns),
    rate: rateFrom(message.runsPerSecond, message.burst),
    payloadBytesMax: orNull(message.payloadBytes),
    callRate: rateFrom(message.callsPerSecond, message.callsBurst),
    storageBytesMax: orNull(Number(message.storageBytes)),
    weight: orNull(message.weight),
  };
}

function rateFrom(perSecond: number, burst: number): Rate | null {
  if (perSecond === 0) return null;
  const ofOneSecond = Math.max(1, Math.ceil(perSecond));
  return { perSecond, burst: burst === 0 ? ofOneSecond : burst };
}

function regionMessage({ name, watched }: RegionRecord) {
  return { name, watchedPartitions: watched, partitions: PARTITIONS_PER_REGION };
}
