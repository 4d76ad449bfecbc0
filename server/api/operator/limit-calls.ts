// GetLimits: the list of all limits, with the values in effect in a namespace on this server, and
// how much is used now where that is counted anyway.
import { create } from "@bufbuild/protobuf";
import { type Limit, LimitSchema, LimitScope } from "@drover/proto/drover/v1/namespace_pb.ts";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { RpcConfig } from "../../rpc-config.ts";
import { MINUTE_MS } from "../../store/activity.ts";
import type { WholeStore } from "../../store/all-shards.ts";
import type { NamespaceRecord } from "../../store/lists.ts";
import type { NamespaceLimits } from "../../store/namespaces.ts";
import type { Drain } from "../calls/drain.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import {
  defaultLimit,
  hardLimit,
  LIMIT_NAMES,
  LIMITS,
  type LimitName,
  type LimitSource,
  type NamespaceLimit,
  whereToChange,
} from "./limit-list.ts";

interface LimitCallDeps {
  readonly store: Pick<WholeStore, "lists" | "operators">;
  readonly namespaces: Namespaces;
  readonly config: RpcConfig;
  readonly drain: Pick<Drain, "working" | "inFlight">;
}

interface Used {
  readonly used: number;
  readonly usedNote: string;
}

export function createLimitCalls(
  deps: LimitCallDeps,
): Pick<Handlers<typeof OperatorService>, "getLimits"> {
  return {
    async getLimits({ namespace }) {
      const { id, name } = await deps.namespaces.find(namespace);
      const [record] = await deps.store.lists.namespaces({ names: [name], after: null }, 1);
      if (!record) throw new Error(`namespace ${name} is known and not listed`);
      const used = await useOf(deps, id, record);
      return {
        limits: LIMIT_NAMES.map((limit) =>
          limitMessage(limit, deps.config, record.limits, used.get(limit)),
        ),
      };
    },
  };
}

/** What is counted anyway: no statement of this call reads more than the overview does. */
async function useOf(
  { store, drain }: LimitCallDeps,
  namespaceId: number,
  { storageBytes }: NamespaceRecord,
): Promise<ReadonlyMap<LimitName, Used>> {
  const { operators } = store;
  const now = await operators.now();
  const open = await operators.openRuns(namespaceId);
  const openRuns = [...open.openRuns.values()].reduce((sum, count) => sum + count, 0);
  const lastMinute = Math.floor(now / MINUTE_MS - 1) * MINUTE_MS;
  const counts = await operators.runCounts(namespaceId, lastMinute);
  const started = counts.find(({ minute, event }) => minute === lastMinute && event === "ACCEPTED");
  const used = new Map<LimitName, Used>([
    [
      "open-runs",
      {
        used: openRuns,
        usedNote: open.allCounted ? "of all servers, now" : "of all servers, or more",
      },
    ],
    [
      "runs-per-second",
      {
        used: (started?.runs ?? 0) / 60,
        usedNote: "of all servers, on average in the last whole minute",
      },
    ],
    ["calls", { used: drain.working, usedNote: "of this server, now" }],
    ["waiting-calls", { used: drain.inFlight - drain.working, usedNote: "of this server, now" }],
  ]);
  if (storageBytes !== null)
    used.set("storage-bytes", {
      used: storageBytes,
      usedNote: "an estimate of the last minutes, without indexes",
    });
  return used;
}

function limitMessage(
  name: LimitName,
  config: RpcConfig,
  limits: NamespaceLimits,
  used: Used | undefined,
): Limit {
  const { what, unit, source } = LIMITS[name];
  const value = valueInEffect(source, config, limits);
  const byDefault = byDefaultOf(source, config);
  return create(LimitSchema, {
    name,
    what,
    unit,
    scope: SCOPES[source.kind],
    ...(value === null ? {} : { value }),
    ...(byDefault === null ? {} : { defaultValue: byDefault }),
    hardLimit: hardLimit(source),
    ...(used ?? {}),
    change: whereToChange(source),
  });
}

const SCOPES: Readonly<Record<LimitSource["kind"], LimitScope>> = Object.freeze({
  contract: LimitScope.FIXED,
  fixed: LimitScope.FIXED,
  server: LimitScope.FIXED,
  setting: LimitScope.SERVER,
  namespace: LimitScope.NAMESPACE,
});

/** null: there is no limit. */
function valueInEffect(
  source: LimitSource,
  config: RpcConfig,
  limits: NamespaceLimits,
): number | null {
  switch (source.kind) {
    case "server":
      return config[source.limit];
    case "setting":
      return config[source.setting];
    case "namespace":
      return ofNamespace(limits, source.limit) ?? byDefaultOf(source, config);
    default:
      return hardLimit(source);
  }
}

/** A server may have been started with another limit of payloads. */
function byDefaultOf(source: LimitSource, config: RpcConfig): number | null {
  if (source.kind === "namespace" && source.limit === "payloadBytes") return config.payloadBytesMax;
  return defaultLimit(source);
}

function ofNamespace(limits: NamespaceLimits, limit: NamespaceLimit): number | null {
  switch (limit) {
    case "openRuns":
      return limits.openRunsMax;
    case "runsPerSecond":
      return limits.rate?.perSecond ?? null;
    case "burst":
      return limits.rate?.burst ?? null;
    case "callsPerSecond":
      return limits.callRate?.perSecond ?? null;
    case "callsBurst":
      return limits.callRate?.burst ?? null;
    case "storageBytes":
      return limits.storageBytesMax;
    case "payloadBytes":
      return limits.payloadBytesMax;
    case "weight":
      return limits.weight;
  }
}
