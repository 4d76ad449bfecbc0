// Hooks, the outbox and its deliveries in memory, as the .sql statements of the same names do.
import type { EpochMs } from "../../core/model/attempt.ts";
import {
  CAUSE_APART_MS,
  type DeliveryRecord,
  type DueDelivery,
  type NewHook,
  type Outbox,
  type OutboxApproval,
  type OutboxEscalation,
  type OutboxKind,
  type OutboxRun,
} from "../outbox.ts";
import { PARTITIONS_PER_REGION, shardOf } from "../partition.ts";
import { endOfRecord } from "../run-states.ts";
import type { RunId } from "../store.ts";
import { type DeliveryRow, groupOf, type OutboxRow } from "./outbox-tables.ts";
import type { SharedChanges } from "./shared-changes.ts";
import { type RunRow, runStateOf, type Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

interface OutboxWorld {
  readonly tables: Tables;
  readonly now: () => EpochMs;
  readonly namespaceName: (id: number) => string;
}

export function createOutbox(
  world: OutboxWorld,
  { run }: Pick<Transactions, "run">,
  shared: SharedChanges,
): Outbox {
  const { tables } = world;
  return Object.freeze({
    putHook: (hook) => shared.run(() => putHook(world, hook)),
    hooks: (namespaceId) =>
      run(() =>
        tables.hook
          .where("namespace", namespaceId)
          .sort((a, b) => (a.name < b.name ? -1 : 1))
          .map(({ namespaceId: _, secret: __, ...hook }) => hook),
      ),
    deleteHook: (namespaceId, name) =>
      shared.run(() => {
        const found = tables.hook.get(hookKey(namespaceId, name));
        if (found) tables.hook.removeRow(found);
        return found !== undefined;
      }),
    due: (partitions, limit) =>
      run(() => {
        fold(world, partitions);
        return due(world, partitions, limit);
      }),
    settle: (tried) =>
      run(() => {
        for (const { id, triesBefore, state, error, nextTryInMs } of tried) {
          const row = tables.delivery.get(id);
          if (row?.tries !== triesBefore || row.state !== "pending") continue;
          const pending = state === "pending";
          const endedAt = pending ? null : world.now();
          const nextTryAt = pending ? world.now() + nextTryInMs : null;
          const tries = row.tries + 1;
          tables.delivery.put({ ...row, state, tries, error, endedAt, nextTryAt });
        }
      }),
  } satisfies Outbox);
}

function hookKey(namespaceId: number, name: string): string {
  return `${namespaceId}/${name}`;
}

function putHook({ tables, now }: OutboxWorld, { secret, ...hook }: NewHook) {
  const known = tables.hook.get(hookKey(hook.namespaceId, hook.name));
  const secretToSign = secret ?? (known && { value: known.secret, digest: known.secretDigest });
  if (!secretToSign) return null;
  const times = { createdAt: known?.createdAt ?? now(), changedAt: now() };
  tables.hook.put({
    ...hook,
    secret: secretToSign.value,
    secretDigest: secretToSign.digest,
    ...times,
  });
  return { created: known === undefined };
}

export function publishEscalation(
  tables: Tables,
  kind: Exclude<OutboxKind, "run-ended" | "approval-requested">,
  runId: RunId,
  n: number,
): void {
  const { step, reason, code } = tables.escalation.expect(`${runId}/${n}`);
  publish(tables, { kind, runId, n, deadlineAt: null }, [step, reason, code]);
}

export function publishApproval(
  tables: Tables,
  runId: RunId,
  { step, deadlineAt }: OutboxApproval,
): void {
  publish(tables, { kind: "approval-requested", runId, n: step, deadlineAt }, [step]);
}

/**
 * Writes a row for each hook that subscribes to the event. Rows of one hook and cause are in one
 * partition.
 */
function publish(
  tables: Tables,
  event: Pick<OutboxRow, "kind" | "runId" | "n" | "deadlineAt">,
  about: readonly (string | number)[],
): void {
  const { namespaceId, workflow, partition } = tables.run.expect(event.runId);
  const cause = [workflow, ...about].join("/");
  for (const { name: hook, events } of tables.hook.where("namespace", namespaceId)) {
    if (!events.includes(event.kind)) continue;
    const at = placeOfCause(tables, partition, `${hook}/${cause}`);
    const row = { ...event, partition: at, namespaceId, hook, url: null, cause };
    tables.outbox.insert({ ...row, id: tables.outbox.next() });
  }
}

/** A partition of this shard, whose owner finds the row. */
function placeOfCause({ shard }: Tables, partition: number, cause: string): number {
  const at = partition - (partition % PARTITIONS_PER_REGION) + (hashOf(cause) & 255);
  return at - shardOf(at, shard.count) + shard.number;
}

/** Writes a row for each hook that subscribes to ends, and for the one that Schedule named. */
export function publishEnd(
  tables: Tables,
  { runId, namespaceId, partition, notify }: RunRow,
): void {
  for (const { name: hook, events } of tables.hook.where("namespace", namespaceId)) {
    const named = notify?.hook === hook;
    if (!named && !events.includes("run-ended")) continue;
    const url = named ? notify.url : null;
    const row = { partition, namespaceId, kind: "run-ended" as const, runId, n: 0, hook, url };
    const id = tables.outbox.next();
    tables.outbox.insert({ ...row, cause: runId, deadlineAt: null, id });
  }
}

/** FNV-1a: any hash that spreads well will do. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return hash;
}

function fold({ tables, now }: OutboxWorld, partitions: readonly number[]): void {
  const rows = partitions.flatMap((partition) => tables.outbox.where("partition", partition));
  const groups = Map.groupBy(rows, (row) => JSON.stringify([groupOf(row), row.url]));
  for (const group of groups.values()) {
    const [first] = group.sort((a, b) => a.id - b.id);
    if (!first || isDelivered(tables, first, now())) continue;
    for (const row of group) tables.outbox.removeRow(row);
    const { id: _, ...about } = first;
    const no = tables.delivery.next();
    const text = String(no).padStart(12, "0");
    const shard = String(tables.shard.number).padStart(8, "0");
    tables.delivery.insert({
      ...about,
      // No two shards give out the same.
      id: `${shard}-0000-4000-8000-${text}`,
      no,
      count: group.length,
      state: "pending",
      tries: 0,
      error: null,
      createdAt: now(),
      endedAt: null,
      nextTryAt: now(),
    });
  }
}

function isDelivered(tables: Tables, row: OutboxRow, now: EpochMs): boolean {
  return tables.delivery
    .where("group", groupOf(row))
    .some((one) => one.createdAt > now - CAUSE_APART_MS);
}

function due(
  world: OutboxWorld,
  partitions: readonly number[],
  limit: number,
): readonly DueDelivery[] {
  const { tables, now } = world;
  const ofHook = new Map<string, number>();
  return partitions
    .flatMap((partition) => tables.delivery.where("partition", partition))
    .flatMap((row) => (row.nextTryAt === null ? [] : [{ row, at: row.nextTryAt }]))
    .filter(({ at }) => at <= now())
    .sort((a, b) => a.at - b.at || a.row.no - b.row.no)
    .flatMap(({ row }) => {
      const key = hookKey(row.namespaceId, row.hook);
      const place = (ofHook.get(key) ?? 0) + 1;
      ofHook.set(key, place);
      return place > limit ? [] : [dueOf(world, row)];
    });
}

function dueOf({ tables, now, namespaceName }: OutboxWorld, row: DeliveryRow): DueDelivery {
  const hook = tables.hook.get(hookKey(row.namespaceId, row.hook));
  return {
    ...recordOf(row),
    now: now(),
    target: hook ? { url: hook.url, secret: hook.secret } : null,
    run: outboxRun(tables, row.runId, namespaceName(row.namespaceId)),
    ...aboutOf(tables, row),
  };
}

function aboutOf(tables: Tables, row: DeliveryRow): Pick<DueDelivery, "escalation" | "approval"> {
  const { kind, n, deadlineAt } = row;
  if (deadlineAt !== null) return { escalation: null, approval: { step: n, deadlineAt } };
  return {
    escalation: kind === "run-ended" ? null : outboxEscalation(tables, row),
    approval: null,
  };
}

function outboxRun(tables: Tables, runId: RunId, namespace: string): OutboxRun {
  const { namespaceId, definitionId, workflow, version, key, labels, createdAt } =
    tables.run.expect(runId);
  const of = { namespace, namespaceId, definitionId, workflow, version, key, labels, createdAt };
  return { ...of, end: endOfRecord(runStateOf(tables, runId)) };
}

function outboxEscalation(tables: Tables, { runId, n }: DeliveryRow): OutboxEscalation {
  const row = tables.escalation.expect(`${runId}/${n}`);
  const { step, reason, code, message, openedAt, closedBy } = row;
  return { step, reason, code, message, openedAt, closedBy };
}

export function recordOf({
  no: _,
  partition: __,
  namespaceId: ___,
  cause: ____,
  deadlineAt: _____,
  ...record
}: DeliveryRow): DeliveryRecord {
  return record;
}
