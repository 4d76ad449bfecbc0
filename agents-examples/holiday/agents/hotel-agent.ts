/**
 * The hotel agent: books hotels with the hotel service, and cancels them when a holiday is undone.
 */
import { createAgent } from "@drover/sdk";
import { booked, cancelled, parseHoliday, readAgentSettings } from "./booking-task.ts";

const { address, service } = readAgentSettings();

createAgent({
  address,
  id: `hotel-${process.pid}`,
  queues: ["travel"],
  slots: 8,
  handleSignals: true,
  handlers: {
    async "book-hotel"(task, { signal }) {
      const { traveller, from, to, run, hotel } = task.input(parseHoliday);
      const booking = { traveller, from, to, run, hotel };
      return booked(await service.book(task.idempotencyKey, booking, signal), signal);
    },

    async "cancel-hotel"(task, { signal }) {
      cancelled(await service.cancel(task.effectKey, signal), signal);
    },
  },
}).start();
