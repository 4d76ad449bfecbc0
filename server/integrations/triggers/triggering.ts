// Joins the parts of triggers: what `api/` uses, the ends of runs that start other runs, and the
// gathering of refusals.
import type { Logger } from "pino";
import type { Clock } from "../../clock.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { Plans } from "../../store/plans.ts";
import type { EngineStore } from "../../store/store.ts";
import { createMappings, factsOfEnd } from "./mappings.ts";
import { createRefusals } from "./refusals.ts";
import { createRunEnds, type RunEnds, type RunEndsOptions } from "./run-ends.ts";
import type { TriggerWork } from "./trigger-work.ts";

interface TriggeringOptions extends Pick<RunEndsOptions, "owned" | "shard"> {
  readonly store: Pick<EngineStore, "triggers" | "facts" | "incarnation">;
  readonly plans: Plans;
  readonly schedule: Scheduler["schedule"];
  readonly clock: Clock;
  readonly log: Logger;
  readonly onFailed?: (() => void) | undefined;
}

export interface Triggering extends TriggerWork, Pick<RunEnds, "announce" | "scanOnce"> {
  start(): void;
  /** Resolves when what is in flight has ended, and refusals are written. */
  stop(): Promise<void>;
}

export function createTriggering(options: TriggeringOptions): Triggering {
  const { store, clock, log } = options;
  const compile = createMappings();
  const runEnds = createRunEnds({ ...options, compile });
  const refusals = createRefusals({
    triggers: store.triggers,
    clock,
    onError(error) {
      options.onFailed?.();
      log.warn({ event: "trigger.refusals-not-kept", err: String(error) });
    },
  });
  return Object.freeze({
    compile,
    factsOfEnd: (ended) => factsOfEnd(options, ended),
    refused: refusals.add,
    announce: runEnds.announce,
    scanOnce: runEnds.scanOnce,
    start() {
      runEnds.start();
      refusals.start();
    },
    async stop() {
      await runEnds.stop();
      await refusals.stop();
    },
  } satisfies Triggering);
}
