// Lost polls are polls that ended on the agent's side without an answer. Each lease that was
// granted to one is given back, whichever server granted it.
//
// An agent names a lost poll in each of its calls for half a minute, and after an outage all agents
// do. So the requests of many sessions are batched into one statement.

import { createBatcher, type ItemResult, type OnFlushed } from "../batching/batcher.ts";
import type { Clock } from "../clock.ts";
import type { Advance } from "../scheduler/advance.ts";
import type { LostPolls } from "../store/heartbeats.ts";
import type { EngineStore } from "../store/store.ts";

/** As for heartbeats: a single request is sent at once. */
const SPACING_MS = 250;
const FULL_AT = 500;
const SESSIONS_MAX = 1_000;
/** Most polls in one statement. */
const POLLS_MAX = 20_000;
const WAITING_MAX = 20_000;

interface LostPollsOptions {
  readonly store: Pick<EngineStore, "undelivered">;
  readonly clock: Clock;
  readonly advance: Pick<Advance, "submit">;
  readonly isRetryable: (error: unknown) => boolean;
  /** Called when a give-back fails; the agent sends the poll number again. */
  readonly onError: (error: unknown) => void;
  readonly onFlushed?: OnFlushed | undefined;
}

export interface LostPollsHandler {
  /** Resolves when the leases of these polls were given back, or could not be. */
  giveBack(lost: LostPolls): Promise<void>;
  idle(): Promise<void>;
}

export function createLostPolls(options: LostPollsOptions): LostPollsHandler {
  const { store, clock, advance, isRetryable, onError, onFlushed } = options;
  const lookups = createBatcher<LostPolls, readonly Promise<unknown>[]>({
    name: "undelivered",
    clock,
    isRetryable,
    onFlushed,
    fullAt: FULL_AT,
    waitingMax: WAITING_MAX,
    inFlightMax: 1,
    bucket: { everyMs: SPACING_MS, capacity: 1 },
    itemsMax: SESSIONS_MAX,
    sizeMax: POLLS_MAX,
    sizeOf: ({ polls }) => polls.length,
    async flush(lost) {
      const leases = await store.undelivered(lost);
      const back = leases.map((lease) =>
        advance.submit(lease, { kind: "undelivered", ...lease }).catch(onError),
      );
      return lost.map(
        (): ItemResult<readonly Promise<unknown>[]> => ({ kind: "done", result: back }),
      );
    },
  });

  return Object.freeze({
    async giveBack(lost: LostPolls): Promise<void> {
      if (lost.polls.length === 0) return;
      try {
        await Promise.all(await lookups.submit(lost));
      } catch (error) {
        onError(error);
      }
    },
    idle: () => lookups.idle(),
  });
}
