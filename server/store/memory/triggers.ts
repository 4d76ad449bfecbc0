// Triggers, the ended runs that they wait for, and refusals, in memory, as the .sql statements of
// the same names do.
import type { EpochMs } from "../../core/model/attempt.ts";
import { type End, isEnded } from "../../core/model/model.ts";
import type { Namespace, NewRun, RunId } from "../store.ts";
import {
  END_AGAIN_MS,
  type EndedFor,
  type KnownTrigger,
  type NewTrigger,
  REFUSALS_MAX,
  type Refused,
  type Triggers,
} from "../triggers.ts";
import type { SharedChanges } from "./shared-changes.ts";
import { expectRunHere, pageOf, type RunRow, runStateOf, type Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";
import { refusalKey, type TriggerEndRow, type TriggeredRow, triggerKey } from "./trigger-tables.ts";

interface TriggerWorld {
  readonly tables: Tables;
  readonly now: () => EpochMs;
  readonly namespaceOf: (id: number) => Namespace;
}

export function createTriggers(
  world: TriggerWorld,
  { run }: Pick<Transactions, "run">,
  shared: SharedChanges,
): Triggers {
  const { tables, now } = world;
  return Object.freeze({
    put: (trigger) => shared.run(() => putTrigger(world, trigger)),
    find: (namespaceId, name) =>
      run(() => {
        const row = tables.trigger.get(triggerKey(namespaceId, name));
        if (!row) return null;
        const { namespaceId: _, ...known } = row;
        return known;
      }),
    async delete(namespaceId, name) {
      const key = triggerKey(namespaceId, name);
      const { changed } = await shared.runEverywhere(
        () => {
          const found = tables.trigger.get(key);
          if (found) tables.trigger.removeRow(found);
          return found !== undefined;
        },
        ({ tables: { refusal } }) => {
          for (const row of refusal.where("trigger", key)) refusal.removeRow(row);
        },
      );
      return changed;
    },
    refuse: (refused) =>
      run(() => {
        for (const one of refused) refuse(world, one);
      }),
    ended: (partitions, limit) =>
      run(() =>
        partitions
          .flatMap((partition) => tables.triggerEnd.where("partition", partition))
          .filter(({ nextAt }) => nextAt <= now())
          .sort((a, b) => a.nextAt - b.nextAt)
          .slice(0, limit)
          .map((row) => endedFor(world, row)),
      ),
    settle: (settled) =>
      run(() => {
        for (const { id, again, began } of settled) {
          if (began !== null) expectRunHere(tables, began);
          const row = tables.triggerEnd.get(id);
          if (!row || (began !== null && !tables.run.get(began))) continue;
          if (again) tables.triggerEnd.put({ ...row, nextAt: now() + END_AGAIN_MS });
          else tables.triggerEnd.removeRow(row);
        }
      }),
  } satisfies Triggers);
}

function putTrigger(
  { tables, now }: TriggerWorld,
  { namespaceId, definition, secret: given }: NewTrigger,
) {
  const before = tables.trigger.get(triggerKey(namespaceId, definition.name));
  const auth = authOf(definition);
  const secret = secretOf(auth, given, before);
  if (!secret) return null;
  const createdAt = before?.createdAt ?? now();
  tables.trigger.put({ namespaceId, definition, ...secret, createdAt, changedAt: now() });
  return { created: before === undefined };
}

function authOf({ source }: NewTrigger["definition"]): "hmac" | "bearer" | null {
  return source.kind === "http" ? source.auth.kind : null;
}

function secretOf(
  auth: "hmac" | "bearer" | null,
  given: NewTrigger["secret"],
  before: KnownTrigger | undefined,
): Pick<KnownTrigger, "secret" | "secretDigest"> | null {
  if (auth === null) return { secret: null, secretDigest: null };
  if (given) return { secret: auth === "hmac" ? given.value : null, secretDigest: given.digest };
  if (!before || authOf(before.definition) !== auth) return null;
  return { secret: before.secret, secretDigest: before.secretDigest };
}

function refuse({ tables, now }: TriggerWorld, refused: Refused): void {
  const of = triggerKey(refused.namespaceId, refused.trigger);
  if (!tables.trigger.get(of)) return;
  const before = tables.refusal.get(refusalKey(refused));
  const count = refused.count + (before?.count ?? 0);
  const firstAt = before?.firstAt ?? now();
  const no = tables.refusal.next();
  tables.refusal.put({ ...refused, count, firstAt, lastAt: now(), no });
  const kept = tables.refusal.where("trigger", of).sort((a, b) => b.no - a.no);
  for (const row of kept.slice(REFUSALS_MAX)) tables.refusal.removeRow(row);
}

/** Writes a row for each trigger that waits for the end of a run of this workflow. */
export function setOff(
  tables: Tables,
  now: EpochMs,
  { runId, namespaceId, partition, workflow }: RunRow,
  { kind }: End,
): void {
  for (const { definition } of tables.trigger.where("namespace", namespaceId)) {
    const { name: trigger, source } = definition;
    if (source.kind !== "run-end" || source.workflow !== workflow) continue;
    if (source.states.length > 0 && !source.states.includes(kind)) continue;
    const id = String(tables.triggerEnd.next());
    tables.triggerEnd.insert({ id, partition, namespaceId, trigger, runId, nextAt: now });
  }
}

export function insertTriggered(tables: Tables, { runId, triggered }: NewRun): void {
  if (triggered) tables.triggered.insert({ runId, ...triggered });
}

/** Deletes rows of runs that ended by then, unless an end that old waits in their partition. */
export function forgetTriggered(
  tables: Tables,
  by: EpochMs,
  rowsMax: number,
): readonly TriggeredRow[] {
  const waiting = tables.triggerEnd.all().map(({ partition, runId }) => ({
    partition,
    at: pageOf(tables, runId, 0)?.head?.endedAt ?? 0,
  }));
  const old = tables.triggered.all().filter(({ runId }) => {
    const run = tables.run.get(runId);
    if (!run) return true;
    const { endedAt } = runStateOf(tables, runId);
    if (endedAt === null || endedAt > by) return false;
    return !waiting.some((one) => one.partition === run.partition && one.at <= endedAt);
  });
  for (const row of old.slice(0, rowsMax)) tables.triggered.removeRow(row);
  return old;
}

function endedFor({ tables, namespaceOf }: TriggerWorld, row: TriggerEndRow): EndedFor {
  const { id, trigger, namespaceId, runId } = row;
  const { definitionId } = tables.run.expect(runId);
  const end = runStateOf(tables, runId).run.state;
  if (!isEnded(end)) throw new Error(`run ${runId} has set off ${trigger}, and has not ended`);
  const { kind: state, reason } = end;
  const known = tables.trigger.get(triggerKey(namespaceId, trigger));
  return {
    id,
    trigger,
    definition: known?.definition ?? null,
    runId,
    definitionId,
    state,
    reason,
    namespace: namespaceOf(namespaceId),
    depth: depthOf(tables, runId),
  };
}

function depthOf(tables: Tables, runId: RunId): number {
  const own = tables.triggered.get(runId)?.depth ?? 0;
  const { parent } = tables.run.expect(runId);
  return parent ? Math.max(own, depthOf(tables, parent.runId)) : own;
}
