/**
 * Collects all problems of one text, in the order in which they are found, each with the path of
 * the value and its line and column.
 */
import { nearestWord } from "../core/definition/nearest-word.ts";
import { DroverError, type FieldProblem } from "../errors.ts";

/** A position in the text; both numbers count from 1, columns in UTF-16 units. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** What a text describes. */
export type TextKind = "workflow" | "trigger" | "scenarios" | "agent";

/** What people call such a text, and the line that it begins with. */
export const TEXT_KINDS: Readonly<Record<TextKind, { readonly a: string; readonly line: string }>> =
  Object.freeze({
    workflow: { a: "a workflow", line: "workflow: NAME" },
    trigger: { a: "a trigger", line: "trigger: NAME" },
    scenarios: { a: "a file of scenarios", line: "workflow: FILE" },
    agent: { a: "a file of an agent", line: "agent: NAME" },
  });

export interface TextProblems {
  /** Of all calls of `invalid`, also of those that repeat a problem. */
  readonly count: number;
  /** The list is full: later problems would be noise. */
  readonly full: boolean;
  /** The first ones, each message with its position. */
  readonly list: readonly FieldProblem[];
  /**
   * The path "" is that of the whole text. A problem of a value that aliases or defaults repeat is
   * listed once, with the first of its paths.
   */
  invalid(path: string, place: Place, message: string): void;
  /** Throws all problems as one error; does nothing if there are none. */
  throwIfAny(): void;
}

/** The path of a problem of the text as such, not of a value in it. */
const wholeText = "text";
const problemsMax = 20;
const shownCharactersMax = 60;

export function createTextProblems(what: TextKind = "workflow"): TextProblems {
  const fields: FieldProblem[] = [];
  const messages = new Set<string>();
  let count = 0;
  return Object.freeze({
    get count() {
      return count;
    },
    get full() {
      return messages.size > problemsMax;
    },
    get list() {
      return [...fields];
    },
    invalid(path: string, place: Place, message: string) {
      count++;
      const placed = withPlace(message, place);
      if (messages.has(placed) || messages.size > problemsMax) return;
      messages.add(placed);
      if (fields.length === problemsMax) return;
      fields.push({ path: path === "" ? wholeText : path, message: placed });
    },
    throwIfAny() {
      if (fields.length > 0) throw refusedText(fields, messages.size, what);
    },
  });
}

/** `found`: their number, also of those that are not listed. */
export function refusedText(
  fields: readonly FieldProblem[],
  found: number,
  what: TextKind,
): DroverError {
  const [first] = fields;
  if (first === undefined) throw new Error("a refusal needs a problem");
  return new DroverError("INVALID_DEFINITION", sentence(first, found, what), { fields });
}

function sentence(first: FieldProblem, found: number, what: TextKind): string {
  const where = first.path === wholeText ? "" : `${first.path}: `;
  if (found === 1) return `The ${what} text has a problem. ${where}${first.message}`;
  const count = found > problemsMax ? `more than ${problemsMax}` : String(found);
  return `The ${what} text has ${count} problems. The first: ${where}${first.message}`;
}

/** The message as people get it for a text. */
export function withPlace(message: string, { line, column }: Place): string {
  return `${message} (line ${line}, column ${column})`;
}

/** A value of the text as messages show it; a long one is clipped. */
export function shown(value: string): string {
  const short =
    value.length > shownCharactersMax ? `${value.slice(0, shownCharactersMax)}…` : value;
  return JSON.stringify(short);
}

/** What to write instead of an unknown word: the nearest known word, or all known words. */
export function suggestion(word: string, known: readonly string[]): string {
  const near = nearestWord(word, known);
  return near === null ? `write one of ${known.join(", ")}` : `did you mean "${near}"?`;
}
