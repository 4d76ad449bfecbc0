/**
 * The books of one remote service: an append-only file of JSON lines, each a fact, written before
 * any caller is notified of it. What is in the file is what happened, whatever the callers believe;
 * a service that is started again on its file knows everything that it knew.
 *
 * No fsync: the file outlives the process, and it need not outlive the machine.
 */

import { closeSync, ftruncateSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { type Booking, keyProblem, parseBooking } from "./booking.ts";

export interface BookedEntry {
  readonly at: string;
  readonly op: "booked";
  readonly key: string;
  readonly traveller: string;
  readonly booking_id: string;
  readonly booking: Booking;
}

export interface CancelledEntry {
  readonly at: string;
  readonly op: "cancelled";
  readonly key: string;
  /** Both null when nothing was booked under the key: the entry only blocks it. */
  readonly traveller: string | null;
  readonly booking_id: string | null;
}

export type LedgerEntry = BookedEntry | CancelledEntry;

export interface Ledger {
  readonly entries: () => readonly LedgerEntry[];
  readonly append: (entry: LedgerEntry) => void;
  readonly close: () => void;
}

/** The active bookings: made and not cancelled. Two under one purpose are one too many. */
export function activeBookings(entries: readonly LedgerEntry[]): readonly BookedEntry[] {
  const active = new Map<string, BookedEntry>();
  for (const entry of entries) {
    if (entry.op === "booked") active.set(entry.booking_id, entry);
    else if (entry.booking_id !== null) active.delete(entry.booking_id);
  }
  return [...active.values()];
}

/** All entries of a ledger's text; a line that is none is an error that names it. */
export function parseLedger(text: string): readonly LedgerEntry[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line, index) => parseEntry(line, index + 1));
}

export function openLedger(path: string): Ledger {
  const fd = openSync(path, "a+");
  const text = readFileSync(path, "utf8");
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  // The rest after the last line end is an entry that a kill cut off. No caller was notified of it,
  // so it did not happen; left there, it would spoil the next entry.
  if (whole.length < text.length) ftruncateSync(fd, Buffer.byteLength(whole));
  const entries = [...parseLedger(whole)];
  let open = true;

  return Object.freeze({
    entries: () => entries,
    append: (entry: LedgerEntry) => {
      writeFileSync(fd, `${JSON.stringify(entry)}\n`);
      entries.push(entry);
    },
    close: () => {
      if (open) closeSync(fd);
      open = false;
    },
  });
}

function parseEntry(line: string, lineNumber: number): LedgerEntry {
  const value: unknown = parseLine(line);
  if (typeof value === "object" && value !== null) {
    const { at, op, key, traveller, booking_id, booking }: Record<string, unknown> = {
      ...value,
    };
    if (typeof at === "string" && typeof key === "string" && keyProblem(key) === undefined) {
      const parsed = parseBooking(booking);
      if (op === "booked" && typeof booking_id === "string" && parsed.kind === "booking") {
        const { booking } = parsed;
        return { at, op, key, traveller: booking.traveller, booking_id, booking };
      }
      if (op === "cancelled" && isTextOrNull(traveller) && isTextOrNull(booking_id)) {
        return { at, op, key, traveller, booking_id };
      }
    }
  }
  throw new Error(
    `ledger line ${lineNumber} is no entry: ${line.slice(0, 80)}; mend it, or use another file`,
  );
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}
