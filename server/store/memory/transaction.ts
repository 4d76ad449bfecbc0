// One transaction: keys, locks and loads, then writes and claims.
//
// Transactions are serial, so nothing is ever locked by another. A violation of the order of locks,
// which deadlocks in SQL, would not be noticed here; so it is enforced: a call of an earlier place
// in the order than a call before, or of a transaction that is over, throws.
import type { EndedAttempt, EpochMs } from "../../core/model/attempt.ts";
import { isWanted } from "../../core/model/event.ts";
import type { ItemOutputs } from "../../core/model/items.ts";
import { movingSide, type Step } from "../../core/model/model.ts";
import { itemOf, numberOf } from "../../core/model/step-key.ts";
import { handOut } from "../../core/page/hand-out.ts";
import { pageNoOf } from "../../core/page/page.ts";
import { type ItemOutput, itemOutputs } from "../item-outputs.ts";
import { endedTasksOf } from "../page-reads.ts";
import type {
  ReadyRow as ClaimableRow,
  Grant,
  Granted,
  KeyHolder,
  KeyReservation,
  MapRef,
  RunHead,
  RunId,
  RunRef,
  StepsWanted,
  Tx,
} from "../store.ts";
import { probesOf } from "./circuits.ts";
import { rewriteDerived } from "./consistency.ts";
import { factsOf, outputOf } from "./facts.ts";
import { attemptsOf, putPage, type Writing } from "./pages.ts";
import { ownsStill } from "./partitions.ts";
import { freedLanes, lanePause, limitedLane, type QueueWorld, queueLocksOf } from "./queues.ts";
import { decisionsOf, messagesOf, signalsOf } from "./reads.ts";
import { byAge, mayBeTaken, readyTaskOf, rowsInLane } from "./ready-rows.ts";
import { type ScheduleWorld, schedulesLockedBy } from "./schedules.ts";
import {
  concurrencyKeyText,
  endedHeadOf,
  expectHere,
  expectRunHere,
  headOf,
  isOpen,
  pageOf,
  pageStepOf,
  type ReadyRow,
  runStateOf,
  stepsOf,
  type Tables,
} from "./tables.ts";
import { insertRun, writePass } from "./write.ts";

/**
 * Places in the order of locks. The last one is phase 2, which waits for nothing of phase 1. There
 * the rows of queues with limits are locked, all by one call, which has an order of its own.
 */
const ORDER = [
  "writer",
  "schedules",
  "keys",
  "runs",
  "steps",
  "lanes",
  "concurrency keys",
  "writes and claims",
] as const;
type Place = (typeof ORDER)[number];

interface Open extends Writing {
  readonly name: string;
  readonly world: TransactionWorld;
  readonly locked: Set<RunId>;
  /** Lanes of rows that it has made ready. */
  readonly filled: Set<number>;
  /** Throws if the call would break the order of locks. */
  readonly enter: (place: Place) => void;
}

export interface TransactionWorld extends QueueWorld, Pick<ScheduleWorld, "namespaceOf"> {}

interface OpenTransaction {
  readonly tx: Tx;
  /** From now on each call of it throws. */
  end(): void;
}

export function openTransaction(
  world: TransactionWorld,
  { now, transaction, name }: { now: EpochMs; transaction: number; name: string },
): OpenTransaction {
  const { tables } = world;
  let over = false;
  let reached = 0;
  let number = 0;
  const enter = (place: Place): void => {
    if (over) throw new Error(`batch "${name}" is over and still used`);
    const at = ORDER.indexOf(place);
    if (at < reached)
      throw new Error(`batch "${name}" locks ${place} after ${ORDER[reached]}: mind the order`);
    reached = at;
  };
  const open: Open = {
    name,
    tables,
    now,
    transaction,
    enter,
    world,
    locked: new Set(),
    filled: new Set(),
    nextNumber: () => number++,
  };
  const tx: Tx = Object.freeze({
    now,
    ...lockingOf(open),
    ...loadingOf(open),
    ...permitsOf(open),
    ...laneQuestionsOf(open),
    ...schedulesLockedBy(open),
    ...writingOf(open),
    ...claimingOf(open),
    // The audit is for people, who read it in PostgreSQL alone.
    recordAudit: async () => undefined,
    rewriteDerived: async (runs: readonly RunRef[]) => {
      open.enter("runs");
      return rewriteDerived(open, runs);
    },
  });
  return {
    tx,
    end: () => {
      over = true;
    },
  };
}

function lockingOf(open: Open): Pick<Tx, "holdWriter" | "reserveKeys" | "lockRuns" | "endedRuns"> {
  const { tables } = open;
  return {
    holdWriter: async ({ node }, taken) => {
      open.enter("writer");
      for (const { partition } of taken) expectHere(tables, partition);
      return taken.filter((one) => ownsStill(tables, node, one));
    },
    reserveKeys: async (keys) => {
      open.enter("keys");
      expectEachOnce(keys.map(concurrencyKeyText));
      return keys.map((key) => reserve(open, key));
    },
    lockRuns: async (runs) => {
      open.enter("runs");
      for (const { partition } of runs) expectHere(tables, partition);
      return [...runs].sort(byId).flatMap((ref) => lock(open, ref) ?? []);
    },
    endedRuns: async (runs) =>
      runs.flatMap(({ runId, partition }) => {
        expectHere(tables, partition);
        const row = tables.run.get(runId);
        if (!row || isOpen(tables, runId)) return [];
        return [endedHeadOf(row, runStateOf(tables, runId))];
      }),
  };
}

const byId = (a: RunRef, b: RunRef): number => (a.runId < b.runId ? -1 : 1);

function expectEachOnce(keys: readonly string[]): void {
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw new Error(`key ${twice} is reserved twice by one call`);
}

function reserve({ tables, now }: Open, { keepMs, ...wanted }: KeyReservation): KeyHolder {
  const { namespaceId, key } = wanted;
  const held = tables.idempotency.get(concurrencyKeyText(wanted));
  // An expired key is retained while its run is open.
  const mine = !held || (held.expiresAt < now && !isOpen(tables, held.runId));
  if (mine) tables.idempotency.put({ ...wanted, expiresAt: now + keepMs });
  const { runId, digest } = mine ? wanted : held;
  return { namespaceId, key, runId, digest, mine };
}

function lock({ tables, locked }: Open, { runId, partition }: RunRef): RunHead | null {
  const row = tables.run.get(runId);
  if (row?.partition !== partition || !isOpen(tables, runId)) return null;
  locked.add(runId);
  return headOf(row, runStateOf(tables, runId));
}

type Loading =
  | "loadSteps"
  | "lastHeartbeats"
  | "loadAttempts"
  | "loadFacts"
  | "loadSignals"
  | "loadDecisions"
  | "loadEscalations"
  | "loadMessages"
  | "loadItemOutputs";

function loadingOf(open: Open): Pick<Tx, Loading> {
  const { tables } = open;
  return {
    loadSteps: async (wanted) => {
      open.enter("steps");
      return new Map(wanted.map((one) => [one.runId, wantedSteps(open, one)]));
    },
    lastHeartbeats: async (sessions) => {
      open.enter("steps");
      return new Map(
        sessions.flatMap((session) => {
          const row = tables.agentSession.get(session);
          return row ? [[session, row.lastHeartbeatAt] as const] : [];
        }),
      );
    },
    loadAttempts: async (keys) => {
      const found = new Map<RunId, EndedAttempt[]>();
      for (const { runId, step, fence } of keys) {
        const of = pageStepOf(tables, runId, step);
        const ended = of ? endedTasksOf(step, attemptsOf(tables, runId, of), fence) : [];
        if (ended.length > 0) found.set(runId, [...(found.get(runId) ?? []), ...ended]);
      }
      return found;
    },
    loadFacts: async (wanted) => factsOf(tables, wanted),
    loadSignals: async (runs) =>
      ofEach(runs, (runId) =>
        signalsOf(tables, runId).map(({ seq, id, name, takenBy, payload }) => {
          return { seq, id, name, taken: takenBy !== null, payload };
        }),
      ),
    loadDecisions: async (runs) =>
      ofEach(runs, (runId) =>
        decisionsOf(tables, runId).map(({ step, approver, approved }) => {
          return { step, approver, approved };
        }),
      ),
    loadItemOutputs: async (maps) => itemOutputsOf(tables, maps),
    loadMessages: async (runs) =>
      ofEach(runs, (runId) => {
        expectLocked(open, runId, "load the messages");
        return messagesOf(tables, runId);
      }),
    loadEscalations: async (wanted) =>
      ofEach([...new Set(wanted.map(({ runId }) => runId))], (runId) =>
        tables.escalation
          .where("run", runId)
          .filter((row) => wanted.some((one) => one.runId === runId && one.n === row.n))
          .sort((a, b) => a.n - b.n)
          .map(({ n, step, reason, closedBy, wakeAt, deadlineAt, claim }) => {
            return { n, step, reason, closedBy, wakeAt, deadlineAt, claimed: claim !== null };
          }),
      ),
  };
}

/** Runs without any such value are left out. */
function ofEach<Value>(
  runs: readonly RunId[],
  of: (runId: RunId) => readonly Value[],
): ReadonlyMap<RunId, readonly Value[]> {
  const all = runs.map((runId) => [runId, of(runId)] as const);
  return new Map(all.filter(([, values]) => values.length > 0));
}

function wantedSteps(open: Open, { runId, ...wanted }: StepsWanted): ReadonlyMap<number, Step> {
  expectLocked(open, runId, "load the steps");
  const { tables } = open;
  const isNamed = !wanted.whole && wanted.undoing.length === 0;
  const found = isNamed
    ? wanted.places.flatMap((no) => pageStepOf(tables, runId, no) ?? [])
    : stepsOf(tables, runId);
  const steps = new Map(
    found.map(({ step }) => [step.no, step] as const).sort(([a], [b]) => a - b),
  );
  return isNamed ? steps : new Map([...steps].filter(([, step]) => isWanted(wanted, step, steps)));
}

/** Ended runs do not change any more, and need no lock. */
function expectLocked({ tables, locked }: Open, runId: RunId, to: string): void {
  if (isOpen(tables, runId) && !locked.has(runId))
    throw new Error(`to ${to} of run ${runId} it must be locked before`);
}

function permitsOf(
  open: Open,
): Pick<Tx, "concurrencyOf" | "lockPermits" | "writePermits" | "releaseKeys"> {
  const { tables } = open;
  const locked = new Set<string>();
  return {
    concurrencyOf: async (runs) =>
      new Map(
        runs.flatMap((runId) => {
          const concurrency = tables.run.get(runId)?.concurrency;
          return concurrency ? [[runId, concurrency] as const] : [];
        }),
      ),
    lockPermits: async (keys) => {
      if (keys.length > 0) open.enter("concurrency keys");
      return keys.map((key) => {
        locked.add(concurrencyKeyText(key));
        const rows = tables.permit.where("key", concurrencyKeyText(key));
        return { ...key, permits: rows.map(({ namespaceId: _, key: __, ...permit }) => permit) };
      });
    },
    writePermits: async (changes) => {
      open.enter("writes and claims");
      for (const { runId, permit, namespaceId, key } of changes) {
        if (!locked.has(concurrencyKeyText({ namespaceId, key })))
          throw new Error(`to write permits of the key ${key} it must be locked before`);
        if (permit) tables.permit.put({ ...permit, namespaceId, key });
        else tables.permit.remove(runId);
      }
    },
    releaseKeys: async (keys) => {
      open.enter("writes and claims");
      for (const key of keys) tables.idempotency.remove(concurrencyKeyText(key));
    },
  };
}

function writingOf(open: Open): Pick<Tx, "insertRuns" | "write"> {
  return {
    insertRuns: async (runs) => {
      open.enter("writes and claims");
      for (const run of runs) {
        expectRunHere(open.tables, run.runId);
        insertRun(open, run);
        open.locked.add(run.runId);
      }
    },
    write: async (passes) => {
      open.enter("writes and claims");
      const written = [];
      for (const pass of passes) {
        expectLocked(open, pass.head.runId, "write a pass");
        written.push(writePass(open, pass));
      }
      const lanes = written.flatMap((one) => one.lanes);
      const filled = new Set(written.flatMap((one) => one.filled));
      for (const lane of filled) open.filled.add(lane);
      return {
        filled: [...filled],
        freesNothing: false,
        ended: Promise.resolve({
          freed: freedLanes(open.world, lanes),
          tasks: written.flatMap(({ ended }) => ended),
        }),
      };
    },
  };
}

function claimingOf(
  open: Open,
): Pick<Tx, "lockReady" | "grant" | "placeReady" | "lockQueues" | "writeBuckets" | "takeProbes"> {
  const { tables, now, world } = open;
  return {
    ...queueLocksOf(world, open.name, () => open.enter("writes and claims")),
    ...probesOf(open, () => open.enter("writes and claims")),
    lockReady: async (lanes, queuesLocked = false, marks = []) => {
      open.enter("writes and claims");
      const free = lanes.filter(({ lane }) => lanePause(world, lane) === null);
      const limited = queuesLocked
        ? []
        : free.flatMap(({ lane }) => limitedLane(world, lane) ?? []);
      const served = free.filter(({ lane }) => !limited.some((one) => one.lane === lane));
      const rows = served.flatMap(({ lane, limit }) =>
        rowsInLane(tables, lane)
          .filter((row) => mayBeTaken(row, now, marks))
          .sort(byAge)
          .slice(0, limit)
          .map((row) => claimable(tables, row)),
      );
      return { rows, limited };
    },
    grant: async (grants) => {
      open.enter("writes and claims");
      return grants.map((one) => grant(open, one));
    },
    placeReady: async () => [...open.filled],
  };
}

function claimable(tables: Tables, row: ReadyRow): ClaimableRow {
  const { runId, partition, step, lane, priority } = row;
  const { ready, terms } = readyTaskOf(tables, row);
  const { attemptMs, heartbeatMs, cancelMs, stallMs, isFirstTry } = terms;
  const { task, fence, attempt, readyAt, until, avoid } = ready;
  return {
    runId,
    partition,
    step,
    lane,
    priority,
    task,
    fence,
    attempt,
    readyAt,
    until,
    avoid,
    attemptMs,
    heartbeatMs,
    cancelMs,
    stallMs,
    isFirstTry,
  };
}

/** A claim grants a ready task: from then on its page says that it is LEASED. */
export function grant(writing: Writing, wanted: Grant): Granted {
  const { tables, now } = writing;
  const { secret, session, agentId, pollSeq } = wanted;
  const { runId, partition, step: stepKey, fence, lane } = wanted.ready;
  const page = expectPage(tables, runId, pageNoOf(stepKey));
  const was = page.steps.get(stepKey);
  const ready = was && movingSide(was.step)?.state;
  if (!was || ready?.kind !== "READY" || ready.fence !== fence)
    throw new Error(`step ${stepKey} of ${runId} is not ready with fence ${fence}`);
  const next = handOut(was, { secret, session, agentId, pollSeq, lane }, now);
  const lease = movingSide(next.step)?.state;
  if (lease?.kind !== "LEASED") throw new Error(`step ${stepKey} was handed out and has no lease`);
  putPage(
    writing,
    { runId, partition },
    { ...page, steps: new Map(page.steps).set(stepKey, next) },
  );
  return { ...wanted, grantedAt: now, attemptBy: lease.attemptBy };
}

function expectPage(tables: Tables, runId: string, no: number) {
  const page = pageOf(tables, runId, no);
  if (!page) throw new Error(`run ${runId} has no page ${no}`);
  return page;
}

/** The outputs of the items of maps, for a pass that ends the maps. */
function itemOutputsOf(
  tables: Tables,
  maps: readonly MapRef[],
): ReadonlyMap<RunId, ReadonlyMap<number, ItemOutputs>> {
  const found = new Map<RunId, Map<number, ItemOutputs>>();
  for (const ref of maps) {
    const outputs = outputsOf(tables, ref);
    if (outputs.length === 0) continue;
    const bytes = outputs.reduce((sum, { json }) => sum + Buffer.byteLength(json ?? ""), 0);
    const ofRun = found.get(ref.runId) ?? new Map();
    found.set(ref.runId, ofRun.set(ref.map, itemOutputs(outputs, bytes)));
  }
  return found;
}

function outputsOf(tables: Tables, { runId, map }: MapRef): readonly ItemOutput[] {
  return stepsOf(tables, runId)
    .filter(({ step: { no, forward } }) => {
      return itemOf(no) > 0 && numberOf(no) === map && forward.kind === "SUCCEEDED";
    })
    .flatMap((of) => {
      const output = outputOf(tables, runId, of);
      return output?.kind === "json" ? [{ stepKey: of.step.no, json: output.json }] : [];
    });
}

interface Locking {
  readonly tables: Tables;
  readonly enter: (place: "lanes" | "writes and claims") => void;
}

/** Questions about lanes that no agent polls. */
export function laneQuestionsOf({
  tables,
  enter,
}: Locking): Pick<Tx, "lockLaneQuestions" | "writeLaneQuestions"> {
  return {
    lockLaneQuestions: async (lanes) => {
      enter("lanes");
      return lanes.filter((lane) => {
        const asked = tables.laneQuestion.get(String(lane));
        return asked && tables.escalation.expect(`${asked.runId}/${asked.n}`).closedAt === null;
      });
    },
    writeLaneQuestions: async (questions) => {
      enter("writes and claims");
      for (const question of questions) tables.laneQuestion.put(question);
    },
  };
}
