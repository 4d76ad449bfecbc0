// The state store on PostgreSQL 15 to 18. Hot statements are SQL in sql/, prepared by name; lists
// are composed in reads.ts. Two pools: flights and beats, and reads.
import { createHash } from "node:crypto";
import type pg from "pg";
import type { Logger } from "pino";
import { type Clock, systemClock } from "../../clock.ts";
import type { Definition } from "../../core/definition.ts";
import { DroverError } from "../../errors.ts";
import { definitionFromText, definitionText } from "../definition-text.ts";
import { DELIVERY_KEPT_MS } from "../outbox.ts";
import type {
  BeatAnswer,
  DueKind,
  DueLook,
  LaneKey,
  Pulse,
  RunRef,
  SessionBeat,
  Store,
} from "../store.ts";
import { cancels, dueKinds } from "./codes.ts";
import { columns, payloadColumns } from "./columns.ts";
import { loadFacts, taskFacts } from "./facts.ts";
import { storeFailure } from "./failure.ts";
import { inboxOf } from "./inbox.ts";
import { namespaceReads, namespacesOf } from "./namespaces.ts";
import { createOutbox } from "./outbox.ts";
import { createPartitions } from "./partitions.ts";
import { claimEscalation } from "./people.ts";
import { createPool } from "./pool.ts";
import { createQueues } from "./queues.ts";
import { createReads } from "./reads.ts";
import { createTransact, type Query, queryOn } from "./transaction.ts";
import { createTx } from "./tx.ts";

const HOT_CONNECTIONS = 10;
const READ_CONNECTIONS = 4;

export interface PostgresStoreOptions {
  readonly connectionString: string;
  /** Leads to PostgreSQL itself where the other leads to a transaction pooler. */
  readonly directConnectionString?: string;
  readonly log: Logger;
  readonly clock?: Clock;
}

export function createPostgresStore(options: PostgresStoreOptions): Store {
  const { connectionString, log, clock = systemClock } = options;
  const { directConnectionString = connectionString } = options;
  const hot = createPool(connectionString, "hot", HOT_CONNECTIONS, log);
  const lists = createPool(connectionString, "reads", READ_CONNECTIONS, log);
  const transact = createTransact(hot, clock);
  const query = guarded(queryOn(hot));

  return Object.freeze({
    reads: Object.freeze({ ...createReads(lists), ...namespaceReads(query) }),
    partitions: createPartitions(directConnectionString, hot, clock),
    outbox: createOutbox(query),
    queues: createQueues(query, clock),
    transact: (use, work) => transact(use, (begun) => work(createTx(begun))),

    ...namespacesOf(query, transact),
    internDefinition: (namespaceId, definition) => internDefinition(query, namespaceId, definition),
    definition: (id) => readDefinition(query, id),
    registerWorkflow: (workflow) =>
      transact({}, (begun) => registerWorkflow(begun.query, workflow)),
    async setDefaultVersion(namespaceId, name, version) {
      const asked = [namespaceId, name, version];
      const [row] = await query<{ previous_version: number }>("set_default_version", asked);
      return row?.previous_version ?? null;
    },
    async workflowVersion(namespaceId, name, version) {
      const [row] = await query<{
        definition_id: number;
        version: number;
        created_at: number;
      }>("find_version", [namespaceId, name, version]);
      if (!row) return null;
      const { definition_id: definitionId, created_at: createdAt } = row;
      return { definitionId, version: row.version, createdAt };
    },
    lanes: (keys) => internLanes(query, keys),
    async lanesOfQueues(namespaceId, queues) {
      const rows = await query<{ id: number; queue: string; task: string }>("lanes_of_queues", [
        namespaceId,
        queues,
      ]);
      return rows.map((row) => ({ lane: row.id, queue: row.queue, task: row.task }));
    },
    claimEscalation: (claim) => claimEscalation(query, "claim_escalation", claim),
    releaseEscalation: (claim) => claimEscalation(query, "release_escalation", claim),
    taskFacts: (tasks) => taskFacts(query, tasks),
    facts: (wanted) => loadFacts(query, wanted),
    beat: (beats) => beat(query, beats),
    async undelivered(session, polls) {
      const rows = await query<{
        run_id: string;
        partition: number;
        step_no: number;
        fence: number;
        secret: string;
      }>("undelivered_leases", [session, polls]);
      return rows.map((row) => ({
        runId: row.run_id,
        partition: row.partition,
        step: row.step_no,
        fence: row.fence,
        secret: row.secret,
      }));
    },
    async markPolled(node, lanes) {
      if (lanes.length > 0) await query("mark_polled", [node, lanes]);
    },
    async forgetOld(rowsMax) {
      // Whoever resumed a workflow may have died before all of its ready rows were back.
      await query("release_ready", [rowsMax]);
      await query("forget_sessions", [rowsMax]);
      await query("forget_lane_pollers", [rowsMax]);
      await query("forget_writers", []);
      await query("forget_keys", [rowsMax]);
      await query("forget_refused", [rowsMax]);
      await query("forget_deliveries", [rowsMax, DELIVERY_KEPT_MS]);
    },
    ...inboxOf(query),
    pulse: (lanes, runs) => pulse(query, lanes, runs),
    dueRows: (partitions, limit) => dueRows(query, partitions, limit),
    async ready() {
      await query("find_namespace", ["default"]);
    },
    async close() {
      await Promise.all([hot.end(), lists.end()]);
    },
  } satisfies Store);
}

/** Errors of the connection become STORE_UNAVAILABLE. */
function guarded(query: Query): Query {
  return async <Row extends pg.QueryResultRow>(name: string, values: readonly unknown[]) => {
    try {
      return await query<Row>(name, values);
    } catch (error) {
      throw storeFailure(error);
    }
  };
}

async function internDefinition(
  query: Query,
  namespaceId: number,
  definition: Definition,
): Promise<number> {
  const body = definitionText(definition);
  const digest = createHash("sha256").update(body).digest("hex");
  const find = () => query<{ id: number }>("find_definition", [namespaceId, digest]);
  const [known] = await find();
  if (known) return known.id;
  await query("intern_definition", [namespaceId, digest, body]);
  const [made] = await find();
  if (!made) throw new Error("a definition was stored and is not there");
  return made.id;
}

async function readDefinition(query: Query, id: number): Promise<Definition> {
  const [row] = await query<{ body: string }>("get_definition", [id]);
  if (!row) throw new DroverError("INTERNAL", `definition ${id} is not stored`);
  return definitionFromText(row.body);
}

async function registerWorkflow(
  query: Query,
  workflow: Parameters<Store["registerWorkflow"]>[0],
): Promise<{ version: number; created: boolean }> {
  const { namespaceId, name, definitionId, keepDefault } = workflow;
  const [row] = await query<{ default_version: number; latest_version: number }>("lock_workflow", [
    namespaceId,
    name,
  ]);
  const latest = row?.latest_version ?? 0;
  const [known] = await query<{ version: number }>("find_version_of", [
    namespaceId,
    name,
    definitionId,
  ]);
  const version = known?.version ?? latest + 1;
  if (!known) await query("insert_version", [namespaceId, name, version, definitionId]);
  const before = row?.default_version ?? 0;
  const isDefault = before === 0 || (!known && !keepDefault);
  await query("set_versions", [
    namespaceId,
    name,
    Math.max(latest, version),
    isDefault ? version : before,
  ]);
  return { version, created: !known };
}

async function internLanes(query: Query, keys: readonly LaneKey[]): Promise<readonly number[]> {
  const values = columns(
    keys,
    (key) => key.namespaceId,
    (key) => key.queue,
    (key) => key.task,
  );
  const find = () => query<{ id: number }>("find_lanes", values);
  const known = await find();
  if (known.length === keys.length) return known.map((row) => row.id);
  await query("intern_lanes", values);
  return (await find()).map((row) => row.id);
}

interface BeatRow {
  place: number;
  heartbeat_ms: number;
  busy: boolean;
  cancel: number;
  cancel_left_ms: number | null;
}

async function beat(
  query: Query,
  beats: readonly SessionBeat[],
): Promise<readonly (readonly BeatAnswer[])[]> {
  const sessions = [...new Map(beats.map((one) => [one.session, one])).values()];
  await query(
    "beat_sessions",
    columns(
      sessions,
      (one) => one.session,
      (one) => one.namespaceId,
      (one) => one.agentId,
      (one) => one.agentVersion,
    ),
  );
  const reports = beats.flatMap(({ session, reports: of }) =>
    of.map((report) => ({ ...report, session, payload: payloadColumns(report.details) })),
  );
  const rows =
    reports.length === 0
      ? []
      : await query<BeatRow>(
          "beat_leases",
          columns(
            reports,
            (report) => report.runId,
            (report) => report.step,
            (report) => report.fence,
            (report) => report.secret,
            (report) => report.session,
            (report) => report.progress,
            (report) => report.payload.type,
            (report) => report.payload.json,
            (report) => report.payload.data,
          ),
        );
  const byPlace = new Map(rows.map((row) => [row.place, row]));
  let place = 0;
  return beats.map(({ reports: of }) =>
    of.map(() => {
      place += 1;
      return beatAnswer(byPlace.get(place));
    }),
  );
}

function beatAnswer(row: BeatRow | undefined): BeatAnswer {
  if (!row) return { kind: "lease-lost" };
  if (row.busy) return { kind: "busy" };
  if (cancels.name(row.cancel) === "none") return { kind: "carry-on", leaseMs: row.heartbeat_ms };
  return { kind: "cancel", withinMs: row.cancel_left_ms ?? 0 };
}

async function pulse(
  query: Query,
  lanes: readonly number[],
  runs: readonly RunRef[],
): Promise<Pulse> {
  const rows = await query<{
    kind: number;
    lane: number | null;
    run_id: string | null;
    version: number | null;
  }>("pulse", [
    lanes,
    ...columns(
      runs,
      (run) => run.partition,
      (run) => run.runId,
    ),
  ]);
  return {
    lanes: rows.flatMap((row) => (row.lane === null ? [] : [row.lane])),
    runs: rows.flatMap((row) =>
      row.run_id === null ? [] : [{ runId: row.run_id, version: row.version ?? 0 }],
    ),
  };
}

async function dueRows(
  query: Query,
  partitions: readonly number[],
  limit: number,
): Promise<DueLook> {
  // First what is still to come: a moment between the two statements is then seen twice, and never
  // missed.
  const [next] = await query<{ now: number; next_at: number | null }>("next_moment", [partitions]);
  const due = await query<{
    kind: number;
    due_kind: number | null;
    run_id: string;
    partition: number;
    step_no: number;
    fence: number;
    wake_at: number;
    polled: boolean;
  }>("due_rows", [partitions, limit]);
  return {
    now: next?.now ?? 0,
    nextAt: next?.next_at ?? null,
    due: due.map((row) => ({
      kind: dueKindOf(row),
      runId: row.run_id,
      partition: row.partition,
      step: row.step_no,
      fence: row.fence,
      wakeAt: row.wake_at,
      polled: row.polled,
    })),
  };
}

/** Tables in the order of `due_rows`; a row of `due` itself says what it is for. */
function dueKindOf(row: { readonly kind: number; readonly due_kind: number | null }): DueKind {
  if (row.due_kind === null) return TABLES_DUE[row.kind] ?? "run";
  const name = dueKinds.name(row.due_kind);
  switch (name) {
    case "timer":
    case "signal":
    case "approval":
    case "callback":
    case "items":
    case "child":
    case "child-end":
      return name;
    default:
      return "backoff";
  }
}

const TABLES_DUE: readonly DueKind[] = [
  "lease",
  "ready",
  "backoff",
  "run",
  "message",
  "escalation",
];
