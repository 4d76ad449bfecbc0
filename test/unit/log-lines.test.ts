/** Which lines of handlers are stored, and what is cut. */
import { expect, test } from "vitest";
import {
  EMPTY_LOG,
  isFull,
  LOG_BYTES_MAX,
  type LogText,
  linesToStore,
} from "../../server/core/log-lines.ts";

const LINE_MAX = 8 * 1024;
/** What each line counts beside its text. */
const BESIDE = 32;

function line(message: string, fields: LogText["fields"] = {}): LogText {
  return { at: 1_000, level: "info", message, fields };
}

const bytesOf = (message: string) => Buffer.byteLength(message);

test("lines are numbered from the first of the call, and each counts 32 bytes more than its text", () => {
  expect(linesToStore(EMPTY_LOG, 1, [line("one"), line(""), line("ä", { card: "42" })])).toEqual([
    { ...line("one"), line: 1, storedBytes: BESIDE + 3 },
    { ...line(""), line: 2, storedBytes: 2 * BESIDE + 3 },
    { ...line("ä", { card: "42" }), line: 3, storedBytes: 3 * BESIDE + 3 + 2 + 6 },
  ]);
});

test("a line that is stored already is left out, by its number", () => {
  const end = { line: 2, storedBytes: 100 };
  const sent = [line("one"), line("two"), line("three")];
  expect(linesToStore(end, 1, sent)).toMatchObject([{ line: 3, message: "three" }]);
  expect(linesToStore({ ...end, line: 3 }, 1, sent)).toEqual([]);
});

test("a call may begin after lines that never came", () => {
  const end = { line: 2, storedBytes: 100 };
  expect(linesToStore(end, 9, [line("nine")])).toMatchObject([
    { line: 9, storedBytes: 100 + BESIDE + 4 },
  ]);
});

test("a line of 8 KiB is stored whole; of a longer one the end of the message is cut, and it says so", () => {
  const fields = { card: "42" };
  const whole = "x".repeat(LINE_MAX - 6);
  expect(linesToStore(EMPTY_LOG, 1, [line(whole, fields)])).toMatchObject([{ message: whole }]);
  const [cut] = linesToStore(EMPTY_LOG, 1, [line(`${whole}y`, fields)]);
  expect(cut?.message).toMatch(/^x+ … \[Drover cut this line: a line may have 8 KiB\]$/);
  expect(bytesOf(cut?.message ?? "")).toBe(LINE_MAX - 6);
  expect(cut).toMatchObject({ fields, storedBytes: BESIDE + LINE_MAX });
});

test.each([0, 1, 2, 3])("no character is cut in two, with %i bytes before it", (before) => {
  const text = "-".repeat(before) + "🙂".repeat(LINE_MAX / 4);
  const [cut] = linesToStore(EMPTY_LOG, 1, [line(`${text}!`)]);
  expect(cut?.message).toMatch(/^-*(?:🙂)+ … \[Drover/u);
  expect(bytesOf(cut?.message ?? "")).toBeLessThanOrEqual(LINE_MAX);
});

test("the last line that fits fills the log; one more byte ends it, with a line that says so", () => {
  const end = { line: 7, storedBytes: LOG_BYTES_MAX - BESIDE - 3 };
  const [fits] = linesToStore(end, 8, [line("yes")]);
  expect(fits).toMatchObject({ message: "yes", storedBytes: LOG_BYTES_MAX });
  expect(fits && isFull(fits)).toBe(false);
  const stored = linesToStore(end, 8, [line("four"), line("never")]);
  expect(stored).toMatchObject([{ line: 8, level: "warn", fields: {} }]);
  expect(stored[0]?.message).toContain("Drover cut the log here");
  expect(stored[0] && isFull(stored[0])).toBe(true);
});

test("nothing is stored after the line that ends the log", () => {
  const ended = { line: 8, storedBytes: LOG_BYTES_MAX + 1 };
  expect(linesToStore(ended, 9, [line(""), line("never")])).toEqual([]);
});
