// What runs came to lately, counted: pure, over rows that were read.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ActivitySchema, RetriedStepSchema } from "@drover/proto/drover/v1/overview_pb.ts";
import type { RunState } from "../core/model.ts";
import { numberOf } from "../core/place.ts";
import type { ListedIntervention } from "../store/operators.ts";
import type { InterventionRecord, RunRecord } from "../store/reads.ts";
import { RUN_STATES } from "./convert-run.ts";

export const RUNS_OF_LATE_MS = 30 * 60_000;
export const RUNS_LOOKED_AT = 1_000;
export const INTERVENTIONS_LOOKED_AT = 200;
export const RETRIES_LOOKED_AT = 500;
const RETRIED_STEPS_MAX = 5;

const MINUTE_MS = 60_000;
const SLOW_SHARE = 0.95;

/** A step of one version of a workflow, in whatever runs. */
export interface Retried extends Pick<ListedIntervention, "workflow" | "definitionId"> {
  /** Its number in the plan. */
  readonly step: number;
  readonly retries: number;
  readonly lastAt: number;
  readonly lastRunId: string;
}

/** The steps that waits for another try were of, those with most first. `rows` newest first. */
export function retriedSteps(rows: readonly ListedIntervention[]): readonly Retried[] {
  const bySteps = Map.groupBy(rows, ({ definitionId, step }) =>
    step === null ? null : `${definitionId} ${numberOf(step)}`,
  );
  return [...bySteps.values()]
    .flatMap((tries): readonly Retried[] => {
      const [last] = tries;
      if (!last || last.step === null) return [];
      const { workflow, definitionId, step, actedAt: lastAt, runId: lastRunId } = last;
      const of = { workflow, definitionId, step: numberOf(step) };
      return [{ ...of, retries: tries.length, lastAt, lastRunId }];
    })
    .sort((a, b) => b.retries - a.retries || b.lastAt - a.lastAt)
    .slice(0, RETRIED_STEPS_MAX);
}

type CountedRun = Pick<RunRecord, "state" | "createdAt" | "endedAt">;

/** How often what had failed was tried again, and of which steps most. */
export interface Retries {
  readonly retries: number;
  readonly moreRetries: boolean;
  readonly retriedSteps: MessageInitShape<typeof RetriedStepSchema>[];
}

/** `runs` newest first, one more than are counted if there are more. */
export function activityOf(
  runs: readonly CountedRun[],
  interventions: readonly Pick<InterventionRecord, "dueAt" | "actedAt">[],
  retries: Retries,
): MessageInitShape<typeof ActivitySchema> {
  const counted = runs.slice(0, RUNS_LOOKED_AT);
  const states = new Map<RunState["kind"], number>();
  for (const { state } of counted) states.set(state, (states.get(state) ?? 0) + 1);
  const detected = interventions
    .map(({ dueAt, actedAt }) => Math.max(0, actedAt - dueAt))
    .sort((a, b) => a - b);
  const slow = detected[Math.ceil(detected.length * SLOW_SHARE) - 1];
  const typical = detected[Math.ceil(detected.length / 2) - 1];
  return {
    minutes: minutesOf(counted),
    states: [...states]
      .map(([state, count]) => ({ state: RUN_STATES[state], count }))
      .sort((a, b) => a.state - b.state),
    moreRuns: runs.length > RUNS_LOOKED_AT,
    interventions: detected.length,
    ...retries,
    ...(typical === undefined ? {} : { detectTypical: durationFromMs(typical) }),
    ...(slow === undefined ? {} : { detectSlow: durationFromMs(slow) }),
  };
}

function minutesOf(runs: readonly CountedRun[]) {
  const minutes = new Map<number, { accepted: number; completed: number; notCompleted: number }>();
  const minuteOf = (at: number) => {
    const start = Math.floor(at / MINUTE_MS) * MINUTE_MS;
    const minute = minutes.get(start) ?? { accepted: 0, completed: 0, notCompleted: 0 };
    minutes.set(start, minute);
    return minute;
  };
  for (const { state, createdAt, endedAt } of runs) {
    minuteOf(createdAt).accepted++;
    if (endedAt === null) continue;
    if (state === "COMPLETED") minuteOf(endedAt).completed++;
    else minuteOf(endedAt).notCompleted++;
  }
  return [...minutes]
    .sort(([a], [b]) => a - b)
    .map(([start, counts]) => ({ startTime: timestampFromMs(start), ...counts }));
}
