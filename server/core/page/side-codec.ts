// The forward state and the undo of a step within its line (codec.ts).
import type { TaskKind } from "../attempt.ts";
import type {
  BackoffCause,
  Forward,
  Lease,
  LeaseCancel,
  Moving,
  Ready,
  Undo,
  WaitingFor,
} from "../model.ts";

type Plain = Exclude<Forward | Undo, Moving | { kind: "BLOCKED" }>["kind"];
type RawBlocked = readonly ["BLOCKED", number, number, number];
export type RawForward = string | RawBlocked | RawMoving;
export type RawUndo = string | RawMoving;

type RawMoving =
  | {
      readonly k: "READY";
      readonly t: TaskKind;
      readonly f: number;
      readonly a: number;
      readonly r: number;
      readonly u?: number;
      readonly av?: readonly [string, number];
      readonly al?: number;
      readonly w: number;
    }
  | {
      readonly k: "LEASED";
      readonly t: TaskKind;
      readonly f: number;
      readonly a: number;
      /** Secret. */
      readonly x: string;
      /** Session. */
      readonly s: string;
      /** Agent. */
      readonly g: string;
      /** Poll. */
      readonly p: number;
      readonly at: number;
      readonly by: number;
      readonly hb: number;
      readonly cm: number;
      readonly st?: number;
      /** When the progress changed last, if after the grant. */
      readonly pa?: number;
      readonly c?: LeaseCancel;
      readonly su?: number;
      readonly w: number;
    }
  | { readonly k: "BACKOFF"; readonly t: TaskKind; readonly c: BackoffCause; readonly w: number }
  | { readonly k: "WAITING"; readonly on: WaitingFor; readonly w: number }
  | { readonly k: "HELD"; readonly t: TaskKind };

export function encodeSide(side: Forward | Undo): string {
  switch (side.kind) {
    case "BLOCKED":
      return `["BLOCKED",${side.waitingFor},${side.ok},${side.skipped}]`;
    case "READY":
      return encodeReady(side);
    case "LEASED":
      return encodeLease(side);
    case "BACKOFF":
      return `{"k":"BACKOFF","t":"${side.task}","c":"${side.cause}","w":${side.wakeAt}}`;
    case "WAITING":
      return `{"k":"WAITING","on":"${side.on}","w":${side.wakeAt}}`;
    case "HELD":
      return `{"k":"HELD","t":"${side.task}"}`;
    default:
      return `"${side.kind}"`;
  }
}

function encodeReady({
  task,
  fence,
  attempt,
  readyAt,
  until,
  avoid,
  alarms,
  wakeAt,
}: Ready): string {
  return (
    `{"k":"READY","t":"${task}","f":${fence},"a":${attempt},"r":${readyAt}` +
    `${until === null ? "" : `,"u":${until}`}` +
    `${avoid === null ? "" : `,"av":["${avoid.session}",${avoid.until}]`}` +
    `${alarms === 0 ? "" : `,"al":${alarms}`},"w":${wakeAt}}`
  );
}

function encodeLease(lease: Lease): string {
  const { task, fence, attempt, secret, session, agentId, pollSeq, grantedAt, attemptBy } = lease;
  const { heartbeatMs, cancelMs, stallMs, progressAt, cancel, suspectAt, wakeAt } = lease;
  return (
    `{"k":"LEASED","t":"${task}","f":${fence},"a":${attempt},"x":"${secret}","s":"${session}",` +
    `"g":${JSON.stringify(agentId)},"p":${pollSeq},"at":${grantedAt},"by":${attemptBy},` +
    `"hb":${heartbeatMs},"cm":${cancelMs}${stallMs === null ? "" : `,"st":${stallMs}`}` +
    `${progressAt === grantedAt ? "" : `,"pa":${progressAt}`}` +
    `${cancel.kind === "none" ? "" : `,"c":${JSON.stringify(cancel)}`}` +
    `${suspectAt === null ? "" : `,"su":${suspectAt}`},"w":${wakeAt}}`
  );
}

export function decodeForward(raw: RawForward): Forward {
  if (typeof raw === "string") return { kind: plainOf(raw, FORWARD_KINDS) };
  if (!("k" in raw)) return { kind: "BLOCKED", waitingFor: raw[1], ok: raw[2], skipped: raw[3] };
  return decodeMoving(raw);
}

export function decodeUndo(raw: RawUndo): Undo {
  return typeof raw === "string" ? { kind: plainOf(raw, UNDO_KINDS) } : decodeMoving(raw);
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

function decodeMoving(raw: RawMoving): Moving {
  switch (raw.k) {
    case "READY":
      return {
        kind: "READY",
        task: raw.t,
        fence: raw.f,
        attempt: raw.a,
        readyAt: raw.r,
        until: raw.u ?? null,
        avoid: raw.av === undefined ? null : { session: raw.av[0], until: raw.av[1] },
        alarms: raw.al ?? 0,
        wakeAt: raw.w,
      };
    case "LEASED":
      return decodeLease(raw);
    case "BACKOFF":
      return { kind: "BACKOFF", task: raw.t, cause: raw.c, wakeAt: raw.w };
    case "WAITING":
      return { kind: "WAITING", on: raw.on, wakeAt: raw.w };
    case "HELD":
      return { kind: "HELD", task: raw.t };
  }
}

const NOT_CANCELLED: LeaseCancel = Object.freeze({ kind: "none" });

function decodeLease(raw: Extract<RawMoving, { k: "LEASED" }>): Lease {
  return {
    kind: "LEASED",
    task: raw.t,
    fence: raw.f,
    attempt: raw.a,
    secret: raw.x,
    session: raw.s,
    agentId: raw.g,
    pollSeq: raw.p,
    grantedAt: raw.at,
    attemptBy: raw.by,
    heartbeatMs: raw.hb,
    cancelMs: raw.cm,
    stallMs: raw.st ?? null,
    progressAt: raw.pa ?? raw.at,
    cancel: raw.c ?? NOT_CANCELLED,
    suspectAt: raw.su ?? null,
    wakeAt: raw.w,
  };
}
