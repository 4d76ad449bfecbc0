/** The car agent: books cars with the car service, and cancels them when a holiday is undone. */
import { createAgent, defineTask, handle, unchecked } from "@drover/sdk";
import {
  type Booking,
  booked,
  cancelled,
  parseHoliday,
  readAgentSettings,
} from "./booking-task.ts";

const { address, service } = readAgentSettings();

const bookCar = defineTask("book-car", { input: parseHoliday, output: unchecked<Booking>() });
const cancelCar = defineTask("cancel-car", { compensates: bookCar });

createAgent({
  address,
  id: `car-${process.pid}`,
  queues: ["travel"],
  slots: 8,
  handleSignals: true,
  handlers: [
    handle(bookCar, async (task, { signal }) => {
      const { traveller, from, to, run, car } = task.input();
      const booking = { traveller, from, to, run, car };
      return booked(await service.book(task.idempotencyKey, booking, signal), signal);
    }),

    handle(cancelCar, async (task, { signal }) => {
      cancelled(await service.cancel(task.effectKey, signal), signal);
    }),
  ],
}).start();
