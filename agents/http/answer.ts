/**
 * An answer as expressions and outputs see it: without secrets, its body read as JSON where the
 * service says so.
 */
import type { Json } from "@drover/server/expressions/json.ts";
import { ANY, scalar, type ValueType } from "@drover/server/expressions/types.ts";
import { scopeWith } from "../facts.ts";
import type { Secrets } from "../secrets.ts";
import type { RawAnswer } from "./exchange.ts";

export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, or text; null: there is none, or it could not be read. */
  readonly body: Json;
  /** Why the body could not be read; null: it was. */
  readonly lacks: RawAnswer["lacks"];
  /** The start of the body, for people. */
  readonly excerpt: string;
}

/** Headers that an output has, where no expression makes it. */
const KEPT_HEADERS = ["content-type", "etag", "location"];
const EXCERPT_CHARACTERS = 300;

const RESPONSE: ValueType = {
  kind: "record",
  fields: new Map<string, ValueType>([
    ["status", scalar("int")],
    ["headers", { kind: "map", value: scalar("string") }],
    ["body", ANY],
  ]),
};

/** The names of expressions about an answer. */
export const ANSWER_SCOPE = scopeWith(new Map([["response", RESPONSE]]));

export function answerOf({ status, headers, bytes, lacks }: RawAnswer, secrets: Secrets): Answer {
  const body = lacks === null ? secrets.hideIn(bodyOf(headers["content-type"] ?? "", bytes)) : null;
  const shown = lacks === "encoded" ? "" : (body ?? secrets.hide(bytes.toString("utf8")));
  const text = typeof shown === "string" ? shown : JSON.stringify(shown);
  const hidden = Object.entries(headers).map(([name, value]) => [name, secrets.hide(value)]);
  return {
    status,
    headers: Object.fromEntries(hidden),
    body,
    lacks,
    excerpt: text.slice(0, EXCERPT_CHARACTERS).replaceAll(/\s+/g, " ").trim(),
  };
}

function bodyOf(type: string, bytes: Buffer): Json {
  if (bytes.length === 0) return null;
  const text = bytes.toString("utf8");
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) return text;
  try {
    return exactJson(text);
  } catch {
    return text;
  }
}

/** Whole numbers beyond 2^53 become text: as numbers they would lose digits, as of an id. */
function exactJson(text: string): Json {
  const exact = (_key: string, value: unknown, ...[given]: readonly { source?: string }[]) => {
    const isLarge = typeof value === "number" && !Number.isSafeInteger(value);
    return isLarge && /^-?\d+$/.test(given?.source ?? "") ? given?.source : value;
  };
  const json: Json = JSON.parse(text, exact);
  return json;
}

export function responseOf({ status, headers, body }: Answer): Json {
  return { status, headers, body };
}

/** What a step has as its output, where no expression makes it. */
export function outputOf({ status, headers, body }: Answer): Json {
  const kept = KEPT_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { status, headers: Object.fromEntries(kept), body };
}

/** Of a text as "4xx", "500-599", or a number. */
export function fitsStatus(status: number, patterns: readonly (number | string)[]): boolean {
  return patterns.some((pattern) => {
    if (typeof pattern === "number") return pattern === status;
    if (pattern.endsWith("xx")) return pattern.startsWith(String(Math.floor(status / 100)));
    const [from = "", to = ""] = pattern.split("-");
    return status >= Number(from) && status <= Number(to);
  });
}

/** Longer than any wait that the server takes. */
const WAIT_MS_MAX = 3_650 * 86_400_000;

/**
 * The wait that the service asks for, in ms; null: none that can be read. A date is compared with
 * the `date` of the same answer, as clocks differ.
 */
export function retryAfterMs({ headers }: Pick<Answer, "headers">, nowMs: number): number | null {
  const { "retry-after": text = "", date = "" } = headers;
  if (/^\d{1,12}$/.test(text)) return Math.min(Number(text) * 1_000, WAIT_MS_MAX);
  const at = Date.parse(text);
  if (Number.isNaN(at) || !/[A-Za-z]/.test(text)) return null;
  const serviceMs = Date.parse(date);
  const wait = at - (Number.isNaN(serviceMs) ? nowMs : serviceMs);
  return Math.min(Math.max(wait, 0), WAIT_MS_MAX);
}
