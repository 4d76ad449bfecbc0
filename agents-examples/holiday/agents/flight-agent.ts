/**
 * The flight agent: books flights with the flight service, and cancels them when a holiday is
 * undone.
 */
import { createAgent } from "@drover/sdk";
import { booked, cancelled, parseHoliday, readAgentPlace } from "./booking-task.ts";

const { address, service } = readAgentPlace();

createAgent({
  address,
  id: `flight-${process.pid}`,
  queues: ["travel"],
  slots: 4,
  handleSignals: true,
  handlers: {
    async "book-flight"(task, { signal }) {
      const { traveller, from, to, run } = task.input(parseHoliday);
      const booking = { traveller, from, to, run };
      return booked(await service.book(task.idempotencyKey, booking, signal), signal);
    },

    async "cancel-flight"(task, { signal }) {
      cancelled(await service.cancel(task.effectKey, signal), signal);
    },
  },
}).start();
