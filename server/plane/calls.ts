// What agents call, with the batches behind it, over all shards.
import type { Claims } from "../dispatch/claims.ts";
import { createDispatch } from "../dispatch/dispatch.ts";
import type { LogAppends } from "../dispatch/dispatcher.ts";
import { createHeartbeats } from "../dispatch/heartbeats.ts";
import { createLogAppends, NO_LOGS } from "../dispatch/log-appends.ts";
import { createLostPolls } from "../dispatch/lost-polls.ts";
import { heartbeatsOfShards, lostPollsOfShards } from "../dispatch/shard-sessions.ts";
import type { Advance } from "../scheduler/advance.ts";
import type { Shards } from "../store/shards.ts";
import type { SessionLease } from "../store/store.ts";
import type { Engine } from "./engine.ts";
import type { DispatchParts, World } from "./process-parts.ts";

/** What agents call, with the batches behind it. */
export function callsOf(
  { options, patient, onError }: World,
  { waiters, lanes, agentRegistry }: DispatchParts,
  engines: Shards<Engine>,
  advance: Advance,
) {
  const { clock, isRetryable, measures } = options;
  const onFlushed = measures?.onFlushed;
  // If it fails, the next heartbeat of the session reports the same.
  const onForgotten = (lease: SessionLease) =>
    void advance.submit(lease, { kind: "forgotten", ...lease }).catch(onError);
  const heartbeats = heartbeatsOfShards(
    engines.map(({ store }) =>
      createHeartbeats({ store, clock, isRetryable, onForgotten, onFlushed }),
    ),
    clock,
  );
  const lostPolls = lostPollsOfShards(
    engines.map(({ store }) =>
      createLostPolls({ store, clock, advance, isRetryable, onError, onFlushed }),
    ),
  );
  const dispatcher = createDispatch({
    clock: patient.clock,
    advance,
    onError,
    heartbeats,
    lostPolls,
    waiters,
    lanes,
    scan: scanInTurn(engines.map(({ claims }) => claims)),
    agentRegistry,
  });
  return { dispatcher, parts: [heartbeats, lostPolls] };
}

/** Scans all shards, each time from the next one on: waiting polls are served by the first. */
function scanInTurn({ all }: Shards<Pick<Claims, "scan">>): Claims["scan"] {
  let first = 0;
  return async (lanes) => {
    const wanted = [...lanes];
    first = (first + 1) % all.length;
    const inTurn = [...all.slice(first), ...all.slice(0, first)];
    await Promise.all(inTurn.map((claims) => claims.scan(wanted)));
  };
}

/** Apart from dispatch: tasks do not wait for lines. */
export function logAppendsOf({ options, plans, settings, rateLimit }: World): LogAppends {
  const { logs: store, clock, isRetryable, measures } = options;
  if (!store || settings.logRetentionMs === 0) return NO_LOGS;
  const onFlushed = measures?.onFlushed;
  const stores = rateLimit.storesLogs;
  return createLogAppends({ store, plans, clock, stores, isRetryable, onFlushed });
}
