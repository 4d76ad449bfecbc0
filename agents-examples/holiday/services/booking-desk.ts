/**
 * The business of a remote service, without network and without faults: books, cancels and finds
 * by idempotency key. A key is free, booked or blocked, and only moves in that direction:
 *
 *   free --book--> booked --cancel--> blocked
 *   free --cancel-------------------> blocked
 */

import { isDeepStrictEqual } from "node:util";
import type { Booking } from "./booking.ts";
import type { BookedEntry, Ledger, LedgerEntry } from "./ledger.ts";

export const serviceKinds = ["flight", "hotel", "car"] as const;
export type ServiceKind = (typeof serviceKinds)[number];

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface BookingDesk {
  readonly book: (key: string, booking: Booking) => Answer;
  readonly cancel: (key: string) => Answer;
  readonly find: (key: string) => Answer;
}

export interface BookingDeskOptions {
  readonly kind: ServiceKind;
  readonly ledger: Ledger;
  /** Travellers for whom there is no room, and hotels that have none, now or later. */
  readonly full: ReadonlySet<string>;
  readonly now: () => Date;
}

interface KeyState {
  readonly booked: BookedEntry | undefined;
  readonly blocked: boolean;
}

const KEYS_MAX = 10_000;

export function refusal(status: number, code: string, message: string): Answer {
  return { status, body: { code, message } };
}

function ledgerFull(): Answer {
  const message = `the ledger holds ${KEYS_MAX} keys and takes no more; start with a new file`;
  return { ...refusal(503, "ledger-full", message), headers: { "retry-after": "60" } };
}

/** The answer to a booking whose key was used before; null: it was not. */
function answerToRepeat(key: string, booking: Booking, state: KeyState | undefined): Answer | null {
  if (state?.blocked)
    return refusal(410, "cancelled", `key ${key} was cancelled; book under a new key`);
  if (!state?.booked) return null;
  if (isDeepStrictEqual(state.booked.booking, booking))
    return { status: 200, body: { booking_id: state.booked.booking_id } };
  const message = `key ${key} was used for another booking; send that one, or a new key`;
  return refusal(409, "key-reused", message);
}

export function createBookingDesk(options: BookingDeskOptions): BookingDesk {
  const { kind, ledger, full, now } = options;
  const states = new Map<string, KeyState>();
  let bookingCount = 0;

  function learn(entry: LedgerEntry): void {
    if (entry.op === "booked") {
      bookingCount += 1;
      states.set(entry.key, { booked: entry, blocked: false });
    } else {
      states.set(entry.key, { booked: states.get(entry.key)?.booked, blocked: true });
    }
  }

  function record(entry: LedgerEntry): void {
    ledger.append(entry);
    learn(entry);
  }

  function book(key: string, booking: Booking): Answer {
    const known = answerToRepeat(key, booking, states.get(key));
    if (known) return known;
    if (full.has(booking.traveller) || full.has(String(booking.hotel))) {
      const message = `no room in ${booking.to} for ${booking.traveller}, now or later`;
      return refusal(422, "no-rooms", message);
    }
    if (states.size >= KEYS_MAX) return ledgerFull();
    const { traveller } = booking;
    const booking_id = `${kind}-${String(bookingCount + 1).padStart(4, "0")}`;
    record({ at: now().toISOString(), op: "booked", key, traveller, booking_id, booking });
    return { status: 201, body: { booking_id } };
  }

  /**
   * Cancelling blocks the key for good, even where there is nothing to cancel. A caller that
   * cancels has often lost track of a booking request: it may still be on its way, in a buffer or
   * behind a slow server. If it were accepted when it arrives, a booking would exist that no caller
   * knows of and no caller cancels. So "cancelled" promises not only that there is no booking
   * now, but that none will come.
   */
  function cancel(key: string): Answer {
    const state = states.get(key);
    if (state?.blocked) return { status: 204 };
    if (state === undefined && states.size >= KEYS_MAX) return ledgerFull();
    record({
      at: now().toISOString(),
      op: "cancelled",
      key,
      traveller: state?.booked?.traveller ?? null,
      booking_id: state?.booked?.booking_id ?? null,
    });
    return { status: 204 };
  }

  function find(key: string): Answer {
    const state = states.get(key);
    if (state?.booked === undefined) {
      return refusal(404, "not-found", `nothing was ever booked under key ${key}`);
    }
    const { booking_id, booking } = state.booked;
    return {
      status: 200,
      body: { key, booking_id, state: state.blocked ? "cancelled" : "booked", booking },
    };
  }

  for (const entry of ledger.entries()) learn(entry);
  return Object.freeze({ book, cancel, find });
}
