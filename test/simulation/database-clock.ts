// The clock of the database: it runs with the time that passes, and may jump either way.

import type { VirtualTime } from "../../simulator/virtual-time.ts";
import type { Recorder } from "./recorder.ts";

export interface DatabaseClock {
  now(): number;
  /** Negative: back. */
  jump(byMs: number): void;
}

export function createDatabaseClock(time: Pick<VirtualTime, "now">): DatabaseClock {
  let aheadMs = 0;
  return Object.freeze({
    now: () => time.now() + aheadMs,
    jump(byMs: number) {
      aheadMs += byMs;
    },
  });
}

/** A jump, and its record by the new time. */
export function jumpClock(clock: DatabaseClock, recorder: Recorder, byMs: number): void {
  clock.jump(byMs);
  recorder.fault({ kind: "clock", did: "jump", byMs }, "store", false);
}
