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
  readonly ownership: Ownership;
  readonly timers: TimerScan;
  readonly loops: readonly Pick<Loop, "start" | "stop">[];
  readonly deliveries: Deliveries | null;
  readonly inbox: Inbox | null;
  readonly idle: readonly { idle(): Promise<void> }[];
  readonly learning: Loop;
  readonly traces: Tracing | undefined;
}

export function lifeCycleOf(parts: LifeCycleParts): Pick<ControlPlane, "start" | "stop"> {
  const { circuits, rateLimit, ownership, timers, loops, deliveries } = parts;
  return {
    async start() {
      // Circuits and cordons are known before any task is handed out or any step times out.
      await circuits.runOnce();
      await rateLimit.refresh();
      await ownership.start();
      timers.start();
      for (const one of loops) one.start();
      deliveries?.start();
    },
    async stop() {
      // It may wait long for answers, and our partitions are watched meanwhile.
      await deliveries?.stop();
      for (const one of loops) await one.stop();
      await timers.stop();
      await parts.inbox?.stop();
      await Promise.all(parts.idle.map((one) => one.idle()));
      await parts.learning.runOnce();
      await ownership.stop();
      await parts.traces?.stop();
    },
  };
}
