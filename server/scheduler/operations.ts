// What operators do to queues, workflows, circuits and agents, and to many runs at once. Each is a
// write of the store with what follows in this process: waiters may claim again from the lanes
// concerned, and what may be handed out is read again. Other servers follow within a second.

import type { EpochMs } from "../core/model/attempt.ts";
import { DroverError } from "../errors.ts";
import type { Audit } from "../store/audit.ts";
import type { CircuitOverride, Circuits, CordonRef, NewCordon } from "../store/circuits.ts";
import type { Pins } from "../store/pins.ts";
import type { Queues } from "../store/queues.ts";
import { runIdTime } from "../store/run-head.ts";
import type { Shards } from "../store/shards.ts";
import type { EngineStore, LaneKey } from "../store/store.ts";
import { newRunId, type PlaceOfKey } from "./run-id.ts";
import { KEY_RETENTION_MS, type ScheduleOptions } from "./schedule.ts";
import { BULK_RUNS_MAX, type BulkRequest, type CircuitCalls, type Scheduler } from "./scheduler.ts";

type QueueControl = Pick<
  Scheduler,
  | "pauseQueue"
  | "resumeQueue"
  | "limitQueue"
  | "pinQueue"
  | "unpinQueue"
  | "pauseWorkflow"
  | "resumeWorkflow"
>;

export interface QueueControlOptions {
  readonly queues: Queues;
  readonly pins: Pins;
  /** These lanes may have tasks for waiters, on this server and on others. */
  readonly wake: (lanes: readonly number[]) => void;
  /** Reads again which lanes agents ask for. */
  readonly refresh: () => Promise<void>;
}

export function createQueueControl(options: QueueControlOptions): QueueControl {
  const { queues, pins, wake, refresh } = options;
  return Object.freeze({
    pauseQueue: queues.pause,
    resumeQueue: async (of, audit) => wake(await queues.resume(of, audit)),
    pauseWorkflow: queues.pauseWorkflow,
    resumeWorkflow: async (of, audit) => wake(await queues.resumeWorkflow(of, audit)),
    async pinQueue(of, agentVersion, audit) {
      const lanes = await pins.pin(of, agentVersion, audit);
      if (lanes === null) return false;
      await refresh();
      wake(lanes);
      return true;
    },
    unpinQueue: async (of, audit) => wake(await pins.unpin(of, audit)),
    limitQueue: async (of, limits, audit) => wake(await queues.setLimits(of, limits, audit)),
  } satisfies QueueControl);
}

interface CircuitControlOptions {
  readonly store: Pick<EngineStore, "lanes">;
  readonly circuits: Circuits;
  /** Reads again what may be handed out. */
  readonly refresh: () => Promise<void>;
}

/**
 * What operators do to circuits and agents. The store keeps it; this server applies it at once,
 * other servers within a second.
 */
export function createCircuitControl({
  store,
  circuits,
  refresh,
}: CircuitControlOptions): Pick<Scheduler, CircuitCalls> {
  return Object.freeze({
    async setCircuit(
      of: LaneKey,
      agentId: string,
      override: CircuitOverride | null,
      audit?: Audit,
    ) {
      const [lane] = await store.lanes([of]);
      if (lane === undefined) throw new Error(`queue ${of.queue} has no lane for ${of.task}`);
      const circuit = await circuits.setOverride({ lane, agentId }, override, audit);
      await refresh();
      return { ...circuit, queue: of.queue, task: of.task, agentVersion: null };
    },
    async cordonAgent(cordon: NewCordon, audit?: Audit) {
      const made = await circuits.cordon(cordon, audit);
      await refresh();
      return made;
    },
    async uncordonAgent(of: CordonRef, audit?: Audit) {
      const was = await circuits.uncordon(of, audit);
      await refresh();
      return was;
    },
  });
}

/**
 * Records an action on many runs under a key, as the start of a run does, so that its first call
 * may be repeated after runs have left the filter. The count is checked once, and the time of the
 * count remains the bound of the runs that belong to the action. What is done to each run is
 * idempotent by itself.
 */
export async function openBulk(
  shards: Shards<Pick<ScheduleOptions, "store" | "random">>,
  placeOfKey: PlaceOfKey,
  { namespace, requestId, digest, counted, expected, refusal, audit }: BulkRequest,
): Promise<{ readonly until: EpochMs; readonly repeated: boolean }> {
  const key = `\u0001bulk ${requestId}`;
  const { store, random } = shards.of(placeOfKey(namespace.id, key));
  // No run has this id. It stores a time that is later than the creation of every run counted.
  const runId = newRunId(counted.now + 1, random);
  const reservation = { namespaceId: namespace.id, key, runId, digest, keepMs: KEY_RETENTION_MS };
  return store.transact({ name: "bulk" }, async (tx) => {
    const [holder] = await tx.reserveKeys([reservation]);
    if (!holder) throw new Error(`the request ${requestId} could not be stored`);
    if (holder.digest !== digest)
      throw new DroverError(
        "KEY_REUSED",
        `request "${requestId}" was used for another action: use a new one`,
        { metadata: { key: requestId } },
      );
    const repeated = holder.runId !== runId;
    if (!repeated) expectCount(counted.count, expected);
    if (!repeated && refusal) throw refusal;
    if (!repeated && audit) await tx.recordAudit([audit]);
    return { until: runIdTime(holder.runId), repeated };
  });
}

/** Throws if the count is refused; the rollback removes the reservation. */
function expectCount(count: number, expected: number | null): void {
  if (expected !== null && expected !== count)
    throw new DroverError(
      "COUNT_MISMATCH",
      `the filter finds ${count} runs, and ${expected} were expected: count again with a dry run`,
      { metadata: { expected: String(expected), found: String(count) } },
    );
  if (count > BULK_RUNS_MAX)
    throw new DroverError(
      "COUNT_MISMATCH",
      `the filter finds more than ${BULK_RUNS_MAX} runs: narrow it, as by the time of creation`,
      { metadata: { expected: String(BULK_RUNS_MAX), found: `${count} or more` } },
    );
}
