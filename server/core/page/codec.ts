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
//   }}
//
// The last step stands first: the steps of a chain that have ended are then the end of the text,
// and PostgreSQL logs of a row that is updated within its block neither the beginning nor the end
// that it has in common with the row before.
import type { AttemptKind } from "../attempt.ts";
import type { Items } from "../items.ts";
import type { Doubt, Parent, Run, RunState, Step, Undo } from "../model.ts";
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
  const head = page.head === null ? "" : `"h":${encodeHead(page.head)},`;
  return { page, lines, text: `{"f":${PAGE_FORMAT},"n":${page.no},${head}"s":{${steps}\n}}` };
}

/** Throws where the text is of another format. */
export function decodePage(text: string): EncodedPage {
  expectFormat(text);
  const [first = "", ...rest] = text.split("\n");
  const raw: RawPage = JSON.parse(`${first}}}`);
  const steps = new Map<number, PageStep>();
  const lines = new Map<number, string>();
  // The last line closes the page.
  for (let at = rest.length - 2; at >= 0; at--) {
    const [place, line] = stepLine(rest[at] ?? "");
    lines.set(place, line);
    steps.set(place, decodeStep(place, JSON.parse(line)));
  }
  const page = { no: raw.n, head: raw.h === undefined ? null : decodeHead(raw.h), steps };
  return { page, text, lines };
}

/** The head of a first page; `line`: the first line of its text. */
export function decodePageHead(line: string): PageHead {
  expectFormat(line);
  const { h }: RawPage = JSON.parse(`${line}}}`);
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

interface RawPage {
  readonly n: number;
  readonly h?: RawHead;
}

interface RawHead {
  /** Namespace, definition, priority. */
  readonly of: readonly [number, number, number];
  readonly s: RunState;
  readonly v: number;
  /** Steps left, always steps left, moving, asking, undos left, undone, warnings, escalations. */
  readonly c: readonly [number, number, number, number, number, number, number, number];
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
  "of",
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

function encodeHead({
  namespaceId,
  definitionId,
  priority,
  run,
  endedAt,
  cancelNote,
  hasMore,
  unknown,
}: PageHead): string {
  const { stepsLeft, finallyLeft, moving, asking, undosLeft, undone, warnings, escalations } = run;
  return (
    `{"of":[${namespaceId},${definitionId},${priority}],"s":${encodeState(run.state)},` +
    `"v":${run.version},"c":[${stepsLeft},${finallyLeft},${moving},${asking},${undosLeft},` +
    `${undone},${warnings},${escalations}]${run.pivoted ? ',"p":1' : ""}` +
    `${run.keyed ? ',"k":1' : ""}${run.parent ? `,"pa":${JSON.stringify(run.parent)}` : ""}` +
    `${endedAt === null ? "" : `,"e":${endedAt}`}` +
    `${cancelNote === null ? "" : `,"cn":${JSON.stringify(cancelNote)}`}` +
    `${hasMore ? ',"m":1' : ""}${encodeUnknown(unknown)}}`
  );
}

/** As the core has it; that of most runs without a generic writer. */
function encodeState(state: RunState): string {
  return state.kind === "RUNNING"
    ? `{"kind":"RUNNING","deadline":${state.deadline}}`
    : JSON.stringify(state);
}

function decodeHead(raw: RawHead): PageHead {
  const [namespaceId, definitionId, priority] = raw.of;
  const [stepsLeft, finallyLeft, moving, asking, undosLeft, undone, warnings, escalations] = raw.c;
  const run: Run = {
    state: raw.s,
    version: raw.v,
    ...{ stepsLeft, finallyLeft, moving, asking, undosLeft, undone, warnings },
    pivoted: raw.p === 1,
    keyed: raw.k === 1,
    parent: raw.pa ?? null,
    escalations,
  };
  return {
    ...{ namespaceId, definitionId, priority, run },
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
  /** Strategies: the plan's number, whether a person changed its input, the mark. */
  readonly s?: readonly (readonly [number, 0 | 1, EffectMark])[];
  readonly f?: number;
  readonly a?: number;
  readonly l?: number;
  readonly t?: readonly number[];
  readonly d?: Doubt;
  readonly v?: number;
  readonly r?: number;
  readonly q?: number;
  /** Fence, kind, number of the attempt with its output. */
  readonly o?: readonly [number, AttemptKind, number];
  readonly i?: Items;
  /** Lane, attempt, heartbeat, cancel, stall, slow (ms), plain. */
  readonly z?: readonly [number, number, number, number, number | null, number | null, 0 | 1];
  readonly p?: string;
  readonly pd?: RawPayload;
  readonly e?: readonly RawAttempt[];
  readonly g?: number;
}

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
  let text = `{"w":${encodeSide(step.forward)}`;
  if (step.undo.kind !== "NONE") text += `,"u":${encodeSide(step.undo)}`;
  if (!isOnlyPlanned(step.strategies))
    text += `,"s":${JSON.stringify(step.strategies.map(rawStrategy))}`;
  if (step.fence !== 0) text += `,"f":${step.fence}`;
  if (step.attempt !== 0) text += `,"a":${step.attempt}`;
  if (step.lost !== 0) text += `,"l":${step.lost}`;
  if (step.tries.length > 0) text += `,"t":[${step.tries.join(",")}]`;
  if (step.doubt !== null) text += `,"d":${JSON.stringify(step.doubt)}`;
  if (step.verifies !== 0) text += `,"v":${step.verifies}`;
  if (step.firstReadyAt !== null) text += `,"r":${step.firstReadyAt}`;
  if (step.settleUntil !== null) text += `,"q":${step.settleUntil}`;
  if (step.result !== null)
    text += `,"o":[${step.result.fence},"${step.result.kind}",${step.result.n}]`;
  if (step.items !== null) text += `,"i":${JSON.stringify(step.items)}`;
  if (terms !== null) text += `,"z":${encodeTerms(terms)}`;
  if (progress !== null) text += `,"p":${JSON.stringify(progress)}`;
  if (details !== null) text += `,"pd":${encodePayload(details)}`;
  if (attempts.length > 0) text += `,"e":[${attempts.map(encodeAttempt).join(",")}]`;
  if (logged !== 0) text += `,"g":${logged}`;
  return `${text}${encodeUnknown(of.unknown)}}`;
}

function decodeStep(no: number, raw: RawStep): PageStep {
  const step: Step = {
    no,
    forward: decodeForward(raw.w),
    undo: raw.u === undefined ? NO_UNDO : decodeUndo(raw.u),
    strategies: raw.s?.map(strategyOf) ?? PLANNED,
    fence: raw.f ?? 0,
    attempt: raw.a ?? 0,
    lost: raw.l ?? 0,
    tries: raw.t ?? NO_TRIES,
    doubt: raw.d ?? null,
    verifies: raw.v ?? 0,
    firstReadyAt: raw.r ?? null,
    settleUntil: raw.q ?? null,
    result: raw.o === undefined ? null : { fence: raw.o[0], kind: raw.o[1], n: raw.o[2] },
    items: raw.i ?? null,
  };
  return {
    step,
    terms: raw.z === undefined ? null : decodeTerms(raw.z),
    progress: raw.p ?? null,
    details: raw.pd === undefined ? null : decodePayload(raw.pd),
    attempts: raw.e?.map(decodeAttempt) ?? [],
    logged: raw.g ?? 0,
    ...unknownOf(raw, STEP_KEYS),
  };
}

const NO_UNDO: Undo = Object.freeze({ kind: "NONE" });
const NO_TRIES: readonly number[] = Object.freeze([]);
const PLANNED: readonly Strategy[] = Object.freeze([
  Object.freeze({ planned: 0, changed: false, mark: "NONE" } as const),
]);

function isOnlyPlanned(strategies: readonly Strategy[]): boolean {
  const [first] = strategies;
  return (
    strategies.length === 1 &&
    first !== undefined &&
    first.planned === 0 &&
    !first.changed &&
    first.mark === "NONE"
  );
}

function rawStrategy({ planned, changed, mark }: Strategy): readonly [number, 0 | 1, EffectMark] {
  return [planned, changed ? 1 : 0, mark];
}

function strategyOf([planned, changed, mark]: readonly [number, 0 | 1, EffectMark]): Strategy {
  return { planned, changed: changed === 1, mark };
}

function encodeTerms(terms: TaskTerms): string {
  const { lane, attemptMs, heartbeatMs, cancelMs, stallMs, slowAfterMs, plain } = terms;
  return `[${lane},${attemptMs},${heartbeatMs},${cancelMs},${stallMs},${slowAfterMs},${plain ? 1 : 0}]`;
}

function decodeTerms(raw: NonNullable<RawStep["z"]>): TaskTerms {
  const [lane, attemptMs, heartbeatMs, cancelMs, stallMs, slowAfterMs, plain] = raw;
  return { lane, attemptMs, heartbeatMs, cancelMs, stallMs, slowAfterMs, plain: plain === 1 };
}
