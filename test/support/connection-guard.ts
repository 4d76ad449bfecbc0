/** A guard of connections with the usual limits, if no others are given; what it has refused. */
import {
  createConnectionGuard,
  type Refusal,
} from "../../server/api/transport/connection-guard.ts";
import { TRANSPORT_LIMITS, type TransportLimits } from "../../server/api/transport/limits.ts";
import { type Clock, systemClock } from "../../server/clock.ts";

interface GuardOptions {
  readonly clock?: Clock;
  readonly connectionsPerPeerMax?: number;
  readonly limits?: Partial<TransportLimits>;
}

export function guardForTest(options: GuardOptions = {}) {
  const { clock = systemClock, connectionsPerPeerMax = 1_000, limits = {} } = options;
  const warned: string[] = [];
  const refused: Refusal[] = [];
  const warn = (_fields: object, text: string) => void warned.push(text);
  const guard = createConnectionGuard({
    clock,
    log: { info: warn, warn, error: warn },
    connectionsPerPeerMax,
    limits: { ...TRANSPORT_LIMITS, ...limits },
    onRefused: (reason) => void refused.push(reason),
  });
  return { guard, warned, refused };
}
