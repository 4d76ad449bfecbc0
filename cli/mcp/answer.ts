/**
 * What a tool answers: one JSON object of a bounded size.
 *
 *     {"drover": "The run has ended.", "data": {"run": {...}}, "left_out": ["..."]}
 *
 * `drover` and `left_out` are sentences of this program, in which nothing of others occurs. `data`
 * is data: names, messages and payloads of workflows, agents, callers and services, each a field of
 * its own. A payload is one field with its JSON as text.
 */
import type { CallToolResult } from "@modelcontextprotocol/server";

/** The most characters of the JSON of an answer. */
export const ANSWER_CHARS_MAX = 24_000;

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export interface Answer {
  readonly drover: string;
  /** Its lists are cut at their ends if the answer would be too large. */
  readonly data: JsonObject;
  /** How to get what is left out, as a sentence; "": there is no way to ask for less. */
  readonly narrower?: string;
}

/** The same, as a tool sends it. */
export interface SentAnswer {
  readonly drover: string;
  readonly data: JsonObject;
  readonly left_out: readonly string[];
}

/** The most characters of one text; the answer takes the first with which it is small enough. */
const textCharsMax = [8_000, 2_000, 400, 100] as const;
/** Of a list or an object that is no list of `data` itself. */
const entriesMax = 100;

export function bounded({ drover, data, narrower = "" }: Answer): SentAnswer {
  let least: SentAnswer | undefined;
  for (const chars of textCharsMax) {
    least = sentWith({ drover, data, narrower }, chars, Number.POSITIVE_INFINITY);
    if (isSmall(least)) return least;
  }
  let longest = Math.max(...Object.values(data).map((of) => (isList(of) ? of.length : 0)));
  while (longest > 1) {
    longest = Math.floor(longest / 2);
    least = sentWith({ drover, data, narrower }, 100, longest);
    if (isSmall(least)) return least;
  }
  throw new Error(
    `an answer would have more than ${ANSWER_CHARS_MAX} characters, even with short texts and lists`,
  );
}

/** As structured content for programs, and as text for clients that read only that. */
export function toolResult(answer: SentAnswer): CallToolResult {
  return {
    content: [{ type: "text", text: JSON.stringify(answer) }],
    structuredContent: { ...answer },
  };
}

function isSmall(answer: SentAnswer): boolean {
  return JSON.stringify(answer).length <= ANSWER_CHARS_MAX;
}

interface Cuts {
  texts: number;
  entries: number;
}

function sentWith(
  { drover, data, narrower }: Required<Answer>,
  chars: number,
  itemsMax: number,
): SentAnswer {
  const cuts: Cuts = { texts: 0, entries: 0 };
  const lists: string[] = [];
  const kept = Object.entries(data).map(([name, value]): [string, Json] => {
    if (!isList(value)) return [name, cutValue(value, chars, cuts)];
    if (value.length > itemsMax)
      lists.push(`Of ${name}, ${itemsMax} of ${value.length} are shown.`);
    return [name, value.slice(0, itemsMax).map((item) => cutValue(item, chars, cuts))];
  });
  const left = [
    ...lists,
    ...(cuts.entries > 0 ? [`${cuts.entries} entries of long lists are left out.`] : []),
    ...(cuts.texts > 0 ? [`${cuts.texts} long texts are cut; they end with "…".`] : []),
  ];
  const more = left.length > 0 && narrower !== "" ? [narrower] : [];
  return { drover, data: Object.fromEntries(kept), left_out: [...left, ...more] };
}

function cutValue(value: Json, chars: number, cuts: Cuts): Json {
  if (typeof value === "string") return cutText(value, chars, cuts);
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) {
    cuts.entries += Math.max(0, value.length - entriesMax);
    return value.slice(0, entriesMax).map((item) => cutValue(item, chars, cuts));
  }
  const entries = Object.entries(value);
  cuts.entries += Math.max(0, entries.length - entriesMax);
  return Object.fromEntries(
    entries
      .slice(0, entriesMax)
      .map(([name, of]) => [cutText(name, chars, cuts), cutValue(of, chars, cuts)]),
  );
}

function cutText(text: string, chars: number, cuts: Cuts): string {
  if (text.length <= chars) return visible(text);
  cuts.texts += 1;
  return `${visible(text.slice(0, chars))}…`;
}

/**
 * Characters that a person does not see in a text, but a language model reads: controls, marks of
 * direction, tags, and variation selectors in a row, which can carry hidden words.
 */
const hidden = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]|[\u{E0100}-\u{E01EF}]|[\uFE00-\uFE0F]{2,}/gu;

/** Each hidden character becomes the replacement character. */
export function visible(text: string): string {
  return text.toWellFormed().replaceAll(hidden, "\uFFFD");
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
