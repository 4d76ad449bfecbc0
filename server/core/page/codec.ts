// Encodes pages as text, and decodes them: the only place that knows the stored form of a page.
//
// A page is JSON in lines: the first has the format, the page's number and the head, each other
// line has one step. JSON text has no line feed of its own, so a line can be cut out, stored and
// written again without being parsed. Keys are short, since each write of a page writes all of it;
// values that are as in a fresh step are left out. Keys that this version does not know are
// preserved, so that a server of the previous version may write a page of the next one.
//
//   {"f":1,"n":0,"h":{...},"s":{
//   "1":{...},
//   "0":{...}
//   },"of":[...]}
//
// Text that does not change is last: when PostgreSQL updates a row within its block, it logs
// neither the beginning nor the end that the old and the new row have in common. So the last step
// is the first line, and a chain of steps ends with the steps that have ended. A line ends with the
// current or last holder of its task, and with the time when its step was first ready. Other times
// of a line are counted from that time.
import type { AttemptKind } from "../model/attempt.ts";
import type { Items } from "../model/items.ts";
import type { ResultRef, Step, Undo, UnknownOutcome } from "../model/model.ts";
import type { EffectStatus, Strategy } from "../model/strategy.ts";
import { decodeAttempt, encodeAttempt, type RawAttempt } from "./attempt-codec.ts";
import {
  decodePayload,
  decodeTerms,
  encodePayload,
  encodeTerms,
  encodeUnknown,
  type RawPayload,
  type RawTerms,
  unknownOf,
} from "./field-codec.ts";
import {
  decodeConstants,
  decodeHead,
  encodeConstants,
  encodeHead,
  type HeadOfRun,
  type RawConstants,
  type RawHead,
} from "./head-codec.ts";
import type { Page, PageStep } from "./page.ts";
import {
  decodeForward,
  decodeUndo,
  encodeSide,
  type RawForward,
  type RawUndo,
  type SideOf,
} from "./side-codec.ts";

/** Format of the text. A reader refuses any other format. */
const PAGE_FORMAT = 1;

/** A page with its text, and the text of each step. */
export interface EncodedPage {
  readonly page: Page;
  readonly text: string;
  /** By step key: the lines of its steps, as they are in the text. */
  readonly lines: ReadonlyMap<number, string>;
}

/** `before`: an earlier version of the page. The lines of unchanged steps are taken from it. */
export function encodePage(page: Page, before: EncodedPage | null = null): EncodedPage {
  const lines = new Map<number, string>();
  let steps = "";
  for (const [stepKey, step] of page.steps) {
    const same = before?.page.steps.get(stepKey) === step ? before.lines.get(stepKey) : undefined;
    const line = same ?? encodeStep(step);
    lines.set(stepKey, line);
    steps = steps === "" ? `\n"${stepKey}":${line}` : `\n"${stepKey}":${line},${steps}`;
  }
  const { no, head } = page;
  const of = head === null ? "" : `,"of":${encodeConstants(head)}`;
  const first = `{"f":${PAGE_FORMAT},"n":${no},${head === null ? "" : `"h":${encodeHead(head)},`}"s":{`;
  return { page, lines, text: `${first}${steps}\n}${of}}` };
}

/** Throws if the text has another format. */
export function decodePage(text: string): EncodedPage {
  expectFormat(text);
  const [first = "", ...rest] = text.split("\n");
  const raw: RawPage = JSON.parse(`${first}${rest.at(-1)}`);
  const steps = new Map<number, PageStep>();
  const lines = new Map<number, string>();
  // The last line closes the page.
  for (let at = rest.length - 2; at >= 0; at--) {
    const [stepKey, line] = stepLine(rest[at] ?? "");
    lines.set(stepKey, line);
    steps.set(stepKey, decodeStep(stepKey, JSON.parse(line)));
  }
  const head = raw.h === undefined ? null : { ...decodeConstants(raw.of), ...decodeHead(raw.h) };
  return { page: { no: raw.n, head, steps }, text, lines };
}

/** Decodes the head of a first page from the first line of its text. */
export function decodePageHead(line: string): HeadOfRun {
  expectFormat(line);
  const { h }: Pick<RawPage, "h"> = JSON.parse(`${line}}}`);
  if (h === undefined) throw new Error("a page was read for its head, and it has none");
  return decodeHead(h);
}

/** The format is at the same position in every version of the text. */
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

/** Splits `"12":{...},` into the step key and the object. */
function stepLine(text: string): readonly [number, string] {
  const colon = text.indexOf(":");
  const end = text.endsWith(",") ? text.length - 1 : text.length;
  return [Number(text.slice(1, colon - 1)), text.slice(colon + 1, end)];
}

type RawPage = { readonly n: number } & (
  | { readonly h?: undefined }
  | { readonly h: RawHead; readonly of: RawConstants }
);

/**
 * A step as stored in its line. A value that is left out is that of a step that was never tried.
 */
interface RawStep {
  readonly w: RawForward;
  readonly u?: RawUndo;
  /**
   * Strategies. The effect status alone represents a single strategy, the first of the plan and
   * unchanged. Left out: that strategy, with its standard status.
   */
  readonly s?: EffectStatus | readonly RawStrategy[];
  readonly f?: number;
  /** Attempt; left out: the same as the fence. */
  readonly a?: number;
  readonly l?: number;
  readonly t?: readonly number[];
  readonly d?: UnknownOutcome;
  readonly v?: number;
  readonly r?: number;
  readonly q?: number;
  /**
   * Fence, kind and number of the attempt with its output; the fence alone for a perform; 0: none.
   * Left out: the last perform if the step has succeeded, else none.
   */
  readonly o?: number | readonly [number, AttemptKind, number];
  readonly i?: Items;
  readonly z?: RawTerms;
  readonly p?: string;
  readonly pd?: RawPayload;
  readonly e?: readonly RawAttempt[];
  readonly g?: number;
}

/** Index in the plan, whether a person changed its input, the effect status. */
type RawStrategy = readonly [number, 0 | 1, EffectStatus];

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
  text += encodeStrategies(step);
  if (step.fence !== 0) text += `,"f":${step.fence}`;
  if (step.attempt !== step.fence) text += `,"a":${step.attempt}`;
  if (step.lost !== 0) text += `,"l":${step.lost}`;
  if (step.tries.length > 0) text += `,"t":[${step.tries.join(",")}]`;
  if (step.unknownOutcome !== null) text += `,"d":${JSON.stringify(step.unknownOutcome)}`;
  if (step.verifies !== 0) text += `,"v":${step.verifies}`;
  if (step.settleUntil !== null) text += `,"q":${step.settleUntil - since}`;
  text += encodeResult(step);
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
    strategies: decodeStrategies(raw),
    fence,
    attempt,
    lost: raw.l ?? 0,
    tries: raw.t ?? NO_TRIES,
    unknownOutcome: raw.d ?? null,
    verifies: raw.v ?? 0,
    firstReadyAt: raw.r ?? null,
    settleUntil: raw.q === undefined ? null : since + raw.q,
    result: decodeResult(raw),
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
const NOT_TRIED: readonly Strategy[] = [plannedFirst("NONE")];
const SUCCEEDED: readonly Strategy[] = [plannedFirst("MADE")];

function plannedFirst(effectStatus: EffectStatus): Strategy {
  return Object.freeze({ planned: 0, changed: false, effectStatus });
}

/** What a step that has succeeded left behind, and any other step has not left yet. */
function standardStrategies(hasSucceeded: boolean): readonly Strategy[] {
  return hasSucceeded ? SUCCEEDED : NOT_TRIED;
}

function encodeStrategies({ forward, strategies }: Step): string {
  const [first] = strategies;
  const isFirst = strategies.length === 1 && first?.planned === 0 && !first.changed;
  if (!isFirst) return `,"s":${JSON.stringify(strategies.map(rawStrategy))}`;
  const [standard] = standardStrategies(forward.kind === "SUCCEEDED");
  return first.effectStatus === standard?.effectStatus ? "" : `,"s":"${first.effectStatus}"`;
}

function decodeStrategies({ w, s }: RawStep): readonly Strategy[] {
  if (s === undefined) return standardStrategies(w === "SUCCEEDED");
  return typeof s === "string" ? [plannedFirst(s)] : s.map(strategyOf);
}

function rawStrategy({ planned, changed, effectStatus }: Strategy): RawStrategy {
  return [planned, changed ? 1 : 0, effectStatus];
}

function strategyOf([planned, changed, effectStatus]: RawStrategy): Strategy {
  return { planned, changed: changed === 1, effectStatus };
}

function encodeResult({ forward, fence, result }: Step): string {
  const standard = forward.kind === "SUCCEEDED" ? fence : 0;
  if (result !== null && !(result.kind === "perform" && result.n === 0 && result.fence > 0))
    return `,"o":[${result.fence},"${result.kind}",${result.n}]`;
  const of = result?.fence ?? 0;
  return of === standard ? "" : `,"o":${of}`;
}

function decodeResult({ w, f = 0, o = w === "SUCCEEDED" ? f : 0 }: RawStep): ResultRef | null {
  if (o === 0) return null;
  const [fence, kind, n] = typeof o === "number" ? ([o, "perform", 0] as const) : o;
  return { fence, kind, n };
}
