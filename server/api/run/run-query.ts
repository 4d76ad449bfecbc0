// The text form of a filter of runs: conditions with a space between, all of which a run must meet.
//
//   state:failed,cancelled       state of the run; `open` and `ended` stand for several
//   waits:approval,signal        what an open run does or waits for
//   workflow:order               name of the workflow
//   step:hotel  error:sold-out   a step that failed for good, or was escalated; its error code
//   key:order-17  key^:order-    the key, or its beginning
//   label.tenant=acme            a label
//   parent:RUN                   child runs of this run
//   created>2026-11-01  ended<now-2h   `>`: at this time or later; `<`: before it
//
// A value with a space is written in double quotes.
import type { RunState } from "../../core/model/model.ts";
import { WAIT_KINDS } from "../../core/model/waits.ts";
import { durationMs } from "../../duration-text.ts";
import { ANY_RUN, type RunFilter, type SubstateFilter } from "../../store/lists.ts";
import { isUuid } from "../../uuid.ts";
import { ENDED_STATES, OPEN_STATES } from "./convert-run.ts";

type ReadQuery =
  | { readonly kind: "read"; readonly filter: Partial<RunFilter> }
  /** `column`: of the first character that cannot be read, from 1. */
  | { readonly kind: "unreadable"; readonly column: number; readonly message: string };

/** `now`: to which `now-2h` refers, in milliseconds since 1970. */
export function readRunQuery(text: string, now: number): ReadQuery {
  try {
    let filter: Partial<RunFilter> = {};
    for (const condition of conditionsOf(text)) {
      const part = partOf(condition, filter, now);
      const isTwice = Object.keys(part).some((name) => name in filter && !(name in GATHERED));
      if (isTwice)
        throw new Unreadable(condition.at, `"${condition.field}" is given twice: give it once`);
      filter = { ...filter, ...part };
    }
    return { kind: "read", filter };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { kind: "unreadable", column: error.at + 1, message: error.message };
  }
}

/** Parts of the filter to which several conditions add. */
const GATHERED: Readonly<Record<string, true>> = { labels: true, failure: true };

class Unreadable extends Error {
  /** Of the character, from 0. */
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

interface Condition {
  readonly field: string;
  readonly operator: string;
  readonly value: string;
  /** Of the condition and of its value, from 0. */
  readonly at: number;
  readonly valueAt: number;
}

const HEAD = /([A-Za-z0-9._-]+)(\^:|>=|<=|[:=<>])/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"(?=\s|$)/y;
const PLAIN = /[^\s"]+(?=\s|$)/y;
const SPACE = /\s*/y;

function conditionsOf(text: string): readonly Condition[] {
  const conditions: Condition[] = [];
  for (let at = endOf(SPACE, text, 0); at < text.length; ) {
    const head = matchAt(HEAD, text, at);
    if (!head) {
      const word = /^\S*/.exec(text.slice(at))?.[0] ?? "";
      throw new Unreadable(at, `"${word}" is no condition: ${EXAMPLE}`);
    }
    const valueAt = at + head[0].length;
    const quoted = matchAt(QUOTED, text, valueAt);
    const plain = quoted ?? matchAt(PLAIN, text, valueAt);
    const value = quoted ? (quoted[1] ?? "").replaceAll(/\\(.)/g, "$1") : (plain?.[0] ?? "");
    if (!plain || value === "") throw new Unreadable(valueAt, valueProblem(text, valueAt, head[0]));
    conditions.push({ field: head[1] ?? "", operator: head[2] ?? "", value, at, valueAt });
    at = endOf(SPACE, text, valueAt + plain[0].length);
  }
  return conditions;
}

const EXAMPLE = "write FIELD:VALUE, for example state:failed or key^:order-";

function valueProblem(text: string, at: number, head: string): string {
  if (text[at] === '"') return `the quote after ${head} is not closed, or something follows it`;
  return `${head} needs a value; write one with spaces or quotes as "..."`;
}

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  return form.exec(text);
}

function endOf(form: RegExp, text: string, at: number): number {
  return at + (matchAt(form, text, at)?.[0].length ?? 0);
}

function partOf(condition: Condition, before: Partial<RunFilter>, now: number): Partial<RunFilter> {
  const { field, operator, value, at, valueAt } = condition;
  const takes = (...operators: readonly string[]) => {
    if (!operators.includes(operator))
      throw new Unreadable(
        at + field.length,
        `"${field}" does not take "${operator}": write ${operators.map((one) => `${field}${one}VALUE`).join(" or ")}`,
      );
  };
  const name = () => {
    takes(":");
    if (NAME.test(value)) return value;
    throw new Unreadable(valueAt, `"${value}" must be 1 to 128 characters of ${NAME_CHARACTERS}`);
  };
  if (field.startsWith("label.")) {
    takes("=", ":");
    return labelPart(condition, before);
  }
  switch (field) {
    case "state":
      takes(":");
      return { states: listOf(condition, statesOf) };
    case "waits":
      takes(":");
      return { substates: listOf(condition, substatesOf) };
    case "workflow":
      return { workflow: name() };
    case "step":
      return failurePart(condition, before, { step: name() });
    case "error":
      return failurePart(condition, before, { code: name() });
    case "key":
      takes(":", "^:");
      return {
        key: operator === ":" ? { kind: "is", key: value } : { kind: "prefix", prefix: value },
      };
    case "parent":
      takes(":");
      if (isUuid(value)) return { parent: value };
      throw new Unreadable(valueAt, `"${value}" is no id of a run: it must be a UUID`);
    case "created":
    case "ended":
      takes(">", ">=", "<");
      return { [`${field}${operator === "<" ? "Before" : "After"}`]: timeOf(condition, now) };
    default:
      throw new Unreadable(at, `there is no field "${field}": use one of ${FIELDS}`);
  }
}

const FIELDS = "state, waits, workflow, step, error, key, label.NAME, parent, created, ended";
const NAME = /^[A-Za-z0-9._-]{1,128}$/;
const NAME_CHARACTERS = 'A-Z, a-z, 0-9, ".", "_" and "-"';

/** Values with commas between. */
function listOf<T>(
  { value, valueAt }: Condition,
  read: (word: string) => readonly T[] | string,
): T[] {
  let at = valueAt;
  return value.split(",").flatMap((word) => {
    const found = read(word);
    if (typeof found === "string") throw new Unreadable(at, found);
    at += word.length + 1;
    return found;
  });
}

function statesOf(word: string): readonly RunState["kind"][] | string {
  if (word === "open") return OPEN_STATES;
  if (word === "ended") return ENDED_STATES;
  const states = [...OPEN_STATES, ...ENDED_STATES];
  const state = states.find((one) => one === word.toUpperCase());
  if (state) return [state];
  if (substateOf(word)) return `"${word}" is no state of a run: write waits:${word}`;
  const names = states.map((one) => one.toLowerCase()).join(", ");
  return `"${word}" is no state of a run: use one of open, ended, ${names}`;
}

const SUBSTATES: readonly SubstateFilter[] = ["working", "agent", ...WAIT_KINDS];

function substatesOf(word: string): readonly SubstateFilter[] | string {
  const found = substateOf(word);
  if (found) return [found];
  return `a run does not wait for "${word}": use one of ${SUBSTATES.join(", ")}`;
}

function substateOf(word: string): SubstateFilter | undefined {
  return SUBSTATES.find((one) => one === word);
}

function labelPart(
  { field, value, at, valueAt }: Condition,
  { labels = {} }: Partial<RunFilter>,
): Partial<RunFilter> {
  const name = field.slice("label.".length);
  if (name === "") throw new Unreadable(at, "a label has a name: write label.NAME=VALUE");
  if (Object.hasOwn(labels, name))
    throw new Unreadable(at, `"${field}" is given twice: a run has one value for a label`);
  if (value.length > LABEL_MAX)
    throw new Unreadable(valueAt, `the value of a label has ${LABEL_MAX} characters at most`);
  return { labels: { ...labels, [name]: value } };
}

const LABEL_MAX = 256;

function failurePart(
  { field, at }: Condition,
  { failure = ANY_RUN.failure }: Partial<RunFilter>,
  part: Partial<RunFilter["failure"]>,
): Partial<RunFilter> {
  const isTwice = part.step === undefined ? failure.code !== null : failure.step !== null;
  if (isTwice) throw new Unreadable(at, `"${field}" is given twice: give it once`);
  return { failure: { ...failure, ...part } };
}

/** `2026-11-01` and `2026-11-01T12:00` are in UTC; `2026-11-01T12:00+01:00` is not; `now-2h`. */
function timeOf({ value, valueAt }: Condition, now: number): number {
  const relative = /^now(?:-(.+))?$/.exec(value);
  const ago = relative ? durationMs(relative[1] ?? "0s") : null;
  if (ago !== null) return now - ago;
  const [, date = "", time = "T00:00", zone = "Z"] = TIME.exec(value) ?? [];
  const at = Date.parse(`${date}${time}${zone}`);
  if (Number.isFinite(at)) return at;
  throw new Unreadable(
    valueAt,
    `"${value}" is no time: write 2026-11-01, 2026-11-01T12:00Z, or now-2h`,
  );
}

const TIME = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)?(Z|[+-]\d\d:\d\d)?$/;
