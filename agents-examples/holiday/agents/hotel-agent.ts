/**
 * The hotel agent: books hotels with the hotel service, and cancels them when a holiday is undone.
 */
import { createAgent, defineTask, handle, unchecked } from "@drover/sdk";
import {
  type Booking,
  booked,
  cancelled,
  parseHoliday,
  readAgentSettings,
} from "./booking-task.ts";

const { address, service } = readAgentSettings();

const bookHotel = defineTask("book-hotel", { input: parseHoliday, output: unchecked<Booking>() });
const cancelHotel = defineTask("cancel-hotel", { compensates: bookHotel });

createAgent({
  address,
  id: `hotel-${process.pid}`,
  queues: ["travel"],
  slots: 8,
  handleSignals: true,
  handlers: [
    handle(bookHotel, async (task, { signal }) => {
      const { traveller, from, to, run, hotel } = task.input();
      const booking = { traveller, from, to, run, hotel };
      return booked(await service.book(task.idempotencyKey, booking, signal), signal);
    }),

    handle(cancelHotel, async (task, { signal }) => {
      cancelled(await service.cancel(task.effectKey, signal), signal);
    }),
  ],
}).start();
