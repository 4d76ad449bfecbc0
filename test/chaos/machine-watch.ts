// A busy machine makes everything late, which no promise excludes: what it did to this process and
// to a query of its own is written down, as a fault like any other, and so is its load.
import { availableParallelism, loadavg } from "node:os";
import { pause } from "./fault.ts";
import type { Stage } from "./stage.ts";

const EVERY_MS = 100;
/** Later than this is no longer ordinary. */
const LATE_MS = 250;

export interface MachineWatch {
  /** The highest average of a minute so far: processes that want a processor, for each there is. */
  readonly load: () => number;
  stop(): void;
}

export function watchMachine(stage: Stage): MachineWatch {
  let isStopped = false;
  let load = 0;
  const slow = (of: string): void =>
    stage.recorder.fault({ kind: "store", did: "slow", of }, "store", false);
  const watchLoop = async (): Promise<void> => {
    while (!isStopped) {
      const beforeMs = performance.now();
      await pause(EVERY_MS);
      if (performance.now() - beforeMs > EVERY_MS + LATE_MS) slow("machine");
      load = Math.max(load, (loadavg()[0] ?? 0) / availableParallelism());
    }
  };
  const watchDatabase = async (): Promise<void> => {
    while (!isStopped) {
      const beforeMs = performance.now();
      await stage.database.admin((client) => client.query("select 1")).catch(() => undefined);
      if (performance.now() - beforeMs > LATE_MS) slow("machine");
      await pause(5 * EVERY_MS);
    }
  };
  void watchLoop();
  void watchDatabase();
  return {
    load: () => load,
    stop() {
      isStopped = true;
    },
  };
}
