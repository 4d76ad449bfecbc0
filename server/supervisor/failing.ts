// What is said of a run or a schedule that rests since its handling fails: an intervention in the
// history of the run, for the pass that would record it cannot be made, and a line in the log.
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { Moment } from "../core/attempt.ts";
import type { SupervisorActor } from "../scheduler/advance.ts";
import type { ScheduleRef } from "../store/schedules.ts";
import type { RunRef, Store } from "../store/store.ts";
import type { Rest } from "./resting.ts";

/** What a supervisor has found, and whose handling failed. */
export interface Failed {
  readonly ref: RunRef | ScheduleRef;
  readonly wakeAt: Moment;
  readonly actor: SupervisorActor;
  readonly error: unknown;
}

export interface FailingOptions {
  readonly store: Pick<Store, "recordIntervention">;
  readonly clock: Clock;
  readonly log: Logger;
}

export function idOf(ref: RunRef | ScheduleRef): string {
  return "runId" in ref ? ref.runId : ref.id;
}

/** A failure by itself may be chance; from the second on each doubling is recorded. */
export function sayFailing(options: FailingOptions): (failed: Failed, rest: Rest) => void {
  const { store, clock, log } = options;
  return ({ ref, wakeAt, actor, error }, { failures, restMs }) => {
    const [what, id] = ["runId" in ref ? "run" : "schedule", idOf(ref)];
    if (failures < 2 || !Number.isInteger(Math.log2(failures))) return;
    const message = error instanceof Error ? error.message : String(error);
    const saw = `its handling has failed ${failures} times in a row: ${message}`;
    const did = `lets it rest for ${restMs} ms, and nothing else waits for it`;
    log.error({ event: "failing", [what]: id, failures, err: message }, `${saw}: ${did}`);
    if (!("runId" in ref)) return;
    const now = clock.wallMs();
    const about = { step: null, fence: 0, rule: "failing", n: Math.floor(now / 1_000) } as const;
    const intervention = { ...about, saw, did, dueAt: wakeAt, actedAt: now };
    store.recordIntervention(ref, intervention, actor).catch((failure: unknown) => {
      log.warn({ event: "failing.not-recorded", run: id, err: String(failure) });
    });
  };
}
