// What operators do to queues and workflows. The store writes it, and then waiters may claim again
// from the lanes concerned.
import type { Pins } from "../store/pins.ts";
import type { Queues } from "../store/queues.ts";
import type { Scheduler } from "./scheduler.ts";

type QueueControl = Pick<
  Scheduler,
  | "pauseQueue"
  | "resumeQueue"
  | "limitQueue"
  | "pinQueue"
  | "unpinQueue"
  | "pauseWorkflow"
  | "resumeWorkflow"
>;

export interface QueueControlOptions {
  readonly queues: Queues;
  readonly pins: Pins;
  /** These lanes may have tasks for waiters, on this server and on others. */
  readonly wake: (lanes: readonly number[]) => void;
  /** Reads again which lanes agents ask for. */
  readonly refresh: () => Promise<void>;
}

export function createQueueControl(options: QueueControlOptions): QueueControl {
  const { queues, pins, wake, refresh } = options;
  return Object.freeze({
    pauseQueue: queues.pause,
    resumeQueue: async (of) => wake(await queues.resume(of)),
    pauseWorkflow: queues.pauseWorkflow,
    resumeWorkflow: async (of) => wake(await queues.resumeWorkflow(of)),
    async pinQueue(of, agentVersion) {
      const lanes = await pins.pin(of, agentVersion);
      if (lanes === null) return false;
      await refresh();
      wake(lanes);
      return true;
    },
    unpinQueue: async (of) => wake(await pins.unpin(of)),
    limitQueue: async (of, limits) => wake(await queues.setLimits(of, limits)),
  } satisfies QueueControl);
}
