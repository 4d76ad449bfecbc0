// Hooks, the outbox and its deliveries on PostgreSQL.
import type { EpochMs } from "../../core/model/attempt.ts";
import { decodePageHead } from "../../core/page/codec.ts";
import { withDetails } from "../audit.ts";
import {
  CAUSE_APART_MS,
  type DeliveryPage,
  type DeliveryRecord,
  type DueDelivery,
  type HookRecord,
  type Outbox,
  type OutboxEscalation,
} from "../outbox.ts";
import { endOfRecord } from "../run-states.ts";
import type { Audited } from "./audit.ts";
import { deliveryStates, escalationReasons, outboxKinds } from "./codes.ts";
import { columns, labelsOf } from "./columns.ts";
import type { Query } from "./transaction.ts";

/** Most outbox rows that one call takes up: the rest is in the next delivery of its cause. */
const FOLD_MAX = 20_000;
const START = { partition: 0, id: 0 };
/** Most due deliveries of a partition among which those of each hook are searched. */
const DUE_MAX = 2_000;

export function createOutbox(query: Query, audited: Audited): Outbox {
  /** Where the walk through the outbox continues: rows that have to wait would be in its way. */
  let folded = START;
  return Object.freeze({
    async putHook({ namespaceId, name, url, events, secret }, audit = null) {
      const [row] = await audited<{ created: boolean }>(
        audit,
        "put_hook",
        {
          namespace_id: namespaceId,
          name,
          url,
          events: events.map(outboxKinds.code),
          secret: secret?.value ?? null,
          secret_digest: secret?.digest ?? null,
        },
        (entry, [put]) => (put ? withDetails(entry, { created: put.created }) : null),
      );
      return row ?? null;
    },
    async hooks(namespaceId) {
      return (await query<HookRow>("list_hooks", { namespace_id: namespaceId })).map(hookOf);
    },
    async deleteHook(namespaceId, name, audit = null) {
      const deleted = await audited(audit, "delete_hook", { namespace_id: namespaceId, name });
      return deleted.length > 0;
    },
    async due(partitions, limit) {
      const inOrder = partitions.toSorted((a, b) => a - b);
      const folding = {
        partitions: inOrder,
        limit: FOLD_MAX,
        apart: CAUSE_APART_MS,
        ...folded,
      };
      const [last] = await query<{ partition: number; id: number }>("fold_outbox", folding);
      folded = last ?? START;
      return (
        await query<DueRow>("due_deliveries", {
          partitions,
          of_hook_max: limit,
          of_partition_max: DUE_MAX,
        })
      ).map(dueOf);
    },
    async settle(tried) {
      await query(
        "settle_deliveries",
        columns(tried, {
          id: (one) => one.id,
          tries: (one) => one.triesBefore,
          state: (one) => deliveryStates.code(one.state),
          error: (one) => one.error,
          next: (one) => (one.state === "pending" ? one.nextTryInMs : null),
        }),
      );
    },
  } satisfies Outbox);
}

export async function listDeliveries(
  query: Query,
  namespaceId: number,
  { states, hook, after, limit }: DeliveryPage,
): Promise<readonly DeliveryRecord[]> {
  const asked = {
    namespace_id: namespaceId,
    states: states.map(deliveryStates.code),
    hook,
    created_at: after?.createdAt ?? null,
    id: after?.id ?? null,
    limit,
  };
  return (await query<DeliveryRow>("list_deliveries", asked)).map(deliveryOf);
}

interface HookRow {
  name: string;
  url: string;
  events: number[];
  secret_digest: string;
  created_at: EpochMs;
  changed_at: EpochMs;
}

function hookOf(row: HookRow): HookRecord {
  return {
    name: row.name,
    url: row.url,
    events: row.events.map(outboxKinds.name),
    secretDigest: row.secret_digest,
    createdAt: row.created_at,
    changedAt: row.changed_at,
  };
}

interface DeliveryRow {
  id: string;
  hook: string;
  url: string | null;
  kind: number;
  count: number;
  run_id: string;
  n: number;
  state: number;
  tries: number;
  error: string | null;
  created_at: EpochMs;
  ended_at: EpochMs | null;
  next_try_at: EpochMs | null;
}

function deliveryOf(row: DeliveryRow): DeliveryRecord {
  return {
    id: row.id,
    hook: row.hook,
    url: row.url,
    kind: outboxKinds.name(row.kind),
    count: row.count,
    runId: row.run_id,
    n: row.n,
    state: deliveryStates.name(row.state),
    tries: row.tries,
    error: row.error,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    nextTryAt: row.next_try_at,
  };
}

interface DueRow extends DeliveryRow {
  now: EpochMs;
  hook_url: string | null;
  secret: string | null;
  namespace: string;
  namespace_id: number;
  definition_id: number;
  workflow: string;
  version: number;
  key: string | null;
  labels: unknown;
  run_created_at: EpochMs;
  /** The first line of the run's first page. */
  head: string;
  step_no: number | null;
  reason: number | null;
  code: string | null;
  message: string | null;
  opened_at: EpochMs | null;
  closed_by: string | null;
  deadline_at: EpochMs | null;
}

function dueOf(row: DueRow): DueDelivery {
  return {
    ...deliveryOf(row),
    now: row.now,
    target:
      row.hook_url === null || row.secret === null
        ? null
        : { url: row.hook_url, secret: row.secret },
    run: {
      namespace: row.namespace,
      namespaceId: row.namespace_id,
      definitionId: row.definition_id,
      workflow: row.workflow,
      version: row.version,
      key: row.key,
      labels: labelsOf(row.labels),
      createdAt: row.run_created_at,
      end: endOfRecord(decodePageHead(row.head)),
    },
    escalation: escalationOf(row),
    approval: row.deadline_at === null ? null : { step: row.n, deadlineAt: row.deadline_at },
  };
}

function escalationOf(row: DueRow): OutboxEscalation | null {
  if (row.step_no === null || row.reason === null || row.opened_at === null) return null;
  return {
    step: row.step_no,
    reason: escalationReasons.name(row.reason),
    code: row.code ?? "",
    message: row.message ?? "",
    openedAt: row.opened_at,
    closedBy: row.closed_by,
  };
}
