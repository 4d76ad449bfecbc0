// Claims turn ready rows into leases of waiting agents. One statement queries all lanes that
// waiters ask for; no statement is sent for a single poll. A claim runs in a transaction of its own
// when a scan is due (lane-scans.ts), and in the transaction of each batch that has made tasks
// ready ("hand-over"). Namespaces share a claim by weight (assign.ts).
//
//   claim: waiters reserved → rows granted → committed: delivered, or given up
//
// A claim reserves the polls that it queries for. Polls without a match are free again at once, the
// others when the transaction has committed and task-delivery.ts has served them. A lane that was
// cut off is scanned again at once. A queue that has reached its rate is scanned when the rate
// allows more; a queue whose tasks are all with agents, when one of them ends.

import type { Clock, Random } from "../clock.ts";
import { DroverError } from "../errors.ts";
import type { BatchNo, Claim, HandOver, LanesToServe } from "../scheduler/advance.ts";
import type { Plans } from "../store/plans.ts";
import type { EngineStore, Grant, Granted, Tx } from "../store/store.ts";
import { type Admission, type AdmittedWaiter, letThrough } from "./admission.ts";
import { type Assignment, assign, LANE_ROWS_MAX, type WeightOf } from "./assign.ts";
import { type TaskTrace, UNTRACED, type Won } from "./handed-task.ts";
import { createKnownRuns } from "./known-runs.ts";
import { createLaneScans, type LaneScans } from "./lane-scans.ts";
import { type DeliveryDeps, deliverTasks, type UndeliveredLease } from "./task-delivery.ts";
import type { Waiter, Waiters } from "./waiters.ts";
import type { Watermarks } from "./watermarks.ts";

/**
 * Capacity of the waiters that a claim considers for one lane: one more than the rows that it locks
 * of a lane, so that it notices when the waiters want more.
 */
const ASKED_MAX = LANE_ROWS_MAX + 1;

export type Claims = HandOver & Pick<LaneScans, "scan" | "idle">;

export interface ForgettableClaims extends Claims {
  /** The database has another incarnation: known runs may be gone. */
  forget(): void;
}

interface ClaimsOptions {
  readonly store: EngineStore;
  readonly plans: Plans;
  readonly waiters: Waiters;
  readonly admission: Admission;
  readonly watermarks: Watermarks;
  /** The part of a namespace in a claim for several. */
  readonly weightOf: WeightOf;
  readonly clock: Clock;
  readonly random: Random;
  /** Called with each lease whose task was not delivered. */
  readonly onUndelivered: (undelivered: UndeliveredLease) => void;
  readonly onError: (error: unknown) => void;
  /** Where circuits are kept; left out: in the store of the claim, and by its transaction. */
  readonly takeProbes?: Tx["takeProbes"] | undefined;
  /** Left out: this process makes no spans. */
  readonly taskTrace?: TaskTrace | undefined;
  /** Called when a queue has reached a limit; left out: nothing follows. */
  readonly onFull?: (() => void) | undefined;
  /**
   * Called with the granted leases, and with the time from the start of the claim to the commit.
   */
  readonly onGranted?: (leases: readonly Granted[], ms: number) => void;
}

interface State {
  readonly options: ClaimsOptions;
  readonly scans: LaneScans;
  readonly delivery: DeliveryDeps;
}

/** A claim whose transaction has not ended. */
interface OpenClaim {
  /** Of events; null: the transaction begins runs, or is the claim's own. */
  readonly batch: BatchNo | null;
  /** Waiters that no other batch may serve meanwhile. */
  readonly reserved: Set<Waiter>;
  /** Monotonic. */
  readonly startedAtMs: number;
}

interface WishedGrant extends Grant {
  readonly waiter: Waiter;
}

export function createClaims(options: ClaimsOptions): ForgettableClaims {
  const { store, plans, waiters, clock, onUndelivered, onError, taskTrace = UNTRACED } = options;
  const runs = createKnownRuns();
  const scans = createLaneScans(clock, (lanes) => claimAlone(state, lanes));
  const delivery = { store, plans, runs, waiters, taskTrace, onUndelivered, onError };
  const state: State = { options, scans, delivery };
  return Object.freeze({
    claim: (tx, lanes, batch) => handOver(state, tx, lanes, batch),
    started: runs.started,
    ended: runs.ended,
    forget: runs.forget,
    scan: scans.scan,
    idle: scans.idle,
  } satisfies ForgettableClaims);
}

/** Within the transaction of a batch, from the lanes that it has filled or freed. */
async function handOver(
  state: State,
  tx: Tx,
  { filled, freed }: LanesToServe,
  batch: BatchNo | null,
): Promise<Claim | null> {
  const lanes = new Set(filled);
  const carried = batch === null ? [] : state.options.waiters.carriedBy(batch);
  for (const { lanes: of } of carried) for (const { lane } of of) lanes.add(lane);
  return claim(state, tx, lanes, batch, freed);
}

/** In a transaction of its own. */
async function claimAlone(state: State, lanes: ReadonlySet<number>): Promise<void> {
  const { store, waiters, admission, onError } = state.options;
  waiters.remind(lanes, state.scans.scan);
  if (waiters.waitingFor(null, lanes, admission.admit, 1).length === 0) return;
  const claims: Claim[] = [];
  const use = { name: "claim", fate: "unasked", leadsWithLock: true } as const;
  try {
    const left = await store.transact(use, async (tx) => {
      const made = await claim(state, tx, lanes, null);
      if (made) claims.push(made);
      return { lanes: tx.placeReady() };
    });
    for (const made of claims) made.deliver();
    // Other claims have skipped ready tasks while this one had their pages locked.
    const passedOver = await left.lanes;
    if (claims.length > 0) void state.scans.scan(passedOver);
  } catch (error) {
    for (const made of claims) made.giveUp(error);
    onError(error);
  }
}

/**
 * Claims within the transaction. It reserves the waiters first, so that no other batch serves them.
 */
async function claim(
  state: State,
  tx: Tx,
  lanes: ReadonlySet<number>,
  batch: BatchNo | null,
  freed: LanesToServe["freed"] = nothingFreed,
): Promise<Claim | null> {
  const { clock, random, admission } = state.options;
  const { takeProbes = (probes) => tx.takeProbes(probes) } = state.options;
  const open: OpenClaim = { batch, reserved: new Set(), startedAtMs: clock.monotonicMs() };
  try {
    const assignment = await assign(tx, reserveFor(state, open, lanes), state.options, async () => {
      const more = new Set(await freed()).difference(lanes);
      return reserveFor(state, open, more);
    });
    if (!assignment) return null;
    const wished = assignment.matches.map(({ taker: { waiter }, row }): WishedGrant => {
      const { agent, pollSeq } = waiter;
      const secret = Buffer.from(random.bytes(16)).toString("hex");
      return { ready: row, secret, session: agent.session, agentId: agent.id, pollSeq, waiter };
    });
    const grants = await letThrough({ takeProbes }, admission, wished);
    const matched = new Set(grants.map(({ waiter }) => waiter));
    free(
      state,
      open,
      [...open.reserved].filter((waiter) => !matched.has(waiter)),
    );
    const granted = grants.length === 0 ? [] : await tx.grant(grants);
    if (assignment.queues.length > 0) await tx.writeBuckets(assignment.queues);
    const won = wonBy(grants, granted);
    return {
      drained: assignment.drained,
      deliver: () => deliver(state, open, assignment, granted, won),
      giveUp: (error) => giveUp(state, open, won, error),
    };
  } catch (error) {
    free(state, open);
    throw error;
  }
}

const nothingFreed: LanesToServe["freed"] = async () => [];

/** Waiters that may claim from these lanes, reserved for this claim. */
function reserveFor(
  { options: { waiters, admission } }: State,
  { batch, reserved }: OpenClaim,
  lanes: ReadonlySet<number>,
): readonly AdmittedWaiter[] {
  const admitted = waiters.waitingFor(batch, lanes, admission.admit, ASKED_MAX);
  waiters.reserve(admitted.map(({ waiter }) => waiter));
  for (const { waiter } of admitted) reserved.add(waiter);
  return admitted;
}

/** Releases waiters, and scans again for what became ready while they were reserved. */
function free(
  { options: { waiters } }: State,
  { reserved }: OpenClaim,
  left: readonly Waiter[] = [...reserved],
): void {
  for (const waiter of left) reserved.delete(waiter);
  waiters.release(left);
}

/** The leases of each waiter. */
function wonBy(grants: readonly WishedGrant[], granted: readonly Granted[]): readonly Won[] {
  const byWaiter = new Map<Waiter, Granted[]>();
  for (const [place, { waiter }] of grants.entries()) {
    const leases = byWaiter.get(waiter) ?? [];
    byWaiter.set(waiter, leases);
    const lease = granted[place];
    if (lease) leases.push(lease);
  }
  return [...byWaiter].map(([waiter, leases]): Won => ({ waiter, granted: leases }));
}

/** The transaction has committed. */
function deliver(
  { options, scans, delivery }: State,
  { startedAtMs }: OpenClaim,
  { full, cut }: Assignment,
  granted: readonly Granted[],
  won: readonly Won[],
): void {
  options.watermarks.used(granted.map(({ ready }) => ready));
  for (const queue of full) scans.scanWhenOpen(queue, startedAtMs);
  if (full.length > 0) options.onFull?.();
  if (cut.size > 0) void scans.scan(cut);
  options.onGranted?.(granted, options.clock.monotonicMs() - startedAtMs);
  void deliverTasks(delivery, won, startedAtMs);
}

/** The transaction has not committed, or its outcome is unknown. */
function giveUp(state: State, open: OpenClaim, won: readonly Won[], error: unknown): void {
  if (!isUnknown(error)) {
    free(state, open);
    return;
  }
  // Whether these leases exist is unknown. The agent's poll fails, and the agent names it among its
  // lost polls.
  for (const { waiter } of won) state.options.waiters.fail(waiter, error);
}

function isUnknown(error: unknown): boolean {
  if (!(error instanceof DroverError)) return false;
  return error.reason === "STORE_UNAVAILABLE" && error.metadata.fate !== "rolled-back";
}
