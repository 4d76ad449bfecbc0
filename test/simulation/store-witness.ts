// Observes the commits of the store, for facts that the history and the counts of the state table
// need and that no answer contains: passes, grants, reserved keys, answered cancels, owners.

import type { Definition } from "../../server/core/definition/definition.ts";
import { sideOf } from "../../server/core/evolve-step.ts";
import type { EpochMs, TaskKind } from "../../server/core/model/attempt.ts";

import { type Plan, planOf } from "../../server/core/plan/plan.ts";
import type { CircuitChange } from "../../server/store/circuits.ts";
import { occurrenceKey } from "../../server/store/memory/schedules.ts";
import type { ChangedRow } from "../../server/store/memory/transactions.ts";
import type { TakenPartition } from "../../server/store/partition-session.ts";
import type { PassRecord } from "../../server/store/pass-record.ts";
import type { NewSchedule, Occurrence } from "../../server/store/schedules.ts";
import type {
  Grant,
  HeartbeatAnswer,
  KeyHolder,
  KeyReservation,
  SessionHeartbeat,
  Tx,
} from "../../server/store/store.ts";
import type { VirtualTime } from "../../simulator/virtual-time.ts";
import type { Edges } from "./edges.ts";
import type { FinalOccurrence } from "./history-rows.ts";
import type { Recorder } from "./recorder.ts";

export interface StoreWitness {
  readonly definitions: ReadonlyMap<number, Definition>;
  readonly keys: ReadonlyMap<string, KeyHolder>;
  readonly owners: ReadonlyMap<number, { readonly node: string; readonly epoch: number }>;
  readonly schedules: readonly MadeSchedule[];
  readonly occurrences: readonly FinalOccurrence[];
  /** Time that passes outside of every process. */
  after(ms: number, fn: () => void): void;
  /** `shard`: its number. */
  transaction(shard: number): SeenTransaction;
  defined(id: number, definition: Definition): void;
  heartbeatsAnswered(
    heartbeats: readonly SessionHeartbeat[],
    answers: readonly (readonly HeartbeatAnswer[])[],
  ): void;
  /** Returns the other processes that owned them until now. */
  took(process: string, node: string, taken: readonly TakenPartition[]): readonly string[];
  gave(process: string, node: string, partitions: readonly number[]): void;
  /** A fail-over has lost that: it never happened. */
  lost(shard: number, changes: readonly ChangedRow[]): void;
  /** The rules have moved a circuit. */
  circuit(process: string, moved: CircuitChange): void;
}

export interface MadeSchedule extends NewSchedule {
  readonly createdAt: EpochMs;
}

export interface SeenTransaction {
  watch(tx: Tx): Tx;
  /** Only what was committed has happened. */
  committed(): void;
}

export function createStoreWitness(
  time: VirtualTime,
  recorder: Recorder,
  edges: Edges,
): StoreWitness {
  const definitions = new Map<number, Definition>();
  const plans = new Map<number, Plan>();
  const keys = new Map<string, KeyHolder>();
  const owners = new Map<number, { process: string; node: string; epoch: number }>();
  const schedules: MadeSchedule[] = [];
  const occurrences: FinalOccurrence[] = [];
  const taskOf = new Map<string, TaskKind>();
  const cancelled = new Set<string>();

  function transaction(shard: number): SeenTransaction {
    const passes: PassRecord[] = [];
    const grants: Grant[] = [];
    const reserved: KeyHolder[] = [];
    const made: MadeSchedule[] = [];
    const fired: FinalOccurrence[] = [];
    return {
      watch: (tx) => ({
        ...tx,
        reserveKeys: async (wanted: readonly KeyReservation[]) => {
          const holders = await tx.reserveKeys(wanted);
          reserved.push(...holders);
          return holders;
        },
        releaseKeys: async (released: readonly KeyHolder[]) => {
          await tx.releaseKeys(released);
          for (const holder of released)
            reserved.splice(
              reserved.findIndex(({ runId }) => runId === holder.runId),
              1,
            );
        },
        write: async (records: readonly PassRecord[]) => {
          const written = await tx.write(records);
          passes.push(...records);
          return written;
        },
        grant: async (wanted: readonly Grant[]) => {
          const granted = await tx.grant(wanted);
          grants.push(...wanted);
          return granted;
        },
        insertSchedule: async (schedule: NewSchedule) => {
          const isNew = await tx.insertSchedule(schedule);
          if (isNew) made.push({ ...schedule, createdAt: tx.now });
          return isNew;
        },
        writeOccurrences: async (written: readonly Occurrence[]) => {
          await tx.writeOccurrences(written);
          fired.push(
            ...written.map(({ message: _, ...occurrence }) => ({
              ...occurrence,
              handledAt: tx.now,
            })),
          );
        },
      }),
      committed() {
        for (const record of passes) {
          const plan = plans.get(record.head.definitionId);
          if (plan) edges.pass(record, plan);
        }
        for (const { ready, secret } of grants) {
          taskOf.set(secret, ready.task);
          edges.step(sideOf(ready.task), "claim");
        }
        for (const holder of reserved)
          if (holder.mine) keys.set(`${shard} ${holder.namespaceId}/${holder.key}`, holder);
        schedules.push(...made);
        occurrences.push(...fired);
      },
    };
  }

  return Object.freeze({
    definitions,
    keys,
    owners,
    schedules,
    occurrences,
    after: (ms: number, fn: () => void) => void time.after(ms, fn),
    transaction,
    defined(id: number, definition: Definition) {
      if (definitions.has(id)) return;
      definitions.set(id, definition);
      plans.set(id, planOf(definition));
    },
    heartbeatsAnswered(
      heartbeats: readonly SessionHeartbeat[],
      answers: readonly (readonly HeartbeatAnswer[])[],
    ) {
      for (const [session, { reports }] of heartbeats.entries())
        for (const [index, { secret }] of reports.entries()) {
          const task = taskOf.get(secret);
          if (answers[session]?.[index]?.kind !== "cancel" || !task || cancelled.has(secret))
            continue;
          cancelled.add(secret);
          edges.step(sideOf(task), "heartbeat");
        }
    },
    took(process: string, node: string, taken: readonly TakenPartition[]) {
      const before = taken.flatMap(({ partition }) => owners.get(partition)?.process ?? []);
      for (const { partition, epoch } of taken) {
        owners.set(partition, { process, node, epoch });
        recorder.owner(process, { node, partition, epoch, did: "took" });
      }
      return before.filter((other) => other !== process);
    },
    gave(process: string, node: string, partitions: readonly number[]) {
      for (const partition of partitions) {
        const owner = owners.get(partition);
        if (owner?.node !== node) continue;
        owners.delete(partition);
        recorder.owner(process, { node, partition, epoch: owner.epoch, did: "gave" });
      }
    },
    lost(shard: number, changes: readonly ChangedRow[]) {
      const gone = new Set(
        changes.flatMap(({ table, key, isNew }) => (isNew ? [`${table} ${key}`] : [])),
      );
      const isGone = (table: string, key: string): boolean => gone.has(`${table} ${key}`);
      for (const key of [...keys.keys()]) {
        const [of, ...rest] = key.split(" ");
        if (of === String(shard) && isGone("idempotency", rest.join(" "))) keys.delete(key);
      }
      retain(schedules, ({ id }) => !isGone("schedule", id));
      retain(occurrences, (occurrence) => !isGone("occurrence", occurrenceKey(occurrence)));
    },
    circuit(process: string, { lane, agentId, state }: CircuitChange) {
      recorder.circuit(process, { lane, agentId, state: state.kind });
    },
  } satisfies StoreWitness);
}

function retain<One>(all: One[], isRetained: (one: One) => boolean): void {
  all.splice(0, all.length, ...all.filter(isRetained));
}
