// The history of real processes in the form of the checker: what the proxies and the effects
// service have recorded, the owners of partitions as the database has them, and the final rows.

import type { Client } from "pg";
import { pino } from "pino";
import { planOf } from "../../server/core/plan/plan.ts";
import { createPostgresStore } from "../../server/store/postgres/postgres-store.ts";
import type { Store } from "../../server/store/store.ts";
import { type Bounds, boundsFor } from "../simulation/checker/violation.ts";
import { brokenOf, itemsOf } from "../simulation/final-rows.ts";
import type { History, HistoryMeta, HistoryRecord, OwnerRecord } from "../simulation/history.ts";
import { type FinalRows, finalRun } from "../simulation/history-rows.ts";
import type { Database } from "./database.ts";

export interface Recorded {
  readonly meta: HistoryMeta;
  readonly records: readonly HistoryRecord[];
  readonly namespaces: readonly string[];
  readonly drained: boolean;
  readonly at: number;
}

export interface StoredHistory {
  readonly history: History;
  /** Invariants of the core that the rows of a run break. */
  readonly broken: readonly string[];
}

const EVERYTHING = { attempts: true, interventions: true, escalations: true };
const OCCURRENCES_MAX = 1_000;
const quiet = pino({ level: "silent" });

export async function storedHistory(
  database: Database,
  { meta, records, namespaces, drained, at }: Recorded,
): Promise<StoredHistory> {
  const store = createPostgresStore({ connectionString: database.connectionString(), log: quiet });
  try {
    return await database.admin(async (client) => {
      const { runs, definitions, broken } = await runsOf(client, store);
      const owners = await ownersOf(client);
      const final: FinalRows = {
        at,
        drained,
        definitions,
        runs,
        ...(await keysOf(client)),
        ...(await schedulesOf(store, namespaces)),
        triggers: [],
        refusals: [],
        hooks: [],
        deliveries: [],
        owners: await currentOwners(client),
      };
      return { broken, history: { meta, records: merged(records, owners), final } };
    });
  } finally {
    await store.close();
  }
}

async function runsOf(client: Client, store: Store) {
  const { rows } = await client.query<{
    run_id: string;
    namespace: string;
    partition: number;
    definition_id: string;
    wake_at: Date | null;
  }>(
    `select p.run_id, n.name as namespace, p.partition, p.definition_id, p.wake_at
     from drover.run_page as p join drover.namespace as n on n.id = p.namespace_id
     where p.no = 0 order by p.run_id`,
  );
  const definitions: FinalRows["definitions"][number][] = [];
  const runs: FinalRows["runs"][number][] = [];
  const broken: string[] = [];
  for (const row of rows) {
    const { run_id: runId, namespace, partition } = row;
    const id = Number(row.definition_id);
    if (!definitions.some((one) => one.id === id))
      definitions.push({ id, definition: await store.definition(id) });
    const definition = definitions.find((one) => one.id === id)?.definition;
    const detail = await store.reads.runDetail(runId, EVERYTHING);
    if (!definition || !detail) throw new Error(`run ${runId} is listed and cannot be read`);
    const plan = planOf(definition);
    const steps = new Map([...detail.steps, ...(await itemsOf(store, runId, plan))]);
    const wakeAt = row.wake_at?.getTime() ?? null;
    runs.push(finalRun({ ...detail, steps }, { namespace, partition, wakeAt }));
    broken.push(...(await brokenOf(store, { runId, partition }, plan)));
  }
  return { runs, definitions, broken };
}

async function keysOf(client: Client): Promise<Pick<FinalRows, "keys" | "permits">> {
  const keys = await client.query<FinalRows["keys"][number]>(
    `select n.name as namespace, i.key, i.run_id as "runId", encode(i.digest, 'hex') as digest
     from drover.idempotency as i join drover.namespace as n on n.id = i.namespace_id
     where i.key not like E'\\u0001%'`,
  );
  const permits = await client.query<FinalRows["permits"][number]>(
    `select n.name as namespace, p.key, p.run_id as "runId", p.holds
     from drover.permit as p join drover.namespace as n on n.id = p.namespace_id`,
  );
  return { keys: keys.rows, permits: permits.rows };
}

async function schedulesOf(
  store: Store,
  namespaces: readonly string[],
): Promise<Pick<FinalRows, "schedules" | "occurrences">> {
  const found = [];
  for (const name of namespaces) {
    const namespace = await store.namespace(name);
    if (!namespace) throw new Error(`there is no namespace ${name}`);
    const wanted = { workflow: null, after: null, limit: 100 };
    found.push(...(await store.lists.schedules(namespace.id, wanted)));
  }
  const occurrences = await store.schedules.lastOccurrences(
    found.map(({ id }) => id),
    OCCURRENCES_MAX,
  );
  return {
    schedules: found.map(({ id, namespace, name, partition, spec, createdAt, next, pause }) => ({
      id,
      namespace: namespace.name,
      name,
      partition,
      createdAt,
      spec,
      current: { next, pause },
    })),
    occurrences: occurrences
      .map(({ message: _, runState: __, ...occurrence }) => occurrence)
      .sort((a, b) => a.handledAt - b.handledAt),
  };
}

/** The last 20 owners of each partition. */
async function ownersOf(client: Client): Promise<readonly OwnerRecord[]> {
  const { rows } = await client.query<{
    partition: number;
    epoch: string;
    node: string;
    taken_at: Date;
  }>("select partition, epoch, node, taken_at from drover.partition_history order by epoch");
  return rows
    .map(
      ({ partition, epoch, node, taken_at: takenAt }): OwnerRecord => ({
        kind: "owner",
        at: takenAt.getTime(),
        process: node,
        node,
        partition,
        epoch: Number(epoch),
        did: "took",
      }),
    )
    .sort((a, b) => a.at - b.at || a.epoch - b.epoch);
}

async function currentOwners(client: Client): Promise<FinalRows["owners"]> {
  const { rows } = await client.query<{ partition: number; epoch: string; node: string }>(
    "select partition, epoch, node from drover.partition_lease where node is not null",
  );
  return rows.map(({ epoch, ...row }) => ({ ...row, epoch: Number(epoch) }));
}

/** Both are in the order of their times. */
function merged(
  records: readonly HistoryRecord[],
  owners: readonly OwnerRecord[],
): readonly HistoryRecord[] {
  const all: HistoryRecord[] = [];
  let next = 0;
  for (const record of records) {
    for (let owner = owners[next]; owner && owner.at < record.at; owner = owners[next]) {
      all.push(owner);
      next += 1;
    }
    all.push(record);
  }
  return [...all, ...owners.slice(next)];
}

/**
 * How long a transaction may last from its first statement to its commit. A statement may take 2 s,
 * the client waits 4 s for its answer, and a transaction whose process, connection or database is
 * still for a while commits after it: its time is then as old.
 */
const TRANSACTION_MS_MAX = 6_000;

/**
 * As promised, on a machine with a processor for each process that wants one; on a busier one by so
 * much later. And where a fault can hold a transaction open, its time may be old.
 */
export function boundsOf({ records, meta }: History): Bounds {
  const promised = boundsFor("processes");
  const load = Math.max(1, meta.load ?? 1);
  const bounds: Bounds = {
    ...promised,
    detectMs: promised.detectMs * load,
    killedMs: promised.killedMs * load,
    frozenMs: promised.frozenMs * load,
    besideMs: promised.besideMs * load,
    meetMs: promised.meetMs * load,
    networkMs: promised.networkMs * load,
  };
  const isHeld = records.some(
    (record) =>
      record.kind === "fault" &&
      (record.fault.kind === "store" ||
        (record.server && record.fault.kind !== "process") ||
        (record.server && record.fault.kind === "process" && record.fault.did === "pause")),
  );
  return isHeld ? { ...bounds, transactionMs: TRANSACTION_MS_MAX } : bounds;
}
