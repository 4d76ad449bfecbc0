// What people say about queues and workflows: the store writes it, and waiters take again what they
// may.
import type { Queues } from "../store/queues.ts";
import type { Scheduler } from "./scheduler.ts";

type QueueControl = Pick<
  Scheduler,
  "pauseQueue" | "resumeQueue" | "limitQueue" | "pauseWorkflow" | "resumeWorkflow"
>;

export interface QueueControlOptions {
  readonly queues: Queues;
  /** These lanes may have something for waiters, here and on other servers. */
  readonly wake: (lanes: readonly number[]) => void;
}

export function createQueueControl({ queues, wake }: QueueControlOptions): QueueControl {
  return Object.freeze({
    pauseQueue: queues.pause,
    resumeQueue: async (of) => wake(await queues.resume(of)),
    pauseWorkflow: queues.pauseWorkflow,
    resumeWorkflow: async (of) => wake(await queues.resumeWorkflow(of)),
    limitQueue: async (of, limits) => wake(await queues.setLimits(of, limits)),
  } satisfies QueueControl);
}
