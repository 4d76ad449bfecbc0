/**
 * The flight agent: books flights with the flight service, finds out whether one is booked of which
 * no answer came, and cancels them when a holiday is undone.
 */
import { createAgent } from "@drover/sdk";
import { booked, cancelled, found, parseHoliday, readAgentSettings } from "./booking-task.ts";

const { address, service } = readAgentSettings();

createAgent({
  address,
  id: `flight-${process.pid}`,
  queues: ["travel"],
  slots: 8,
  handleSignals: true,
  handlers: {
    async "book-flight"(task, { signal }) {
      const { traveller, from, to, run } = task.input(parseHoliday);
      const booking = { traveller, from, to, run };
      return booked(await service.book(task.idempotencyKey, booking, signal), signal);
    },

    async "find-flight"(task, { signal }) {
      return found(await service.find(task.effectKey, signal), signal);
    },

    async "cancel-flight"(task, { signal }) {
      cancelled(await service.cancel(task.effectKey, signal), signal);
    },
  },
}).start();
