// The rows of a run, each as it stands by itself. A view infers one from another and cannot hold
// what does not fit; this can, so that what does not fit is found (examine.ts).
import type { Moment, TaskKind } from "./attempt.ts";
import type { OpenEscalation } from "./history.ts";
import type {
  Backoff,
  Forward,
  Lease,
  Parent,
  Ready,
  Run,
  RunState,
  Step,
  Undo,
  Waiting,
} from "./model.ts";

type Stored<Kind extends string> = Exclude<Kind, "READY" | "LEASED"> | "OPEN";

/** A step's own row: READY and LEASED are both OPEN, and rows beside it say which. */
export interface StoredStep extends Omit<Step, "forward" | "undo"> {
  readonly forward: Stored<Forward["kind"]>;
  readonly undo: Stored<Undo["kind"]>;
  /** Of a BLOCKED step. */
  readonly needs: { readonly waitingFor: number; readonly ok: number; readonly skipped: number };
  /** Of a HELD step. */
  readonly held: TaskKind | null;
}

/** What is stored of one place; null: no such row. */
export interface StoredPlace {
  readonly no: number;
  readonly step: StoredStep | null;
  /** `lane`: its number is that of a lane. */
  readonly ready: { readonly ready: Ready; readonly lane: boolean } | null;
  readonly lease: Lease | null;
  readonly due: Backoff | Waiting | null;
}

/** The open row of a run. */
export interface StoredOpen {
  readonly run: Omit<Run, "state">;
  readonly kind: RunState["kind"];
  /** null: the columns make none of this kind. */
  readonly state: RunState | null;
  readonly wakeAt: Moment | null;
}

/** What is still known of a run that has not ended, and whose open row is gone. */
export interface Unopened {
  readonly createdAt: Moment;
  readonly keyed: boolean;
  readonly parent: Parent | null;
  /** Questions that it has asked so far. */
  readonly escalations: number;
}

/** A task that ended, or the output of a step without one. */
export interface StoredAttempt {
  readonly step: number;
  readonly kind: TaskKind | "answer";
  readonly fence: number;
  readonly n: number;
  readonly succeeded: boolean;
}

/** A step that waits for the child which it began under this fence. */
export interface ChildWait {
  readonly step: number;
  readonly fence: number;
}

export interface StoredRun {
  /** What the row that stays says of the run; "missing": there is none. */
  readonly row: "open" | "ended" | "missing";
  readonly open: StoredOpen | null;
  /** null: it has its open row, or needs none. */
  readonly unopened: Unopened | null;
  readonly places: readonly StoredPlace[];
  /** Those that are open. */
  readonly escalations: readonly OpenEscalation[];
  /** Tasks that ended of places without a row of their own. */
  readonly attempts: readonly StoredAttempt[];
  readonly slot: "holds" | "waits" | null;
  /** A message that it holds a slot, or gets none, waits for it. */
  readonly slotTold: boolean;
  /** Steps that wait for a child which has ended, or never was, and no message says so. */
  readonly untold: readonly ChildWait[];
  /** Messages that wait for it. */
  readonly messages: number;
}
