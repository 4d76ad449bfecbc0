/**
 * What the three agents share: how they are started, what a holiday asks for, and what each answer
 * of a remote service means to Drover.
 *
 *   booked, cancelled -> success      refused -> permanent      busy -> transient
 *   no answer, or a broken one -> unknown: the booking may exist; the next attempt finds out by key
 */
import { parseArgs } from "node:util";
import {
  type Answer,
  didNotHappen,
  happened,
  PermanentError,
  TransientError,
  UnknownError,
} from "@drover/sdk";
import {
  type BookingClient,
  type BookResult,
  type CancelResult,
  createBookingClient,
  type FindResult,
} from "../services/booking-client.ts";

export interface AgentSettings {
  /** host:port of the Drover server. */
  readonly address: string;
  readonly service: BookingClient;
}

/** From `--address HOST:PORT --service URL`. */
export function readAgentSettings(): AgentSettings {
  const { values } = parseArgs({
    options: {
      address: { type: "string", default: "127.0.0.1:7420" },
      service: { type: "string" },
    },
  });
  if (values.service === undefined) {
    throw new Error("--service is missing; give the URL of the remote service to book with");
  }
  return { address: values.address, service: createBookingClient({ baseUrl: values.service }) };
}

/** Input of a run of book-holiday. */
export interface HolidayInput {
  readonly traveller: string;
  readonly from: string;
  readonly to: string;
  readonly hotel: string;
  readonly car: string;
  /** Label of the run: written into each ledger, so that bookings are found again by it. */
  readonly run: string;
}

/** Output of a step that has booked. */
export interface Booking {
  readonly bookingId: string;
}

export function parseHoliday(value: unknown): HolidayInput {
  const fields: Readonly<Record<string, unknown>> =
    typeof value === "object" && value !== null ? { ...value } : {};
  const text = (name: string): string => {
    const field = fields[name];
    if (typeof field === "string" && field !== "") return field;
    throw new Error(`"${name}" is ${JSON.stringify(field) ?? "missing"}; it must be a text`);
  };
  return {
    traveller: text("traveller"),
    from: text("from"),
    to: text("to"),
    hotel: text("hotel"),
    car: text("car"),
    run: text("run"),
  };
}

/** The output of a step that has booked; anything else is thrown as what it means. */
export function booked(result: BookResult, signal: AbortSignal): Booking {
  if (result.kind === "booked") return { bookingId: result.bookingId };
  throw meaning(result, signal);
}

/** What became of a booking of which no answer came; a find that fails is tried again. */
export function found(result: FindResult, signal: AbortSignal): Answer<Booking> {
  if (result.kind === "booked") return happened({ bookingId: result.bookingId });
  if (result.kind === "none") return didNotHappen();
  throw meaning(result, signal);
}

/** A step that is undone has no output. */
export function cancelled(result: CancelResult, signal: AbortSignal): void {
  if (result.kind !== "cancelled") throw meaning(result, signal);
}

function meaning(
  result: Exclude<
    BookResult | FindResult | CancelResult,
    { kind: "booked" | "none" | "cancelled" }
  >,
  signal: AbortSignal,
): Error {
  switch (result.kind) {
    case "refused":
      // A key that was used for another booking is the one refusal behind which a booking exists.
      return new PermanentError(result.code, result.message, {
        noEffect: result.code !== "key-reused",
      });
    case "busy":
      return new TransientError("busy", result.message, { retryAfter: result.retryAfterMs });
    case "unknown":
      // Stopped by Drover: the reason of the signal has the cause, and is the better report.
      signal.throwIfAborted();
      return new UnknownError(result.why, result.message);
  }
}
