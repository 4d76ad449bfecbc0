// Namespaces on PostgreSQL: their regions, their limits, and the removal of their old runs.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Rate } from "../../core/model/limits.ts";
import { type Audit, withDetails } from "../audit.ts";
import type { Lists, NamespaceRecord, RegionRecord } from "../lists.ts";
import {
  type Erased,
  type ForgottenPage,
  type NamespaceLimits,
  type Namespaces,
  type NamespaceUse,
  type OldRuns,
  ROWS_FORGOTTEN_MAX,
} from "../namespaces.ts";
import { REGIONS_MAX } from "../partition.ts";
import type { Namespace, RunId, Store } from "../store.ts";
import { type Audited, recordAudit } from "./audit.ts";
import { runStates } from "./codes.ts";
import { INSERTS_MAX } from "./drawn-ids.ts";
import type { Values } from "./sql.ts";
import type { Query, Transact } from "./transaction.ts";

const OPEN_RUNS_PAGE = 20_000;
const FIRST_RUN = "00000000-0000-0000-0000-000000000000";

/** `everywhere`: one for each shard. */
export function namespacesOf(
  query: Query,
  everywhere: readonly Query[],
  transact: Transact,
  audited: Audited,
): Pick<Store, "namespace" | "createNamespace"> {
  const find = async (name: string): Promise<Namespace | null> => {
    const [row] = await query<{ id: number; name: string; region: number }>("find_namespace", {
      name,
    });
    return row ?? null;
  };
  return {
    namespace: find,
    async createNamespace(name, region = "default", audit = null) {
      const known = await find(name);
      if (known) return known;
      const { id } = await transact({}, ({ query: within }) => createRegion(within, region));
      await Promise.all(everywhere.map((shard) => shard("create_partitions", { region: id })));
      for (let tries = 0; tries < INSERTS_MAX; tries++) {
        await audited<{ id: number }>(
          audit,
          "create_namespace",
          { name, region },
          (entry, [made]) => (made ? { ...entry, namespaceId: made.id } : null),
        );
        const made = await find(name);
        if (made) return made;
      }
      throw new Error(`namespace ${name} could not be made`);
    },
  };
}

/** Creates a region unless it is there; two calls at once wait for each other. */
async function createRegion(query: Query, name: string): Promise<{ readonly id: number }> {
  const find = async () => (await query<{ id: number }>("find_region", { name }))[0];
  const before = await find();
  if (before) return before;
  await query("lock_regions", {});
  const meanwhile = await find();
  if (meanwhile) return meanwhile;
  const [made] = await query<{ id: number }>("create_region", { name, regions_max: REGIONS_MAX });
  if (!made) throw new RangeError(`there are ${REGIONS_MAX} regions`);
  return made;
}

export function namespaceLists(query: Query): Pick<Lists, "namespaces" | "regions"> {
  return {
    async namespaces({ names, after }, limit): Promise<readonly NamespaceRecord[]> {
      const rows = await query<NamespaceRow>("list_namespaces", { names, after, limit });
      return rows.map((row) => ({
        id: row.id,
        name: row.name,
        region: row.region,
        createdAt: row.created_at,
        retentionMs: row.retention_ms,
        limits: limitsOf(row),
        storesLogs: !row.no_logs,
        storageBytes: row.storage_bytes,
      }));
    },
    regions: () => query<RegionRecord & Record<string, unknown>>("list_regions", {}),
  };
}

interface LimitColumns {
  open_runs_max: number | null;
  runs_per_second: number | null;
  runs_burst: number | null;
  payload_bytes_max: number | null;
  calls_per_second: number | null;
  calls_burst: number | null;
  storage_bytes_max: number | null;
  weight: number | null;
  /** null: not estimated yet. */
  storage_bytes: number | null;
}

interface LimitedRow extends LimitColumns {
  id: number;
  name: string;
  no_logs: true | null;
}

interface NamespaceRow extends LimitColumns {
  id: number;
  name: string;
  region: string;
  created_at: EpochMs;
  retention_ms: number | null;
  no_logs: true | null;
}

function limitsOf(row: LimitColumns): NamespaceLimits {
  return {
    openRunsMax: row.open_runs_max,
    rate: rateOf(row.runs_per_second, row.runs_burst),
    payloadBytesMax: row.payload_bytes_max,
    callRate: rateOf(row.calls_per_second, row.calls_burst),
    storageBytesMax: row.storage_bytes_max,
    weight: row.weight,
  };
}

function rateOf(perSecond: number | null, burst: number | null): Rate | null {
  return perSecond === null || burst === null ? null : { perSecond, burst };
}

export function createNamespaces(query: Query, transact: Transact, audited: Audited): Namespaces {
  return Object.freeze({
    async setRetention(namespaceId, retentionMs, audit = null) {
      const retention = { namespace_id: namespaceId, retention_ms: retentionMs };
      await audited(audit, "set_retention", retention);
    },
    async setLimits(namespaceId, given, audit = null) {
      const limits = {
        open_runs_max: given.openRunsMax,
        runs_per_second: given.rate?.perSecond ?? null,
        runs_burst: given.rate?.burst ?? null,
        payload_bytes_max: given.payloadBytesMax,
        calls_per_second: given.callRate?.perSecond ?? null,
        calls_burst: given.callRate?.burst ?? null,
        storage_bytes_max: given.storageBytesMax,
        weight: given.weight,
      };
      await audited(audit, "set_namespace_limits", { namespace_id: namespaceId, ...limits });
    },
    async setLogs(namespaceId, stored, audit = null) {
      const logs = { namespace_id: namespaceId, no_logs: stored ? null : true };
      await audited(audit, "set_namespace_logs", logs);
    },
    async limited() {
      const rows = await query<LimitedRow>("limited_namespaces", {});
      const limited: NamespaceUse[] = [];
      for (const row of rows) {
        const { id: namespaceId, name } = row;
        const openRuns = await countOpenRuns(query, namespaceId, row.open_runs_max ?? 0);
        limited.push({
          namespaceId,
          name,
          limits: limitsOf(row),
          storesLogs: !row.no_logs,
          openRuns,
          storageBytes: row.storage_bytes ?? 0,
        });
      }
      return limited;
    },
    countStorage: (everyMs) => countStorage(query, everyMs),
    retained: () => retained(query),
    async forgetRuns(of) {
      const page = await transact({}, (transaction) => forgetRuns(transaction.query, of));
      if (!page.more) await forgetFailureKeys(query, of);
      return page;
    },
    async eraseRun(namespaceId, runId, audit) {
      for (;;) {
        const erased = await transact({}, ({ query: within }) =>
          eraseRun(within, { namespaceId, runId, audit }),
        );
        if (erased.kind !== "more") return erased;
      }
    },
    async forgetKey(namespaceId, key) {
      await query("forget_key", { namespace_id: namespaceId, key });
    },
    async forgetDefinitions({ after, limit, keptMs }) {
      const asked = { after, limit, retention: keptMs };
      const [page] = await query<{ last: number; rows_read: number }>("forget_definitions", asked);
      return page && page.rows_read === limit ? page.last : null;
    },
  } satisfies Namespaces);
}

async function retained(query: Query): ReturnType<Namespaces["retained"]> {
  const rows = await query<{ id: number; retention_ms: number }>("namespaces_with_retention", {});
  return rows.map(({ id: namespaceId, retention_ms: retentionMs }) => {
    return { namespaceId, retentionMs };
  });
}

/** At most so many blocks of each table are read, and all rows of a smaller table. */
const SAMPLED_BLOCKS = 300;

async function countStorage(query: Query, everyMs: number): Promise<void> {
  const tables = await query<{ name: string; blocks: number }>("storage_blocks", {
    every: everyMs,
  });
  if (tables.length === 0) return;
  const percents = tables.map(({ name, blocks }) => [
    name,
    blocks <= SAMPLED_BLOCKS ? 100 : (100 * SAMPLED_BLOCKS) / blocks,
  ]);
  await query("count_storage", Object.fromEntries(percents));
}

/** Counts up to `max`, in pages: a namespace may have millions, and a statement has only 2 s. */
async function countOpenRuns(query: Query, namespaceId: number, max: number): Promise<number> {
  let counted = 0;
  let after = { definition_id: 0, run_id: FIRST_RUN };
  while (counted < max) {
    const limit = Math.min(OPEN_RUNS_PAGE, max - counted);
    const [page] = await query<{ runs: number; definition_id: number; run_id: string }>(
      "count_open_runs_of",
      { namespace_id: namespaceId, ...after, limit },
    );
    if (!page) break;
    counted += page.runs;
    if (page.runs < limit) break;
    after = { definition_id: page.definition_id, run_id: page.run_id };
  }
  return counted;
}

async function forgetRuns(
  query: Query,
  { namespaceId, keptMs, after, limit }: OldRuns,
): Promise<ForgottenPage> {
  const asked = { namespace_id: namespaceId, retention: keptMs, after, limit };
  const page = await query<{ id: string; old: boolean }>("old_runs", asked);
  const ids = page.filter(({ old }) => old).map(({ id }) => id);
  const end = { after: page.at(-1)?.id ?? after, more: page.length === limit };
  if (ids.length === 0) return end;
  const [rows] = await query<{ more: boolean }>("forget_run_rows", {
    run_ids: ids,
    rows_max: ROWS_FORGOTTEN_MAX,
  });
  if (rows?.more) return { after, more: true };
  await query("forget_runs", { run_ids: ids });
  return end;
}

/** Search keys of what failed (failureMarks), in two ranges: keys of labels are between them. */
const FAILURE_KEYS = [
  { after: "error ", below: "error!" },
  { after: "step ", below: "step!" },
];
const FAILURE_KEYS_MAX = 200;
/** So many runs of a key: what is left waits for the next walk. */
const RUNS_OF_KEY_MAX = 500;

async function forgetFailureKeys(query: Query, { namespaceId, keptMs }: OldRuns): Promise<void> {
  const asked = {
    namespace_id: namespaceId,
    retention: keptMs,
    limit: FAILURE_KEYS_MAX,
    rows_max: RUNS_OF_KEY_MAX,
  };
  for (const { after: first, below } of FAILURE_KEYS) {
    let after: string | undefined = first;
    while (after !== undefined) {
      const values: Values = { ...asked, after, below };
      const [page] = await query<{ last: string }>("forget_failure_keys", values);
      after = page?.last;
    }
  }
}

interface ErasedRow {
  workflow: string;
  key: string | null;
  run_state: number;
  ended: boolean;
  parent_id: RunId | null;
  parent_state: number | null;
  child_id: RunId | null;
  child_state: number | null;
}

/** One transaction of it. `more`: rows of the run are left, and the run itself. */
async function eraseRun(
  query: Query,
  of: { readonly namespaceId: number; readonly runId: RunId; readonly audit: Audit },
): Promise<Erased | { readonly kind: "more" }> {
  const { namespaceId, runId, audit } = of;
  const about = { namespace_id: namespaceId, run_id: runId };
  // Lines that an agent sends now are stored before it, or find no run.
  await query("lock_handler_logs", { run_ids: [runId] });
  const [run] = await query<ErasedRow>("lock_run_to_erase", about);
  if (!run) return { kind: "unknown" };
  const open = openOf(runId, run);
  if (open) return open;
  const ids = { run_ids: [runId] };
  const rows_max = ROWS_FORGOTTEN_MAX;
  const [rows] = await query<{ more: boolean }>("forget_run_rows", { ...ids, rows_max });
  if (rows?.more) return { kind: "more" };
  await query("forget_failure_marks", about);
  await query("erase_traces", about);
  await query("forget_runs", ids);
  const { workflow, key } = run;
  await recordAudit(query, audit && withDetails(audit, { workflow }));
  return { kind: "erased", workflow, key };
}

/** What keeps the run from being erased; null: nothing. */
function openOf(runId: RunId, row: ErasedRow): Extract<Erased, { kind: "open" }> | null {
  const open = (relative: "run" | "parent" | "child", id: RunId, state: number | null) =>
    ({ kind: "open", relative, runId: id, state: runStates.name(state ?? 0) }) as const;
  if (!row.ended) return open("run", runId, row.run_state);
  if (row.parent_id !== null) return open("parent", row.parent_id, row.parent_state);
  if (row.child_id !== null) return open("child", row.child_id, row.child_state);
  return null;
}
