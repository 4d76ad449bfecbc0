// A clock whose timers fire by hand, in order.
import type { Clock } from "../../server/clock.ts";
import { sleepBy } from "../../server/clock.ts";

export function handClock(): Clock & { advance(ms: number): Promise<void> } {
  let now = 0;
  const timers = new Set<{ at: number; fn: () => void }>();
  const after: Clock["after"] = (ms, fn) => {
    const timer = { at: now + Math.max(0, ms), fn };
    timers.add(timer);
    return { cancel: () => void timers.delete(timer) };
  };
  return {
    monotonicMs: () => now,
    wallMs: () => now,
    after,
    sleep: sleepBy(after),
    async advance(ms) {
      const end = now + ms;
      for (;;) {
        await new Promise(setImmediate);
        const [next] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (!next) break;
        timers.delete(next);
        now = next.at;
        next.fn();
      }
      now = end;
      await new Promise(setImmediate);
    },
  };
}
