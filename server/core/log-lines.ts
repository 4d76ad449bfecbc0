// The limits of what handlers log, as one rule: which lines of a call are stored, and how. A line
// is stored once, by its number. What is beyond a limit is cut, and the log itself says so.
import type { EpochMs } from "./model/attempt.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LogText {
  readonly at: EpochMs;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** What is stored of an attempt: the number of its last line, and the bytes of all its lines. */
export interface LogEnd {
  readonly line: number;
  readonly storedBytes: number;
}

/** A line as it is stored; `storedBytes` is that of the attempt up to this line. */
export interface StoredLine extends LogText, LogEnd {}

/** Most bytes of one line: its message and its fields. */
export const LINE_BYTES_MAX = 8 * 1024;
/** Most bytes of the lines of an attempt. A line counts at least LINE_BYTES_MIN. */
export const LOG_BYTES_MAX = 64 * 1024;
/** What each line counts beside its text, so that empty lines are bounded too. */
const LINE_BYTES_MIN = 32;

export const EMPTY_LOG: LogEnd = Object.freeze({ line: 0, storedBytes: 0 });
const encoder = new TextEncoder();
const CUT_LINE = " … [Drover cut this line: a line may have 8 KiB]";
const CUT_LOG =
  "Drover cut the log here: of an attempt 64 KiB are stored, and later lines are not.";

export function isFull({ storedBytes }: LogEnd): boolean {
  return storedBytes > LOG_BYTES_MAX;
}

/** `first`: the number of the first of these lines. */
export function linesToStore(
  end: LogEnd,
  first: number,
  lines: readonly LogText[],
): readonly StoredLine[] {
  const stored: StoredLine[] = [];
  let { storedBytes } = end;
  for (const [index, text] of lines.entries()) {
    const line = first + index;
    if (line <= end.line || storedBytes > LOG_BYTES_MAX) continue;
    const cut = cutLine(text);
    const bytes = LINE_BYTES_MIN + bytesOf(cut);
    if (storedBytes + bytes <= LOG_BYTES_MAX) {
      storedBytes += bytes;
      stored.push({ ...cut, line, storedBytes });
    } else {
      storedBytes = LOG_BYTES_MAX + 1;
      stored.push({ at: text.at, level: "warn", message: CUT_LOG, fields: {}, line, storedBytes });
    }
  }
  return stored;
}

function cutLine(text: LogText): LogText {
  const excess = bytesOf(text) - LINE_BYTES_MAX;
  if (excess <= 0) return text;
  const bytes = encoder.encode(text.message);
  const left = bytes.length - excess - utf8Bytes(CUT_LINE);
  // A character that is cut in two is left out.
  const kept = new TextDecoder().decode(bytes.subarray(0, left), { stream: true });
  return { ...text, message: kept + CUT_LINE };
}

function bytesOf({ message, fields }: LogText): number {
  return Object.entries(fields).reduce(
    (bytes, [key, value]) => bytes + utf8Bytes(key) + utf8Bytes(value),
    utf8Bytes(message),
  );
}

function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}
