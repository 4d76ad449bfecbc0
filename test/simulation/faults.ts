// The kinds of faults, the probability of each in this seed, and how often each occurred.
//
// Each seed draws its own probabilities. A kind is absent from some seeds, so that rare faults also
// happen alone. After `heal` there are no more faults.
import type { Chance } from "../../simulator/chance.ts";
import type { Recorder } from "./recorder.ts";

/** Kinds that the report counts; each must happen in a share of all seeds. */
export const FAULT_KINDS = [
  "message lost",
  "message repeated",
  "message delayed",
  "message reordered",
  "server cut off",
  "server crashed",
  "server paused",
  "server paused in a batch",
  "server relieved at a write",
  "server stopped cleanly",
  "server stopped in a claim",
  "agent crashed",
  "agent paused",
  "agent stopped heartbeats",
  "agent ignored a cancel",
  "agent named lost polls",
  "agent listed all",
  "report late",
  "report repeated",
  "report contradicted",
  "report unknown",
  "report unknown, settled later",
  "report transient",
  "report permanent",
  "report released",
  "task forgotten",
  "store failed before commit",
  "store failed after commit",
  "store slow",
  "store away",
  "store lost its tail",
  "database clock jumped ahead",
  "database clock jumped back",
  "batch failed and may be repeated",
  "row held by another",
  "notification lost",
  "run always fails",
  "task cannot be made",
  "call refused as overloaded",
  "key repeated",
  "key reused",
  "cancel with undo",
  "cancel leaving things",
  "run of a registered version",
  "run of the default version",
  "registered again",
  "begins later",
  "permit or queue",
  "permit or refuse",
  "permit or cancel-oldest",
  "batch",
  "retried",
  "re-run",
  "report again",
  "report deferred",
  "report inconclusive",
  "progress stalled",
  "callback early",
  "callback late",
  "callback never",
  "callback repeated",
  "callback without deferral",
  "paused",
  "held a queue",
  "held a workflow",
  "held a namespace",
  "cordoned an agent",
  "opened a circuit",
  "circuit moved",
  "circuit tried",
  "push",
  "push repeated",
  "push forged",
  "schedule made",
  "schedule paused",
  "schedule deleted",
  "schedule run now",
  "schedule backfilled",
  "signal sent",
  "signal repeated",
  "approved",
  "rejected",
  "webhook lost",
  "webhook refused",
  "answer to a webhook lost",
  "answered retry",
  "answered retry-changed",
  "answered succeed",
  "answered skip",
  "answered compensate",
  "answered fail",
  "answered acknowledge",
  "decided by what has changed",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export type MessageFate =
  | { readonly kind: "lost" }
  | {
      readonly kind: "arrives";
      readonly inMs: number;
      /** A second copy, so much later. */
      readonly againInMs: number | null;
    };

/** `found-out`: the answer of the commit is lost, and a server that asks for its fate learns it. */
export type StoreFate =
  | "fine"
  | "before-commit"
  | "before-commit, known"
  | "after-commit"
  | "after-commit, found-out"
  | "repeatable";

/** A statement or a transaction by its name, before it is sent. */
export interface StoreCall {
  /** The process that sends it. */
  readonly process: string;
  readonly name: string;
  /** A plain read is never a deadlock victim. */
  readonly writes: boolean;
  /** Others that begin later may commit before it. */
  readonly isTransaction?: boolean;
}

export interface StoreWay {
  readonly fate: StoreFate;
  /** On the way to the store, and back. */
  readonly toMs: number;
  readonly backMs: number;
}

export interface Faults {
  readonly counts: ReadonlyMap<FaultKind, number>;
  readonly calm: boolean;
  count(kind: FaultKind): void;
  /** Whether something of this kind happens now; counts it if so. */
  strikes(kind: FaultKind): boolean;
  /** Whether every pass of this run throws, until the heal. One run of a seed does. */
  failsAlways(runId: string): boolean;
  /** Whether no task of this run can be made, until the heal. One run of a seed is so. */
  cannotBeMade(runId: string): boolean;
  /** `isOnce`: it may not be repeated. */
  message(to: string, isServer: boolean, isOnce: boolean): MessageFate;
  store(call: StoreCall): StoreWay;
  heal(): void;
}

/** The highest probability of each kind that is drawn each time it could happen. */
const WORST: Partial<Record<FaultKind, number>> = {
  "message lost": 0.06,
  "message repeated": 0.05,
  "message delayed": 0.03,
  "message reordered": 0.2,
  "agent stopped heartbeats": 0.02,
  "agent ignored a cancel": 0.6,
  "report late": 0.9,
  "report repeated": 0.1,
  "report contradicted": 0.05,
  "report unknown": 0.14,
  "report transient": 0.3,
  "report permanent": 0.06,
  "report released": 0.06,
  "report again": 0.12,
  "report deferred": 0.15,
  "report inconclusive": 0.6,
  "progress stalled": 0.08,
  "callback without deferral": 0.06,
  "task forgotten": 0.04,
  "store slow": 0.08,
  "store failed before commit": 0.03,
  "store failed after commit": 0.03,
  "batch failed and may be repeated": 0.04,
  "row held by another": 0.06,
  "server paused in a batch": 0.004,
  "server relieved at a write": 1,
  "server stopped in a claim": 0.01,
  "notification lost": 1,
  "run always fails": 0.05,
  "task cannot be made": 0.05,
  "webhook lost": 0.4,
  "webhook refused": 0.4,
  "answer to a webhook lost": 0.4,
  "decided by what has changed": 0.1,
};
/** What is thrown by each pass of a run that always fails, and where a task cannot be made. */
export const ALWAYS_FAILS = "every pass of this run fails";
type RunFault = "always-fails" | "cannot-be-made";
const ABSENT_SHARE = 0.25;
/** Of a transaction: less than a server waits for its answer. */
export const SLOW_MS_MAX = 900;

export function createFaults(chance: Chance, recorder: Recorder): Faults {
  const counts = new Map<FaultKind, number>();
  const probabilities = new Map<FaultKind, number>();
  for (const kind of FAULT_KINDS) {
    const worst = WORST[kind] ?? 0;
    probabilities.set(kind, chance.happens(ABSENT_SHARE) ? 0 : worst * chance.fraction());
  }
  let calm = false;
  const failing = new Map<RunFault, string>();

  function count(kind: FaultKind): void {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }

  function strikes(kind: FaultKind): boolean {
    if (calm || !chance.happens(probabilities.get(kind) ?? 0)) return false;
    count(kind);
    return true;
  }

  function strikesRun(runId: string, kind: FaultKind, did: RunFault): boolean {
    if (calm) return false;
    if (!failing.has(did) && strikes(kind)) {
      failing.set(did, runId);
      recorder.fault({ kind: "run", did }, runId, false);
    }
    return failing.get(did) === runId;
  }

  function storeFate({ name: of, writes }: StoreCall): StoreFate {
    if (strikes("store failed before commit")) {
      recorder.fault({ kind: "store", did: "before-commit", of }, "store", false);
      return chance.happens(0.5) ? "before-commit" : "before-commit, known";
    }
    if (strikes("store failed after commit")) {
      recorder.fault({ kind: "store", did: "after-commit", of }, "store", false);
      return chance.happens(0.7) ? "after-commit, found-out" : "after-commit";
    }
    if (!writes || !strikes("batch failed and may be repeated")) return "fine";
    recorder.fault({ kind: "store", did: "before-commit", of }, "store", false);
    return "repeatable";
  }

  return Object.freeze({
    counts,
    get calm() {
      return calm;
    },
    count,
    strikes,
    failsAlways: (runId: string) => strikesRun(runId, "run always fails", "always-fails"),
    cannotBeMade: (runId: string) => strikesRun(runId, "task cannot be made", "cannot-be-made"),
    message(to: string, isServer: boolean, isOnce: boolean): MessageFate {
      const normalMs = chance.between(0, 3);
      const record = (did: "lost" | "repeated" | "delayed" | "reordered") =>
        recorder.fault({ kind: "network", did }, to, isServer);
      if (strikes("message lost")) {
        record("lost");
        return { kind: "lost" };
      }
      let inMs = normalMs;
      if (strikes("message delayed")) {
        record("delayed");
        inMs += chance.between(300, 6_000);
      } else if (strikes("message reordered")) {
        record("reordered");
        inMs += chance.between(5, 60);
      }
      if (isOnce || !strikes("message repeated")) return { kind: "arrives", inMs, againInMs: null };
      record("repeated");
      return { kind: "arrives", inMs, againInMs: inMs + chance.between(0, 2_000) };
    },
    store(call: StoreCall): StoreWay {
      const normalMs = chance.between(0, 2);
      const backMs = chance.between(0, 2);
      const isSlow = call.isTransaction === true && strikes("store slow");
      if (isSlow) recorder.fault({ kind: "store", did: "slow" }, "store", false);
      const toMs = normalMs + (isSlow ? chance.between(50, SLOW_MS_MAX) : 0);
      return { fate: storeFate(call), toMs, backMs };
    },
    heal() {
      calm = true;
      recorder.fault({ kind: "heal" }, "all", false);
    },
  } satisfies Faults);
}
