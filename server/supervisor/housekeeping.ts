// Once a minute, in small batches: sessions that fell silent long ago, pollers that left, writers
// of dead processes, keys that have expired. Every server does it; two at once only find less to
// do.
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { SupervisorConfig } from "../config.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Store } from "../store/store.ts";

const EVERY_MS = 60_000;
const ROWS_MAX = 1_000;

export function createHousekeeping(
  store: Pick<Store, "forgetOld">,
  clock: Clock,
  log: Logger,
  { sessionKeptMs, pollerKeptMs }: Pick<SupervisorConfig, "sessionKeptMs" | "pollerKeptMs">,
): Loop {
  return createLoop({
    clock,
    everyMs: EVERY_MS,
    runOnce: () => store.forgetOld(ROWS_MAX, { sessionKeptMs, pollerKeptMs }),
    onError: (error) => log.debug({ event: "housekeeping.failed", err: String(error) }),
  });
}
