/**
 * The check. What the remote services did is in their ledgers, whatever Drover believes, so
 * the ledgers decide: for each holiday every wanted booking once, or none.
 *
 *   COMPLETED     each ledger holds one booking of the run, made once, never cancelled
 *   COMPENSATED   no ledger holds a booking of the run that is active
 *   and no ledger holds a booking of anything else
 */
import { readFileSync } from "node:fs";
import { type ServiceKind, serviceKinds } from "../services/booking-desk.ts";
import { activeBookings, type LedgerEntry, parseLedger } from "../services/ledger.ts";
import type { Holiday } from "./holidays.ts";

export type Ledgers = Readonly<Record<ServiceKind, readonly LedgerEntry[]>>;

export interface Problem {
  readonly run: string;
  readonly message: string;
}

/** An entry that is being written at this time is not there yet. */
export function readLedger(path: string): readonly LedgerEntry[] {
  return parseLedger(readFileSync(path, "utf8"));
}

export function readLedgers({
  flight,
  hotel,
  car,
}: Readonly<Record<ServiceKind, string>>): Ledgers {
  return { flight: readLedger(flight), hotel: readLedger(hotel), car: readLedger(car) };
}

/** How many bookings of the run were made, and how many of them are active. */
export function bookingsOf(entries: readonly LedgerEntry[], run: string) {
  const made = entries.filter((entry) => entry.op === "booked" && entry.booking.run === run);
  const active = activeBookings(entries).filter(({ booking }) => booking.run === run);
  return { made: made.length, active: active.length };
}

/** What is wrong; nothing if each holiday ended as it had to and the ledgers agree. */
export function checkLedgers(
  holidays: readonly Holiday[],
  states: ReadonlyMap<string, string>,
  ledgers: Ledgers,
): readonly Problem[] {
  const problems = holidays.flatMap((holiday) => checkHoliday(holiday, states, ledgers));
  const wanted = new Set(holidays.map(({ run }) => run));
  for (const kind of serviceKinds) {
    for (const { booking, booking_id } of activeBookings(ledgers[kind])) {
      const run = String(booking.run ?? "");
      if (wanted.has(run)) continue;
      const message = `${kind}: ${booking_id} for ${booking.traveller} belongs to no holiday`;
      problems.push({ run, message });
    }
  }
  return problems;
}

function checkHoliday(
  { run, end }: Holiday,
  states: ReadonlyMap<string, string>,
  ledgers: Ledgers,
): Problem[] {
  const problems: Problem[] = [];
  const state = states.get(run) ?? "unknown to Drover";
  if (state !== end) {
    problems.push({ run, message: `the run is ${state}; it had to end ${end}` });
  }
  for (const kind of serviceKinds) {
    const message = checkBookings(kind, end, bookingsOf(ledgers[kind], run));
    if (message !== null) problems.push({ run, message });
  }
  return problems;
}

function checkBookings(
  kind: ServiceKind,
  end: Holiday["end"],
  { made, active }: { readonly made: number; readonly active: number },
): string | null {
  if (end === "COMPENSATED") {
    return active === 0 ? null : `${kind}: ${active} booking(s) left standing; none may be`;
  }
  if (made === 0) return `${kind}: the booking is missing`;
  if (made > 1) return `${kind}: booked ${made} times; once was wanted`;
  return active === 1 ? null : `${kind}: the booking was cancelled; it had to stand`;
}
