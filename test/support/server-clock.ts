/** The clock of a server that is stopped until a test moves it. */
import { type Clock, sleepBy } from "../../server/clock.ts";
import { createManualClock, type ManualClock } from "./manual-clock.ts";

export function createServerClock(): Clock & Pick<ManualClock, "advance"> {
  const { monotonicMs, after, advance } = createManualClock();
  return { monotonicMs, wallMs: monotonicMs, after, sleep: sleepBy(after), advance };
}
