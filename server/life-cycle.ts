// The order in which the parts of a control plane start and stop.
import type { ControlPlane } from "./control-plane.ts";
import type { Inbox } from "./integrations/inbox.ts";
import type { Loop } from "./loop.ts";
import type { RateLimit } from "./scheduler/rate-limit.ts";
import type { CircuitWatch } from "./supervisor/circuits.ts";
import type { Ownership } from "./supervisor/ownership.ts";
import type { TimerScan } from "./supervisor/timers.ts";
import type { Deliveries } from "./supervisor/webhook-deliveries.ts";
import type { Tracing } from "./telemetry/traces/tracing.ts";

interface LifeCycleParts {
  readonly circuits: CircuitWatch;
  readonly rateLimit: RateLimit;
  readonly shards: readonly ShardLife[];
  readonly loops: readonly Pick<Loop, "start" | "stop">[];
  readonly idle: readonly { idle(): Promise<void> }[];
  readonly learning: Loop;
  readonly traces: Tracing | undefined;
}

type Started = Pick<Loop, "start" | "stop">;

/** What works without a caller in one shard. */
interface ShardLife {
  readonly ownership: Ownership;
  readonly timers: TimerScan;
  readonly deliveries: Deliveries | null;
  readonly inbox: Inbox | null;
  readonly triggers: Started;
  readonly housekeeping: Started;
  readonly consistency: Started;
}

export function lifeCycleOf(parts: LifeCycleParts): Pick<ControlPlane, "start" | "stop"> {
  const { circuits, rateLimit, shards, loops } = parts;
  return {
    async start() {
      // Circuits and cordons are known before any task is handed out or any step times out.
      await circuits.runOnce();
      await rateLimit.refresh();
      await Promise.all(shards.map(({ ownership }) => ownership.start()));
      for (const { timers } of shards) timers.start();
      for (const one of [...loops, ...shards.flatMap(loopsOf)]) one.start();
      for (const { deliveries } of shards) deliveries?.start();
    },
    async stop() {
      // It may wait long for answers, and our partitions are watched meanwhile.
      await Promise.all(shards.map(({ deliveries }) => deliveries?.stop()));
      for (const one of [...loops, ...shards.flatMap(loopsOf)]) await one.stop();
      await Promise.all(shards.map(({ timers }) => timers.stop()));
      await Promise.all(shards.map(({ inbox }) => inbox?.stop()));
      await Promise.all(parts.idle.map((one) => one.idle()));
      await parts.learning.runOnce();
      await Promise.all(shards.map(({ ownership }) => ownership.stop()));
      await parts.traces?.stop();
    },
  };
}

function loopsOf({ triggers, housekeeping, consistency }: ShardLife): readonly Started[] {
  return [triggers, housekeeping, consistency];
}
