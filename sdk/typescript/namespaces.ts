/** The namespace of the client, and others: regions, pauses, retention, limits. */
import type * as wire from "@drover/proto/drover/v1/namespace_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { DroverCallError } from "./call-error.ts";
import type { ReasonSpec } from "./commands.ts";
import { type Duration, fromDuration, toDuration } from "./duration.ts";
import type { PageSpec } from "./operations.ts";
import { type Pause, readPause } from "./queues.ts";
import { readTime } from "./runs.ts";

/** Limits of a namespace; a limit that is left out does not exist. */
export interface NamespaceLimits {
  /** Maximum number of runs that have not ended. */
  readonly openRuns?: number;
  /** Maximum number of runs started per second, on average; may be a fraction. */
  readonly runsPerSecond?: number;
  /** Maximum number of runs started at once. Default: the number of one second. */
  readonly burst?: number;
  /** Maximum size of one payload in bytes, at most 2 MiB. Default: the limit of the server. */
  readonly payloadBytes?: number;
  /** Maximum number of calls per second that read, register or start, on average. */
  readonly callsPerSecond?: number;
  /** Maximum number of these calls at once. Default: the number of one second. */
  readonly callsBurst?: number;
  /** Maximum number of bytes that its runs may take, compared with an estimate. */
  readonly storageBytes?: number;
  /** Its part where namespaces compete for a server, 1 to 1,000. Default: 100. */
  readonly weight?: number;
}

export interface Namespace {
  readonly name: string;
  readonly region: string;
  readonly createdTime: Date | null;
  /** How long runs are kept after their end; null: for ever. */
  readonly retentionMs: number | null;
  readonly limits: NamespaceLimits;
  /** Whether the lines that handlers log are stored. */
  readonly storesLogs: boolean;
}

export interface NamespacePage {
  /** By name. */
  readonly namespaces: readonly Namespace[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
  readonly regions: readonly {
    readonly name: string;
    readonly watchedPartitions: number;
    readonly partitions: number;
  }[];
}

/** All calls except `list` and `create` are about the namespace of the client. */
export interface Namespaces {
  /** All namespaces. */
  list(options?: PageSpec): Promise<NamespacePage>;
  /**
   * Creates another namespace. A new region is created with it; the region cannot be changed later.
   */
  create(
    name: string,
    options?: CallControl & { readonly region?: string },
  ): Promise<Namespace & { readonly existed: boolean }>;
  get(options?: CallControl): Promise<Namespace>;
  /** Runs are deleted this long after their end, at least 1 h; null: they are kept for ever. */
  setRetention(retention: Duration | null, options?: CallControl): Promise<Namespace>;
  /** Sets all limits: a limit that is left out is removed. */
  setLimits(limits: NamespaceLimits, options?: CallControl): Promise<Namespace>;
  /** Sets whether the lines that handlers log are stored; at first they are. */
  setLogs(stored: boolean, options?: CallControl): Promise<Namespace>;
  /** Once this resolves, no task of any of its queues is handed out. */
  pause(options?: ReasonSpec): Promise<Pause | null>;
  resume(options?: CallControl): Promise<void>;
}

const rpc = OperatorService.method;

export function createNamespaces(call: Call, namespace: string): Namespaces {
  return Object.freeze({
    async list({ pageSize = 0, pageToken = "", signal }: PageSpec = {}): Promise<NamespacePage> {
      const answer = await call(rpc.listNamespaces, { pageSize, pageToken }, { signal });
      const { nextPageToken } = answer;
      const regions = answer.regions.map(({ name, watchedPartitions, partitions }) => {
        return { name, watchedPartitions, partitions };
      });
      return { namespaces: answer.namespaces.map(readNamespace), nextPageToken, regions };
    },

    async create(
      name: string,
      { region = "", signal }: CallControl & { readonly region?: string } = {},
    ) {
      const answer = await call(rpc.createNamespace, { name, region }, { signal });
      return Object.freeze({ ...readSent(answer), existed: answer.existed });
    },

    async get({ signal }: CallControl = {}): Promise<Namespace> {
      return readSent(await call(rpc.getNamespace, { namespace }, { signal }));
    },

    async setRetention(
      retention: Duration | null,
      { signal }: CallControl = {},
    ): Promise<Namespace> {
      const kept = retention === null ? {} : { retention: toDuration(retention) };
      return readSent(await call(rpc.setNamespaceRetention, { namespace, ...kept }, { signal }));
    },

    async setLimits(given: NamespaceLimits, { signal }: CallControl = {}): Promise<Namespace> {
      const limits = { ...given, storageBytes: BigInt(given.storageBytes ?? 0) };
      return readSent(await call(rpc.setNamespaceLimits, { namespace, limits }, { signal }));
    },

    async setLogs(stored: boolean, { signal }: CallControl = {}): Promise<Namespace> {
      const request = { namespace, noLogs: !stored };
      return readSent(await call(rpc.setNamespaceLogs, request, { signal }));
    },

    async pause({ reason = "", signal }: ReasonSpec = {}): Promise<Pause | null> {
      return readPause((await call(rpc.pauseNamespace, { namespace, reason }, { signal })).pause);
    },

    async resume({ signal }: CallControl = {}): Promise<void> {
      await call(rpc.resumeNamespace, { namespace }, { signal });
    },
  });
}

function readSent({ namespace }: { namespace?: wire.Namespace | undefined }): Namespace {
  if (namespace !== undefined) return readNamespace(namespace);
  throw new DroverCallError("INTERNAL", "The server answered without a namespace.");
}

function readNamespace(sent: wire.Namespace): Namespace {
  const { name, region, createTime, retention, limits, noLogs } = sent;
  return Object.freeze({
    name,
    region,
    createdTime: readTime(createTime),
    retentionMs: retention === undefined ? null : fromDuration(retention),
    limits: readLimits(limits),
    storesLogs: !noLogs,
  });
}

function readLimits(limits: wire.NamespaceLimits | undefined): NamespaceLimits {
  const { openRuns = 0, runsPerSecond = 0, burst = 0, payloadBytes = 0 } = limits ?? {};
  const { callsPerSecond = 0, callsBurst = 0, storageBytes = 0n, weight = 0 } = limits ?? {};
  return {
    ...(openRuns > 0 ? { openRuns } : {}),
    ...(runsPerSecond > 0 ? { runsPerSecond, burst } : {}),
    ...(payloadBytes > 0 ? { payloadBytes } : {}),
    ...(callsPerSecond > 0 ? { callsPerSecond, callsBurst } : {}),
    ...(storageBytes > 0n ? { storageBytes: Number(storageBytes) } : {}),
    ...(weight > 0 ? { weight } : {}),
  };
}
