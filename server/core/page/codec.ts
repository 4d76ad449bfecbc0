// Pages as text, and back: the one place that knows how a page is stored.
//
// A page is JSON in lines: the first has the format, the page's number and the head, each other one
// step. JSON text has no line feed of its own, so a line can be cut out, kept and written again
// without being read. Keys are short since each write of a page writes all of it; what is as in a
// fresh step is left out. Keys that this version does not know are kept as they are, so that a
// server of the version before may write a page of the next one.
//
//   {"f":1,"n":0,"h":{...},"s":{
//   "1":{...},
//   "0":{...}
//   },"of":[...]}
//
// What stays stands last: PostgreSQL logs of a row that is updated within its block neither the
// beginning nor the end that it has in common with the row before. So the last step is the first
// line, and a chain ends with its steps that have ended; and a line ends with who holds its task,
// or has had it last, and with when its step was first ready. Other times of a line are counted
// from then.
import type { AttemptKind } from "../attempt.ts";
import type { Items } from "../items.ts";
import type { Doubt, Parent, ResultRef, Run, RunState, Step, Undo } from "../model.ts";
import { TIMEOUTS_DEFAULT } from "../plan.ts";
import type { EffectMark, Strategy } from "../strategy.ts";
import { decodeAttempt, encodeAttempt, type RawAttempt } from "./attempt-codec.ts";
import type { Page, PageHead, PageStep, TaskTerms } from "./page.ts";
import { decodePayload, encodePayload, type RawPayload } from "./payload-codec.ts";
import {
  decodeForward,
  decodeUndo,
  encodeSide,
  type RawForward,
  type RawUndo,
  type SideOf,
} from "./side-codec.ts";
import { encodeUnknown, unknownOf } from "./unknown-keys.ts";

/** Of the text; a reader refuses every other one. */
export const PAGE_FORMAT = 1;

/** A page with its text, cut into steps. */
export interface EncodedPage {
  readonly page: Page;
  readonly text: string;
  /** By place: the lines of its steps, as they stand in the text. */
  readonly lines: ReadonlyMap<number, string>;
}

/** `before`: an earlier version of the page. Lines of steps that are the same are taken from it. */
export function encodePage(page: Page, before: EncodedPage | null = null): EncodedPage {
  const lines = new Map<number, string>();
  let steps = "";
  for (const [place, step] of page.steps) {
    const same = before?.page.steps.get(place) === step ? before.lines.get(place) : undefined;
    const line = same ?? encodeStep(step);
    lines.set(place, line);
    steps = steps === "" ? `\n"${place}":${line}` : `\n"${place}":${line},${steps}`;
  }
  const { no, head } = page;
  const of =
    head === null ? "" : `,"of":[${head.namespaceId},${head.definitionId},${head.priority}]`;
  const first = `{"f":${PAGE_FORMAT},"n":${no},${head === null ? "" : `"h":${encodeHead(head)},`}"s":{`;
  return { page, lines, text: `${first}${steps}\n}${of}}` };
}

/** Throws where the text is of another format. */
export function decodePage(text: string): EncodedPage {
  expectFormat(text);
  const [first = "", ...rest] = text.split("\n");
  const raw: RawPage = JSON.parse(`${first}${rest.at(-1)}`);
  const steps = new Map<number, PageStep>();
  const lines = new Map<number, string>();
  // The last line closes the page.
  for (let at = rest.length - 2; at >= 0; at--) {
    const [place, line] = stepLine(rest[at] ?? "");
    lines.set(place, line);
    steps.set(place, decodeStep(place, JSON.parse(line)));
  }
  const head = raw.h === undefined ? null : { ...decodeOf(raw.of), ...decodeHead(raw.h) };
  return { page: { no: raw.n, head, steps }, text, lines };
}

/** The head of a first page, by the first line of its text. */
export function decodePageHead(line: string): HeadOfRun {
  expectFormat(line);
  const { h }: Pick<RawPage, "h"> = JSON.parse(`${line}}}`);
  if (h === undefined) throw new Error("a page was read for its head, and it has none");
  return decodeHead(h);
}

/** The format alone stands at one place in all of them. */
function expectFormat(text: string): void {
  const format = /^\{"f":(\d+)/.exec(text)?.[1];
  if (format === undefined)
    throw new Error(
      `a page begins with ${JSON.stringify(text.slice(0, 40))}, and its format is not there: ` +
        "it was not written by a server",
    );
  if (Number(format) !== PAGE_FORMAT)
    throw new Error(
      `a page of format ${format} was read, and this version knows format ${PAGE_FORMAT}: ` +
        "run a version of the server that is as new as the one that wrote it",
    );
}

/** `"12":{...},` as the place and the object. */
function stepLine(text: string): readonly [number, string] {
  const colon = text.indexOf(":");
  const end = text.endsWith(",") ? text.length - 1 : text.length;
  return [Number(text.slice(1, colon - 1)), text.slice(colon + 1, end)];
}

type RawPage = { readonly n: number } & (
  | { readonly h?: undefined }
  | { readonly h: RawHead; readonly of: RawOf }
);

/** Namespace, definition, priority. */
type RawOf = readonly [number, number, number];
type OfRun = Pick<PageHead, "namespaceId" | "definitionId" | "priority">;
/** What may change while the run goes on. */
export type HeadOfRun = Omit<PageHead, keyof OfRun>;

function decodeOf([namespaceId, definitionId, priority]: RawOf): OfRun {
  return { namespaceId, definitionId, priority };
}

interface RawHead {
  /** The deadline of a run that is RUNNING and has one; else the state. */
  readonly s: RunState | number;
  readonly v: number;
  /**
   * Steps left, always steps left, moving, asking, undos left, undone, warnings, escalations; zeros
   * at the end are left out.
   */
  readonly c: readonly number[];
  /** Past its pivot. */
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
  "p",
  "k",
  "pa",
  "e",
  "cn",
  "m",
] satisfies (keyof RawHead)[]);

function encodeHead({ run, endedAt, cancelNote, hasMore, unknown }: HeadOfRun): string {
  const { stepsLeft, finallyLeft, moving, asking, undosLeft, undone, warnings, escalations } = run;
  const counts = [stepsLeft, finallyLeft, moving, asking, undosLeft, undone, warnings, escalations];
  return (
    `{"s":${encodeState(run.state)},"v":${run.version},"c":${encodeTuple(counts, NO_COUNTS)}` +
    `${run.pivoted ? ',"p":1' : ""}` +
    `${run.keyed ? ',"k":1' : ""}${run.parent ? `,"pa":${JSON.stringify(run.parent)}` : ""}` +
    `${endedAt === null ? "" : `,"e":${endedAt}`}` +
    `${cancelNote === null ? "" : `,"cn":${JSON.stringify(cancelNote)}`}` +
    `${hasMore ? ',"m":1' : ""}${encodeUnknown(unknown)}}`
  );
}

const NO_COUNTS: readonly number[] = Object.freeze(Array<number>(8).fill(0));

/** Values at the end that are as usual are left out. */
function encodeTuple(
  values: readonly (number | null)[],
  usual: readonly (number | null)[],
): string {
  const last = values.findLastIndex((value, at) => value !== usual[at]);
  return `[${values
    .slice(0, last + 1)
    .map(String)
    .join(",")}]`;
}

function encodeState(state: RunState): string {
  return state.kind === "RUNNING" && state.deadline !== null
    ? String(state.deadline)
    : JSON.stringify(state);
}

function decodeState(raw: RunState | number): RunState {
  return typeof raw === "number" ? { kind: "RUNNING", deadline: raw } : raw;
}

function decodeHead(raw: RawHead): HeadOfRun {
  const [stepsLeft = 0, finallyLeft = 0, moving = 0, asking = 0, ...others] = raw.c;
  const [undosLeft = 0, undone = 0, warnings = 0, escalations = 0] = others;
  const run: Run = {
    state: decodeState(raw.s),
    version: raw.v,
    ...{ stepsLeft, finallyLeft, moving, asking, undosLeft, undone, warnings },
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

/** A step as its line says it. Whatever is left out is as in a step that was never tried. */
interface RawStep {
  readonly w: RawForward;
  readonly u?: RawUndo;
  /** Strategies; the mark alone, where there is one, as planned first and not changed. */
  readonly s?: EffectMark | readonly RawStrategy[];
  readonly f?: number;
  /** Left out: as the fence. */
  readonly a?: number;
  readonly l?: number;
  readonly t?: readonly number[];
  readonly d?: Doubt;
  readonly v?: number;
  readonly r?: number;
  readonly q?: number;
  /** Fence, kind, number of the attempt with its output; the fence alone, of a first perform. */
  readonly o?: number | readonly [number, AttemptKind, number];
  readonly i?: Items;
  readonly z?: RawTerms;
  readonly p?: string;
  readonly pd?: RawPayload;
  readonly e?: readonly RawAttempt[];
  readonly g?: number;
}

/** The plan's number, whether a person changed its input, the mark. */
type RawStrategy = readonly [number, 0 | 1, EffectMark];
/** Lane, slow, plain, attempt, heartbeat, cancel, stall; as usual, where the end is left out. */
type RawTerms = readonly [
  ...[lane: number, slow?: number | null, plain?: 0 | 1],
  ...[attempt?: number, heartbeat?: number, cancel?: number, stall?: number | null],
];

const STEP_KEYS = new Set<string>([
  "w",
  "u",
  "s",
  "f",
  "a",
  "l",
  "t",
  "d",
  "v",
  "r",
  "q",
  "o",
  "i",
  "z",
  "p",
  "pd",
  "e",
  "g",
] satisfies (keyof RawStep)[]);

function encodeStep(of: PageStep): string {
  const { step, terms, progress, details, attempts, logged } = of;
  const since = step.firstReadyAt ?? 0;
  const side: SideOf = { since, terms, fence: step.fence, attempt: step.attempt };
  const isLeased = step.forward.kind === "LEASED" || step.undo.kind === "LEASED";
  const sides = encodeSides(step, side);
  let text = isLeased ? "" : sides;
  text += encodeStrategies(step.strategies);
  if (step.fence !== 0) text += `,"f":${step.fence}`;
  if (step.attempt !== step.fence) text += `,"a":${step.attempt}`;
  if (step.lost !== 0) text += `,"l":${step.lost}`;
  if (step.tries.length > 0) text += `,"t":[${step.tries.join(",")}]`;
  if (step.doubt !== null) text += `,"d":${JSON.stringify(step.doubt)}`;
  if (step.verifies !== 0) text += `,"v":${step.verifies}`;
  if (step.settleUntil !== null) text += `,"q":${step.settleUntil - since}`;
  if (step.result !== null) text += `,"o":${encodeResult(step.result)}`;
  if (step.items !== null) text += `,"i":${JSON.stringify(step.items)}`;
  if (terms !== null) text += `,"z":${encodeTerms(terms)}`;
  if (progress !== null) text += `,"p":${JSON.stringify(progress)}`;
  if (details !== null) text += `,"pd":${encodePayload(details)}`;
  if (logged !== 0) text += `,"g":${logged}`;
  text += encodeUnknown(of.unknown);
  if (attempts.length > 0)
    text += `,"e":[${attempts.map((attempt) => encodeAttempt(attempt, since)).join(",")}]`;
  if (isLeased) text += sides;
  if (step.firstReadyAt !== null) text += `,"r":${step.firstReadyAt}`;
  return `{${text.slice(1)}}`;
}

function encodeSides({ forward, undo }: Step, of: SideOf): string {
  const undoText = undo.kind === "NONE" ? "" : `,"u":${encodeSide(undo, of)}`;
  const text = `,"w":${encodeSide(forward, of)}`;
  return undo.kind === "LEASED" ? text + undoText : undoText + text;
}

function decodeStep(no: number, raw: RawStep): PageStep {
  const { f: fence = 0 } = raw;
  const attempt = raw.a ?? fence;
  const since = raw.r ?? 0;
  const terms = raw.z === undefined ? null : decodeTerms(raw.z);
  const side: SideOf = { since, terms, fence, attempt };
  const step: Step = {
    no,
    forward: decodeForward(raw.w, side),
    undo: raw.u === undefined ? NO_UNDO : decodeUndo(raw.u, side),
    strategies: decodeStrategies(raw.s),
    fence,
    attempt,
    lost: raw.l ?? 0,
    tries: raw.t ?? NO_TRIES,
    doubt: raw.d ?? null,
    verifies: raw.v ?? 0,
    firstReadyAt: raw.r ?? null,
    settleUntil: raw.q === undefined ? null : since + raw.q,
    result: raw.o === undefined ? null : decodeResult(raw.o),
    items: raw.i ?? null,
  };
  return {
    step,
    terms,
    progress: raw.p ?? null,
    details: raw.pd === undefined ? null : decodePayload(raw.pd),
    attempts: raw.e?.map((one) => decodeAttempt(one, since)) ?? [],
    logged: raw.g ?? 0,
    ...unknownOf(raw, STEP_KEYS),
  };
}

const NO_UNDO: Undo = Object.freeze({ kind: "NONE" });
const NO_TRIES: readonly number[] = Object.freeze([]);
const PLANNED: readonly Strategy[] = Object.freeze([
  Object.freeze({ planned: 0, changed: false, mark: "NONE" } as const),
]);

function encodeStrategies(strategies: readonly Strategy[]): string {
  const [first] = strategies;
  const isFirst = strategies.length === 1 && first?.planned === 0 && !first.changed;
  if (!isFirst) return `,"s":${JSON.stringify(strategies.map(rawStrategy))}`;
  return first.mark === "NONE" ? "" : `,"s":"${first.mark}"`;
}

function decodeStrategies(raw: RawStep["s"]): readonly Strategy[] {
  if (raw === undefined) return PLANNED;
  return typeof raw === "string"
    ? [{ planned: 0, changed: false, mark: raw }]
    : raw.map(strategyOf);
}

function rawStrategy({ planned, changed, mark }: Strategy): RawStrategy {
  return [planned, changed ? 1 : 0, mark];
}

function strategyOf([planned, changed, mark]: RawStrategy): Strategy {
  return { planned, changed: changed === 1, mark };
}

function encodeResult({ fence, kind, n }: ResultRef): string {
  return kind === "perform" && n === 0 ? String(fence) : `[${fence},"${kind}",${n}]`;
}

function decodeResult(raw: NonNullable<RawStep["o"]>): ResultRef {
  const [fence, kind, n] = typeof raw === "number" ? ([raw, "perform", 0] as const) : raw;
  return { fence, kind, n };
}

const USUAL_TERMS = Object.freeze([
  ...[null, null, 1, TIMEOUTS_DEFAULT.attemptMs, TIMEOUTS_DEFAULT.heartbeatMs],
  ...[TIMEOUTS_DEFAULT.cancelMs, TIMEOUTS_DEFAULT.stallMs],
]);

function encodeTerms(terms: TaskTerms): string {
  const { lane, attemptMs, heartbeatMs, cancelMs, stallMs, slowAfterMs, plain } = terms;
  return encodeTuple(
    [lane, slowAfterMs, plain ? 1 : 0, attemptMs, heartbeatMs, cancelMs, stallMs],
    USUAL_TERMS,
  );
}

function decodeTerms(raw: RawTerms): TaskTerms {
  const [lane, slowAfterMs = null, plain = 1, ...times] = raw;
  const usual = TIMEOUTS_DEFAULT;
  const [attemptMs = usual.attemptMs, heartbeatMs = usual.heartbeatMs, ...others] = times;
  const [cancelMs = usual.cancelMs, stallMs = usual.stallMs] = others;
  return { lane, attemptMs, heartbeatMs, cancelMs, stallMs, slowAfterMs, plain: plain === 1 };
}
