// The text of a run's head within its first page: values that change are in the first line of the
// text, constant ones in the last line (codec.ts).
import type { Parent, Run, RunFailure, RunState } from "../model/model.ts";
import { NO_WAITS, type WaitCounts, waitBits } from "../model/waits.ts";
import { encodeShort, encodeUnknown, unknownOf } from "./field-codec.ts";
import type { PageHead } from "./page.ts";

/** Namespace, definition, priority. */
export type RawConstants = readonly [number, number, number];
type RunConstants = Pick<PageHead, "namespaceId" | "definitionId" | "priority">;
/** The values that may change while the run is open. */
export type HeadOfRun = Omit<PageHead, keyof RunConstants>;

export function decodeConstants([namespaceId, definitionId, priority]: RawConstants): RunConstants {
  return { namespaceId, definitionId, priority };
}

export function encodeConstants({ namespaceId, definitionId, priority }: RunConstants): string {
  return `[${namespaceId},${definitionId},${priority}]`;
}

export interface RawHead {
  /** The deadline of a run that is RUNNING and has one; else the state. */
  readonly s: RunState | number;
  readonly v: number;
  /**
   * Steps left, `always` steps left, moving, asking, undos left, undone, warnings, escalations.
   * Zeros at the end are left out.
   */
  readonly c: readonly number[];
  /** What steps wait for; left out: nothing, or an agent. */
  readonly w?: WaitCounts;
  readonly fl?: RunFailure;
  /** Its pivot has succeeded. */
  readonly p?: 1;
  /** It has a concurrency key. */
  readonly k?: 1;
  readonly pa?: Parent;
  readonly e?: number;
  readonly cn?: string;
  /** It has more pages. */
  readonly m?: 1;
}

const HEAD_KEYS = new Set<string>([
  "s",
  "v",
  "c",
  "w",
  "fl",
  "p",
  "k",
  "pa",
  "e",
  "cn",
  "m",
] satisfies (keyof RawHead)[]);

export function encodeHead({ run, endedAt, cancelNote, hasMore, unknown }: HeadOfRun): string {
  const { stepsLeft, alwaysLeft, moving, asking, undosLeft, undone, warnings, escalations } = run;
  const counts = [stepsLeft, alwaysLeft, moving, asking, undosLeft, undone, warnings, escalations];
  return (
    `{"s":${encodeState(run.state)},"v":${run.version},"c":${encodeShort(counts, NO_COUNTS)}` +
    `${waitBits(run.waits) === 0 ? "" : `,"w":${JSON.stringify(run.waits)}`}` +
    `${run.failure ? `,"fl":${JSON.stringify(run.failure)}` : ""}` +
    `${run.pivoted ? ',"p":1' : ""}` +
    `${run.keyed ? ',"k":1' : ""}${run.parent ? `,"pa":${JSON.stringify(run.parent)}` : ""}` +
    `${endedAt === null ? "" : `,"e":${endedAt}`}` +
    `${cancelNote === null ? "" : `,"cn":${JSON.stringify(cancelNote)}`}` +
    `${hasMore ? ',"m":1' : ""}${encodeUnknown(unknown)}}`
  );
}

const NO_COUNTS: readonly number[] = Object.freeze(Array<number>(8).fill(0));

function encodeState(state: RunState): string {
  return state.kind === "RUNNING" && state.deadline !== null
    ? String(state.deadline)
    : JSON.stringify(state);
}

function decodeState(raw: RunState | number): RunState {
  return typeof raw === "number" ? { kind: "RUNNING", deadline: raw } : raw;
}

export function decodeHead(raw: RawHead): HeadOfRun {
  const [stepsLeft = 0, alwaysLeft = 0, moving = 0, asking = 0, ...others] = raw.c;
  const [undosLeft = 0, undone = 0, warnings = 0, escalations = 0] = others;
  const run: Run = {
    state: decodeState(raw.s),
    version: raw.v,
    stepsLeft,
    alwaysLeft,
    moving,
    waits: raw.w ?? NO_WAITS,
    asking,
    undosLeft,
    undone,
    warnings,
    failure: raw.fl ?? null,
    pivoted: raw.p === 1,
    keyed: raw.k === 1,
    parent: raw.pa ?? null,
    escalations,
  };
  return {
    run,
    endedAt: raw.e ?? null,
    cancelNote: raw.cn ?? null,
    hasMore: raw.m === 1,
    ...unknownOf(raw, HEAD_KEYS),
  };
}
