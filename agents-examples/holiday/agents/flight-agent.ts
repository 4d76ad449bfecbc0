/**
 * The flight agent: books flights with the flight service, finds out whether one is booked of which
 * no answer came, and cancels them when a holiday is undone.
 */
import { createAgent, defineTask, handle, unchecked } from "@drover/sdk";
import {
  type Booking,
  booked,
  cancelled,
  found,
  parseHoliday,
  readAgentSettings,
} from "./booking-task.ts";

const { address, service } = readAgentSettings();

const bookFlight = defineTask("book-flight", { input: parseHoliday, output: unchecked<Booking>() });
const findFlight = defineTask("find-flight", { verifies: bookFlight });
const cancelFlight = defineTask("cancel-flight", { compensates: bookFlight });

createAgent({
  address,
  id: `flight-${process.pid}`,
  queues: ["travel"],
  slots: 8,
  handleSignals: true,
  handlers: [
    handle(bookFlight, async (task, { signal }) => {
      const { traveller, from, to, run } = task.input();
      const booking = { traveller, from, to, run };
      return booked(await service.book(task.idempotencyKey, booking, signal), signal);
    }),

    handle(findFlight, async (task, { signal }) => {
      return found(await service.find(task.effectKey, signal), signal);
    }),

    handle(cancelFlight, async (task, { signal }) => {
      cancelled(await service.cancel(task.effectKey, signal), signal);
    }),
  ],
}).start();
