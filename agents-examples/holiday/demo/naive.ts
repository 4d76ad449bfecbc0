/**
 * The same holidays, booked by a plain program: one call after the other, and an error ends it.
 */
import { type BookResult, createBookingClient } from "../services/booking-client.ts";
import { serviceKinds } from "../services/booking-desk.ts";
import { type Holiday, holidays } from "./holidays.ts";
import type { Services } from "./world.ts";

const timeoutMs = 500;

export async function bookNaively(
  services: Services,
  signal: AbortSignal,
  act: (text: string, actor: string) => void,
): Promise<void> {
  async function book({ end: _, second_hotel: __, ...booking }: Holiday): Promise<string> {
    for (const kind of serviceKinds) {
      const client = createBookingClient({ baseUrl: services[kind], timeoutMs });
      const result = await client.book(`naive-${kind}-${booking.run}`, booking, signal);
      if (result.kind !== "booked") return `${kind}: ${whyNot(result)}`;
    }
    return "booked";
  }

  for (const holiday of holidays) act(`${holiday.run} ${await book(holiday)}`, "naive");
}

function whyNot({ kind, message }: Exclude<BookResult, { kind: "booked" }>): string {
  return `given up, ${kind}: ${message}`;
}
