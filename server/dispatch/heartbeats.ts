// Heartbeats of many agents are batched into one statement. The calls are answered after it, so an
// answered heartbeat is durable, and a request to cancel reaches an agent through any server. A
// task that has something to be written, and whose page another transaction holds, is in the next
// batch again before its call is answered.
//
// The number of reports bounds a batch, since they determine how long its statement takes: when all
// agents send heartbeats together after an outage, each statement stays far below its limit of 2 s.
// Two batches are in flight at a time, never with the same session, so that no heartbeat waits for
// all others. They lock the rows of sessions in one order, and pages without waiting.

import { createBatcher, type ItemResult, type OnFlushed } from "../batching/batcher.ts";
import type { Clock } from "../clock.ts";
import { DroverError } from "../errors.ts";
import type {
  EngineStore,
  HeartbeatAnswer,
  SessionHeartbeat,
  SessionLease,
} from "../store/store.ts";
import type { HeartbeatResult } from "./dispatcher.ts";

/**
 * A single heartbeat is flushed at once. Among thousands, one is answered at most this much later.
 */
const SPACING_MS = 250;
const FULL_AT = 500;
const HEARTBEATS_MAX = 1_000;
/** Most reports of one batch: a tenth of what the statement can do within its time limit. */
const REPORTS_MAX = 20_000;
const IN_FLIGHT_MAX = 2;
const WAITING_MAX = 20_000;
/** Batches in which a lease may be found busy before the call is answered UNAVAILABLE. */
const BUSY_MAX = 4;

export interface Heartbeats {
  submit(heartbeat: SessionHeartbeat): Promise<readonly HeartbeatResult[]>;
  idle(): Promise<void>;
}

interface HeartbeatsOptions {
  readonly store: Pick<EngineStore, "heartbeat">;
  readonly clock: Clock;
  readonly isRetryable: (error: unknown) => boolean;
  /** Called for each lease that its session no longer holds. */
  readonly onForgotten: (lease: SessionLease) => void;
  readonly onFlushed?: OnFlushed | undefined;
}

export function createHeartbeats({
  store,
  clock,
  isRetryable,
  onForgotten,
  onFlushed = () => undefined,
}: HeartbeatsOptions): Heartbeats {
  type Answers = readonly HeartbeatAnswer[];
  const batcher = createBatcher<SessionHeartbeat, Answers>({
    name: "heartbeat",
    clock,
    bucket: { everyMs: SPACING_MS, capacity: 1 },
    fullAt: FULL_AT,
    itemsMax: HEARTBEATS_MAX,
    sizeMax: REPORTS_MAX,
    sizeOf: ({ reports }) => reports.length,
    keyOf: ({ session }) => session,
    inFlightMax: IN_FLIGHT_MAX,
    waitingMax: WAITING_MAX,
    isRetryable,
    onFlushed,
    async flush(heartbeats) {
      const { answers, forgotten, foreign } = await store.heartbeat(heartbeats);
      forgotten.forEach(onForgotten);
      return heartbeats.map(
        (heartbeat, position): ItemResult<Answers> =>
          foreign.has(heartbeat)
            ? { kind: "failed", error: ofAnotherNamespace() }
            : { kind: "done", result: answers[position] ?? [] },
      );
    },
  });

  return Object.freeze({
    async submit(heartbeat: SessionHeartbeat): Promise<readonly HeartbeatResult[]> {
      const results: (HeartbeatResult | null)[] = heartbeat.reports.map(() => null);
      let open = heartbeat.reports.map((report, position) => ({ report, position }));
      for (let tries = 0; tries < BUSY_MAX; tries++) {
        const reports = open.map(({ report }) => report);
        // A repetition has only a part of the reports, so it does not claim to list all leases.
        const answers = await batcher.submit(
          tries === 0 ? heartbeat : { ...heartbeat, reports, listsAllTo: 0 },
        );
        for (const [index, { position }] of open.entries()) {
          const answer = answers[index];
          if (answer && answer.kind !== "busy") results[position] = answer;
        }
        open = open.filter(({ position }) => results[position] === null);
        if (open.length === 0) return results.filter((result) => result !== null);
      }
      throw new DroverError(
        "STORE_UNAVAILABLE",
        "the leases of this heartbeat are held by another transaction: send it again",
        { retryAfterMs: 500 },
      );
    },
    idle: () => batcher.idle(),
  });
}

function ofAnotherNamespace(): DroverError {
  const message =
    "belongs to another namespace: a process that works for two namespaces has a session for each";
  return new DroverError("INVALID_REQUEST", `agent.session ${message}.`, {
    fields: [{ path: "agent.session", message }],
  });
}
