// Claims turn ready rows into leases of waiting agents. One statement queries all lanes that
// waiters ask for; no statement is sent for a single poll. A claim runs in a transaction of its own
// when a poll parks or a lane is announced, and in the transaction of each batch that has made
// tasks ready ("hand-over"). Namespaces share a claim evenly (fair-shares.ts); a lane that was cut
// off is scanned again at once. A queue that has reached its rate is scanned when the rate allows
// more; a queue whose tasks are all with agents, when one of them ends.
//
// A scan runs at once while the bucket has a token; at saturation scans are 5 ms apart. A claim
// reserves the polls that it queries for. Polls without a match are free again at once, the others
// when the transaction has committed.
//
// A task that was claimed for an agent that has gone is given back at once, and is not counted as
// an attempt. A task that cannot be built ends alone, and a person is asked.

import { FLUSH_BUCKET } from "../batcher.ts";
import type { Clock, Random, Timer } from "../clock.ts";
import { payloadBytes } from "../core/model/payload.ts";
import { DroverError } from "../errors.ts";
import type { BatchNo, Claim, HandOver, LanesToServe } from "../scheduler/advance.ts";
import type { Plans } from "../store/plans.ts";
import type { EngineStore, Grant, Granted, Tx } from "../store/store.ts";
import { createTokenBucket } from "../token-bucket.ts";
import type { Admission, AdmittedWaiter } from "./admission.ts";
import { assign, type FullQueue, LANE_ROWS_MAX } from "./assign.ts";
import type { HandedTask } from "./dispatcher.ts";
import { handedTasks, type TaskTrace, UNTRACED, type Won } from "./handed-task.ts";
import { createKnownRuns } from "./known-runs.ts";
import { letThrough } from "./probes.ts";
import type { Waiter, Waiters } from "./waiters.ts";
import type { Watermarks } from "./watermarks.ts";

/**
 * Capacity of the waiters that a claim considers for one lane: one more than the rows that it locks
 * of a lane, so that it notices when the waiters want more.
 */
const ASKED_MAX = LANE_ROWS_MAX + 1;
/** Payload bytes of one answer: gRPC clients refuse messages of more than 4 MiB by default. */
const ANSWER_BYTES_MAX = 3 * 1024 * 1024;

export interface Claims extends HandOver {
  /**
   * Scans these lanes for ready rows soon; many calls share one scan. Resolves when the scan is
   * over.
   */
  scan(lanes: Iterable<number>): Promise<void>;
  /** Resolves when no scan is running. Scans that are planned for a later time are dropped. */
  idle(): Promise<void>;
}

interface ForgettableClaims extends Claims {
  /** The database has another incarnation: known runs may be gone. */
  forget(): void;
}

/** A lease whose task its agent did not get. */
export interface UndeliveredLease {
  readonly lease: Granted;
  /** Why the task cannot be built, so that a person has to act; null: it can, and is given back. */
  readonly problem: string | null;
}

interface WishedGrant extends Grant {
  readonly waiter: Waiter;
}

interface ClaimsOptions {
  readonly store: EngineStore;
  readonly plans: Plans;
  readonly waiters: Waiters;
  readonly admission: Admission;
  readonly watermarks: Watermarks;
  readonly clock: Clock;
  readonly random: Random;
  /** Called with each lease whose task was not delivered. */
  readonly onUndelivered: (undelivered: UndeliveredLease) => void;
  readonly onError: (error: unknown) => void;
  /** Left out: this process makes no spans. */
  readonly taskTrace?: TaskTrace | undefined;
  /**
   * Called with the granted leases, and with the time from the start of the claim to the commit.
   */
  readonly onGranted?: (leases: readonly Granted[], ms: number) => void;
}

export function createClaims(options: ClaimsOptions): ForgettableClaims {
  const { store, waiters, admission, watermarks, clock, random, taskTrace = UNTRACED } = options;
  const runs = createKnownRuns();
  const bucket = createTokenBucket(clock, FLUSH_BUCKET);
  let wanted = new Set<number>();
  let round = Promise.withResolvers<void>();
  let scanning: Promise<void> | null = null;
  const opening = new Map<string, { readonly timer: Timer; readonly lanes: ReadonlySet<number> }>();

  /**
   * Claims within the transaction. It reserves the waiters first, so that no other batch serves
   * them.
   */
  async function claim(
    tx: Tx,
    lanes: ReadonlySet<number>,
    batch: BatchNo | null,
    freed: LanesToServe["freed"] = nothingFreed,
  ): Promise<Claim | null> {
    const reserved = new Set<Waiter>();
    const waitersOf = (of: ReadonlySet<number>): readonly AdmittedWaiter[] => {
      const admitted = waiters.waitingFor(batch, of, admission.admit, ASKED_MAX);
      waiters.reserve(admitted.map(({ waiter }) => waiter));
      for (const { waiter } of admitted) reserved.add(waiter);
      return admitted;
    };
    const freeReserved = (waiters: readonly Waiter[] = [...reserved]): void => {
      for (const waiter of waiters) reserved.delete(waiter);
      free(waiters);
    };
    const startedAtMs = clock.monotonicMs();
    try {
      const assignment = await assign(tx, waitersOf(lanes), watermarks, async () => {
        const more = new Set(await freed()).difference(lanes);
        return waitersOf(more);
      });
      if (!assignment) return null;
      const { matches, drained, cut, full, queues } = assignment;
      const wished = matches.map(({ taker: { waiter }, row }): WishedGrant => {
        const { agent, pollSeq } = waiter;
        const secret = Buffer.from(random.bytes(16)).toString("hex");
        return { ready: row, secret, session: agent.session, agentId: agent.id, pollSeq, waiter };
      });
      const grants = await letThrough(tx, admission, wished);
      const matched = new Set(grants.map(({ waiter }) => waiter));
      freeReserved([...reserved].filter((waiter) => !matched.has(waiter)));
      const granted = grants.length === 0 ? [] : await tx.grant(grants);
      if (queues.length > 0) await tx.writeBuckets(queues);
      const byWaiter = new Map<Waiter, Granted[]>();
      for (const [place, { waiter }] of grants.entries()) {
        const leases = byWaiter.get(waiter) ?? [];
        byWaiter.set(waiter, leases);
        const lease = granted[place];
        if (lease) leases.push(lease);
      }
      const won = [...byWaiter].map(([waiter, leases]): Won => ({ waiter, granted: leases }));
      return {
        drained,
        deliver() {
          watermarks.used(granted.map(({ ready }) => ready));
          for (const queue of full) scanWhenOpen(queue, startedAtMs);
          if (cut.size > 0) void scan(cut);
          options.onGranted?.(granted, clock.monotonicMs() - startedAtMs);
          void deliver(won, startedAtMs);
        },
        giveUp(error) {
          if (!isUnknown(error)) {
            freeReserved();
            return;
          }
          // Whether these leases exist is unknown. The agent's poll fails, and the agent names it
          // among its lost polls.
          for (const { waiter } of won) waiters.fail(waiter, error);
        },
      };
    } catch (error) {
      freeReserved();
      throw error;
    }
  }

  /** When the rate allows more, scans all lanes of the queue that were refused. */
  function scanWhenOpen({ name, lanes, opensInMs }: FullQueue, startedAtMs: number): void {
    if (opensInMs === null) return;
    const before = opening.get(name);
    before?.timer.cancel();
    const refused = new Set([...(before?.lanes ?? []), ...lanes]);
    const leftMs = startedAtMs + opensInMs - clock.monotonicMs();
    const timer = clock.after(Math.max(0, leftMs), () => {
      opening.delete(name);
      void scan(refused);
    });
    opening.set(name, { timer, lanes: refused });
  }

  /** Releases waiters, and scans again for what became ready while they were reserved. */
  function free(left: readonly Waiter[]): void {
    const reminded = waiters.release(left);
    if (reminded.size > 0) void scan(reminded);
  }

  async function scan(lanes: Iterable<number>): Promise<void> {
    for (const lane of lanes) wanted.add(lane);
    if (wanted.size === 0) return;
    const { promise } = round;
    scanning ??= scanAll();
    await promise;
  }

  async function deliver(won: readonly Won[], startedAtMs: number): Promise<void> {
    if (won.length === 0) return;
    try {
      const handed = await handedTasks({ store, plans: options.plans, runs, taskTrace }, won);
      for (const { waiter, granted } of won) {
        const live: Granted[] = [];
        const tasks: HandedTask[] = [];
        for (const lease of granted) {
          // A task whose lease has ended meanwhile is neither delivered nor given back.
          const one = handed.get(lease);
          if (one?.kind === "failed") fail(lease, one.error);
          if (one?.kind !== "made") continue;
          live.push(lease);
          tasks.push(one.task);
        }
        const fit = tasksThatFit(tasks);
        waiters.serve(waiter, { tasks: tasks.slice(0, fit), grantedAtMs: startedAtMs });
        for (const lease of live.slice(fit)) giveBack(lease);
      }
    } catch (error) {
      options.onError(error);
      for (const { waiter, granted } of won) {
        waiters.fail(waiter, error);
        granted.forEach(giveBack);
      }
    }
  }

  function fail(lease: Granted, error: unknown): void {
    options.onError(error);
    // The store was unavailable: another hand-out may succeed.
    if (error instanceof DroverError) giveBack(lease);
    else options.onUndelivered({ lease, problem: textOf(error) });
  }

  function giveBack(lease: Granted): void {
    options.onUndelivered({ lease, problem: null });
  }

  async function scanAll(): Promise<void> {
    while (wanted.size > 0) {
      // Lanes that are added during this wait, or during a scan, share one scan.
      const waitMs = bucket.waitMs();
      if (waitMs > 0) await clock.sleep(waitMs);
      bucket.take();
      const lanes = wanted;
      const scanned = round;
      [wanted, round] = [new Set(), Promise.withResolvers()];
      await claimAlone(lanes);
      scanned.resolve();
    }
    // In the same turn: a caller that adds a lane from now on has to start a scan.
    scanning = null;
  }

  async function claimAlone(lanes: ReadonlySet<number>): Promise<void> {
    waiters.remind(lanes);
    if (waiters.waitingFor(null, lanes, admission.admit, 1).length === 0) return;
    const claims: Claim[] = [];
    const use = { name: "claim", fate: "unasked", leadsWithLock: true } as const;
    try {
      const left = await store.transact(use, async (tx) => {
        const made = await claim(tx, lanes, null);
        if (made) claims.push(made);
        return { lanes: tx.placeReady() };
      });
      for (const made of claims) made.deliver();
      // Other claims have skipped ready tasks while this one had their pages locked.
      const passedOver = await left.lanes;
      if (claims.length > 0) void scan(passedOver);
    } catch (error) {
      for (const made of claims) made.giveUp(error);
      options.onError(error);
    }
  }

  return Object.freeze({
    async claim(
      tx: Tx,
      { filled, freed }: LanesToServe,
      batch: BatchNo | null,
    ): Promise<Claim | null> {
      const lanes = new Set(filled);
      const carried = batch === null ? [] : waiters.carriedBy(batch);
      for (const { lanes: of } of carried) for (const { lane } of of) lanes.add(lane);
      return claim(tx, lanes, batch, freed);
    },
    begun: runs.begun,
    ended: runs.ended,
    forget: runs.forget,
    scan,
    async idle() {
      for (const { timer } of opening.values()) timer.cancel();
      opening.clear();
      while (scanning) await scanning;
    },
  });
}

const nothingFreed: LanesToServe["freed"] = async () => [];

/** How many of the tasks one answer can contain: always the first. */
function tasksThatFit(tasks: readonly HandedTask[]): number {
  let bytes = 0;
  const full = tasks.findIndex(({ input, lastDetails, output }, place) => {
    for (const payload of [input, lastDetails, output]) if (payload) bytes += payloadBytes(payload);
    return place > 0 && bytes > ANSWER_BYTES_MAX;
  });
  return full === -1 ? tasks.length : full;
}

function isUnknown(error: unknown): boolean {
  if (!(error instanceof DroverError)) return false;
  return error.reason === "STORE_UNAVAILABLE" && error.metadata.fate !== "rolled-back";
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
