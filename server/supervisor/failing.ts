// Records that the event of a run fails again and again: an intervention in the history of the run,
// written without a pass, since the pass that would record it cannot be made.
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { errorMessage } from "../errors.ts";
import type { SupervisorActor } from "../scheduler/advance.ts";
import type { EngineStore, RunRef } from "../store/store.ts";
import type { Backoff } from "./failed-rows.ts";

/** A due row of a run, whose event has failed. */
export interface Failed {
  readonly run: RunRef;
  readonly wakeAt: EpochMs;
  readonly actor: SupervisorActor;
  readonly error: unknown;
}

interface FailingOptions {
  readonly store: Pick<EngineStore, "recordIntervention">;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * A single failure may be chance: from the second on, each doubling is recorded. While the backlog
 * is on, failures are not counted: the first one is recorded, once for each run.
 */
export function recordFailing(options: FailingOptions): (failed: Failed, backoff: Backoff) => void {
  const { store, clock, log } = options;
  return ({ run, wakeAt, actor, error }, { failures, backoffMs, isCrowded }) => {
    if (!isCrowded && (failures < 2 || !Number.isInteger(Math.log2(failures)))) return;
    const many = isCrowded ? "" : ` ${failures} times in a row`;
    const long = isCrowded ? ", or longer, since many runs fail at once" : "";
    const saw = `its handling has failed${many}: ${errorMessage(error)}`;
    const did = `tries it again in ${backoffMs / 1_000} s${long}; nothing else waits for it`;
    const now = clock.wallMs();
    const n = isCrowded ? 0 : Math.floor(now / 1_000);
    const about = { step: null, fence: 0, rule: "failing", n } as const;
    const intervention = { ...about, saw, did, dueAt: wakeAt, actedAt: now };
    store.recordIntervention(run, intervention, actor).catch((failure: unknown) => {
      log.warn({ event: "failing.not-recorded", runId: run.runId, err: String(failure) });
    });
  };
}
