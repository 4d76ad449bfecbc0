// The scheduler as the API uses it: each call goes to the part that answers it.
import { DroverError } from "../errors.ts";
import type { AllShards } from "../store/all-shards.ts";
import type { Shards } from "../store/shards.ts";
import type { Advance, AdvanceOptions } from "./advance.ts";
import { createScheduleControl } from "./cron/schedule-control.ts";
import type { OccurrenceOptions } from "./cron/start-occurrences.ts";
import {
  createCircuitControl,
  createQueueControl,
  openBulk,
  type QueueControlOptions,
} from "./operations.ts";
import type { RateLimit } from "./rate-limit.ts";
import { rerun, rerunRefusal } from "./rerun.ts";
import type { PlaceOfKey } from "./run-id.ts";
import type { RunWatchers } from "./run-watchers.ts";
import type { Schedule } from "./schedule.ts";
import type { Scheduler } from "./scheduler.ts";
import { stepInput } from "./step-input.ts";

interface SchedulerParts
  extends Pick<AdvanceOptions, "plans" | "typical">,
    Pick<QueueControlOptions, "wake" | "refresh"> {
  readonly store: AllShards;
  readonly advance: Advance;
  readonly schedule: Schedule;
  readonly shards: Shards<OccurrenceOptions>;
  readonly placeOfKey: PlaceOfKey;
  readonly rateLimit: RateLimit;
  readonly runWatchers: RunWatchers;
}

export function createScheduler(parts: SchedulerParts): Scheduler {
  const { store, plans, typical, advance, schedule, shards, rateLimit } = parts;
  const { runWatchers, placeOfKey, wake, refresh } = parts;
  return {
    ...createRegister(store),
    schedule: schedule.schedule,
    scheduleBatch: schedule.scheduleBatch,
    openBulk: (request) => openBulk(shards, placeOfKey, request),
    rerun: (request) =>
      rerun({ store, plans, submit: schedule.submit, admitRun: rateLimit.admit }, request),
    rerunRefusal: (asked, runs) => rerunRefusal({ store, plans }, asked, runs),
    stepInput: (run, stepKey) => stepInput({ store, plans }, run, stepKey),
    async command(run, event, audit) {
      const answer = await advance.ask(run, event, null, audit);
      if (answer.kind === "fenced")
        throw new Error(`the ${event.kind} of run ${run.runId} was answered fenced`);
      // The run existed when it was looked up: the database has failed over and lost its last
      // commits.
      if (answer.kind === "no-such-run")
        throw new DroverError("RUN_NOT_FOUND", `run ${run.runId} no longer exists`);
      return answer;
    },
    async limitNamespace(namespaceId, limits, audit) {
      await store.namespaces.setLimits(namespaceId, limits, audit);
      await rateLimit.refresh();
    },
    async setNamespaceLogs(namespaceId, stored, audit) {
      await store.namespaces.setLogs(namespaceId, stored, audit);
      await rateLimit.refresh();
    },
    learnedDurations: typical.learned,
    runChange: runWatchers.change,
    ...createQueueControl({ queues: store.queues, pins: store.pins, wake, refresh }),
    ...createScheduleControl(shards, placeOfKey),
    ...createCircuitControl({ store, circuits: store.circuits, refresh }),
  };
}

/**
 * Registers workflows and changes their default versions. A definition that cannot be planned was
 * refused before (definition-source.ts), with the paths and lines of the form in which it came.
 */
function createRegister(
  store: Pick<AllShards, "internDefinition" | "registerWorkflow" | "setDefaultVersion">,
): Pick<Scheduler, "registerWorkflow" | "setDefaultVersion"> {
  return {
    async registerWorkflow(namespace, definition, keepDefault, audit) {
      const definitionId = await store.internDefinition(namespace.id, definition);
      const name = definition.workflow;
      const workflow = { namespaceId: namespace.id, name, definitionId, keepDefault };
      return store.registerWorkflow(workflow, audit);
    },
    setDefaultVersion: (namespace, name, version, audit) =>
      store.setDefaultVersion(namespace.id, name, version, audit),
  };
}
