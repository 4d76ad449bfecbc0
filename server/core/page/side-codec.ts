// The text of the forward state and the undo state of a step, within its line (codec.ts).
import type { EpochMs, TaskKind } from "../model/attempt.ts";
import type {
  BackoffCause,
  Forward,
  Lease,
  LeaseCancel,
  Moving,
  Ready,
  Step,
  Undo,
  WaitingFor,
} from "../model/model.ts";
import { TIMEOUTS_DEFAULT } from "../plan/plan.ts";
import { decodeHex, encodeHex } from "./field-codec.ts";
import type { TaskTerms } from "./page.ts";

/** Other values of the line. What follows from them is left out of the text of a side. */
export interface SideOf extends Pick<Step, "fence" | "attempt"> {
  /** The time from which its times are counted. */
  readonly since: EpochMs;
  readonly terms: Pick<TaskTerms, "attemptMs" | "heartbeatMs" | "cancelMs" | "stallMs"> | null;
}

type Plain = Exclude<Forward | Undo, Moving | { kind: "BLOCKED" }>["kind"];
type RawBlocked = readonly ["BLOCKED", number, number, number];
export type RawForward = string | RawBlocked | readonly [RawLease] | RawMoving;
export type RawUndo = string | readonly [RawLease] | RawMoving;

interface RawTask {
  /** Task; left out: perform. */
  readonly t?: TaskKind;
}

/** Fence and attempt; left out: the next ones of the step. */
interface RawNumbered extends RawTask {
  readonly f?: number;
  readonly a?: number;
}

interface RawReady extends RawNumbered {
  readonly k: "READY";
  /** When it became ready; left out: when the step was first ready. */
  readonly r?: number;
  readonly u?: number;
  readonly av?: readonly [string, number];
  readonly al?: number;
  readonly w: number;
}

interface RawLease extends RawNumbered {
  readonly k: "LEASED";
  /** Secret. */
  readonly x: string;
  /** Session. */
  readonly s: string;
  /** Agent. */
  readonly g: string;
  /** Number of the poll. */
  readonly p: number;
  /** Time of the grant; left out: when the step was first ready. */
  readonly at?: number;
  /** This and the next three: left out: as in the terms. */
  readonly by?: number;
  readonly hb?: number;
  readonly cm?: number;
  readonly st?: number | null;
  /** When the progress last changed; left out: at the grant. */
  readonly pa?: number;
  readonly c?: LeaseCancel;
  readonly su?: number;
  readonly w: number;
}

type RawMoving =
  | RawReady
  | (RawTask & { readonly k: "BACKOFF"; readonly c: BackoffCause; readonly w: number })
  | { readonly k: "WAITING"; readonly on: WaitingFor; readonly w: number }
  | (RawTask & { readonly k: "HELD" });

export function encodeSide(side: Forward | Undo, of: SideOf): string {
  switch (side.kind) {
    case "BLOCKED":
      return `["BLOCKED",${side.waitingFor},${side.ok},${side.skipped}]`;
    case "READY":
      return encodeReady(side, of);
    case "LEASED":
      return encodeLease(side, of);
    case "BACKOFF":
      return `{"k":"BACKOFF"${taskText(side)},"c":"${side.cause}","w":${side.wakeAt - of.since}}`;
    case "WAITING":
      return `{"k":"WAITING","on":"${side.on}","w":${side.wakeAt - of.since}}`;
    case "HELD":
      return `{"k":"HELD"${taskText(side)}}`;
    default:
      return `"${side.kind}"`;
  }
}

function taskText({ task }: { readonly task: TaskKind }): string {
  return task === "perform" ? "" : `,"t":"${task}"`;
}

function numberedText({ task, fence, attempt }: Ready | Lease, of: SideOf): string {
  return (
    taskText({ task }) +
    (fence === of.fence + 1 ? "" : `,"f":${fence}`) +
    (attempt === of.attempt + 1 ? "" : `,"a":${attempt}`)
  );
}

function encodeReady(ready: Ready, of: SideOf): string {
  const { readyAt, until, avoid, alarms, wakeAt } = ready;
  const { since } = of;
  return (
    `{"k":"READY"${numberedText(ready, of)}` +
    `${readyAt === since ? "" : `,"r":${readyAt - since}`}` +
    `${until === null ? "" : `,"u":${until - since}`}` +
    `${avoid === null ? "" : `,"av":[${encodeHex(avoid.session)},${avoid.until - since}]`}` +
    `${alarms === 0 ? "" : `,"al":${alarms}`},"w":${wakeAt - since}}`
  );
}

/** In an array, as the attempt that it becomes, whose text ends alike (attempt-codec.ts). */
function encodeLease(lease: Lease, of: SideOf): string {
  const { secret, session, agentId, pollSeq, grantedAt, attemptBy } = lease;
  const { heartbeatMs, cancelMs, stallMs, progressAt, cancel, suspectAt, wakeAt } = lease;
  const { since } = of;
  const terms = of.terms ?? TIMEOUTS_DEFAULT;
  return (
    `[{"k":"LEASED"${numberedText(lease, of)},"p":${pollSeq}` +
    `${grantedAt === since ? "" : `,"at":${grantedAt - since}`}` +
    `${attemptBy === grantedAt + terms.attemptMs ? "" : `,"by":${attemptBy - since}`}` +
    `${heartbeatMs === terms.heartbeatMs ? "" : `,"hb":${heartbeatMs}`}` +
    `${cancelMs === terms.cancelMs ? "" : `,"cm":${cancelMs}`}` +
    `${stallMs === terms.stallMs ? "" : `,"st":${stallMs}`}` +
    `${progressAt === grantedAt ? "" : `,"pa":${progressAt - since}`}` +
    `${cancel.kind === "none" ? "" : `,"c":${JSON.stringify(cancel)}`}` +
    `${suspectAt === null ? "" : `,"su":${suspectAt - since}`},"w":${wakeAt - since},` +
    `"g":${JSON.stringify(agentId)},"s":${encodeHex(session)},"x":${encodeHex(secret)}}]`
  );
}

export function decodeForward(raw: RawForward, of: SideOf): Forward {
  if (typeof raw === "string") return { kind: plainOf(raw, FORWARD_KINDS) };
  if ("k" in raw) return decodeMoving(raw, of);
  return raw[0] === "BLOCKED"
    ? { kind: "BLOCKED", waitingFor: raw[1], ok: raw[2], skipped: raw[3] }
    : decodeLease(raw[0], of);
}

export function decodeUndo(raw: RawUndo, of: SideOf): Undo {
  if (typeof raw === "string") return { kind: plainOf(raw, UNDO_KINDS) };
  return "k" in raw ? decodeMoving(raw, of) : decodeLease(raw[0], of);
}

const FORWARD_KINDS = [
  ...(["MAPPING", "UNDOING", "ESCALATED", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"] as const),
] satisfies Plain[];
const UNDO_KINDS = ["PENDING", "MAPPING", "DONE", "FAILED"] as const satisfies Plain[];

function plainOf<Kind extends string>(text: string, kinds: readonly Kind[]): Kind {
  const kind = kinds.find((one) => one === text);
  if (kind === undefined) throw new Error(`a step is stored as ${text}, which is no state of it`);
  return kind;
}

function decodeMoving(raw: RawMoving, of: SideOf): Moving {
  switch (raw.k) {
    case "READY":
      return decodeReady(raw, of);
    case "BACKOFF":
      return { kind: "BACKOFF", task: taskOf(raw), cause: raw.c, wakeAt: of.since + raw.w };
    case "WAITING":
      return { kind: "WAITING", on: raw.on, wakeAt: of.since + raw.w };
    case "HELD":
      return { kind: "HELD", task: taskOf(raw) };
  }
}

function taskOf({ t: task = "perform" }: RawTask): TaskKind {
  return task;
}

function numbersOf(raw: RawNumbered, of: SideOf): Pick<Lease, "task" | "fence" | "attempt"> {
  return { task: taskOf(raw), fence: raw.f ?? of.fence + 1, attempt: raw.a ?? of.attempt + 1 };
}

function decodeReady(raw: RawReady, of: SideOf): Ready {
  const { since } = of;
  return {
    kind: "READY",
    ...numbersOf(raw, of),
    readyAt: since + (raw.r ?? 0),
    until: raw.u === undefined ? null : since + raw.u,
    avoid:
      raw.av === undefined ? null : { session: decodeHex(raw.av[0]), until: since + raw.av[1] },
    alarms: raw.al ?? 0,
    wakeAt: since + raw.w,
  };
}

const NOT_CANCELLED: LeaseCancel = Object.freeze({ kind: "none" });

function decodeLease(raw: RawLease, of: SideOf): Lease {
  const { since } = of;
  const terms = of.terms ?? TIMEOUTS_DEFAULT;
  const grantedAt = since + (raw.at ?? 0);
  return {
    kind: "LEASED",
    ...numbersOf(raw, of),
    secret: decodeHex(raw.x),
    session: decodeHex(raw.s),
    agentId: raw.g,
    pollSeq: raw.p,
    grantedAt,
    attemptBy: raw.by === undefined ? grantedAt + terms.attemptMs : since + raw.by,
    heartbeatMs: raw.hb ?? terms.heartbeatMs,
    cancelMs: raw.cm ?? terms.cancelMs,
    stallMs: raw.st === undefined ? terms.stallMs : raw.st,
    progressAt: raw.pa === undefined ? grantedAt : since + raw.pa,
    cancel: raw.c ?? NOT_CANCELLED,
    suspectAt: raw.su === undefined ? null : since + raw.su,
    wakeAt: since + raw.w,
  };
}
