/** The car agent: books cars with the car service, and cancels them when a holiday is undone. */
import { createAgent } from "@drover/sdk";
import { booked, cancelled, parseHoliday, readAgentSettings } from "./booking-task.ts";

const { address, service } = readAgentSettings();

createAgent({
  address,
  id: `car-${process.pid}`,
  queues: ["travel"],
  slots: 8,
  handleSignals: true,
  handlers: {
    async "book-car"(task, { signal }) {
      const { traveller, from, to, run, car } = task.input(parseHoliday);
      const booking = { traveller, from, to, run, car };
      return booked(await service.book(task.idempotencyKey, booking, signal), signal);
    },

    async "cancel-car"(task, { signal }) {
      cancelled(await service.cancel(task.effectKey, signal), signal);
    },
  },
}).start();
