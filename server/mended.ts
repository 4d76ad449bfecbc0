// What the integrity sweep has put right, or could not: a line in the log for each, as each is a
// bug of ours. Runs are measured by their interventions, and schedules, which have none, here.
import type { Logger } from "pino";
import type { Measures } from "./measures.ts";
import type { FireDeps } from "./scheduler/fire.ts";
import type { MendDeps } from "./scheduler/mend.ts";
import type { Worked } from "./scheduler/told.ts";

const REPORT = "This is a defect of Drover: please report it";

export function logMended(log: Logger, { records }: Worked): void {
  for (const { head, effects } of records)
    for (const effect of effects)
      if (effect.kind === "intervened" && effect.intervention.rule === "integrity") {
        const { step, saw, did } = effect.intervention;
        log.error({ event: "integrity", run: head.runId, step, saw, did }, `${saw}: ${did}`);
      }
}

export function unmended(log: Logger): MendDeps["onUnmended"] {
  return ({ runId: run }, broken) =>
    log.error({ event: "integrity.unmended", run, broken }, "a run could not be put right");
}

export function awoken(log: Logger, measures?: Measures): FireDeps["onAwoken"] {
  return (all) => {
    measures?.awoken(all.length);
    for (const { schedule, nextAt } of all) {
      const { id, name, namespace } = schedule;
      const which = `the schedule "${name}" of namespace "${namespace.name}"`;
      const saw = `nothing would ever have woken ${which}`;
      const next = nextAt === null ? "none any more" : new Date(nextAt).toISOString();
      const did = `set its next moment: ${next}. ${REPORT}`;
      log.error({ event: "integrity", schedule: id, saw, did }, `${saw}: ${did}`);
    }
  };
}
