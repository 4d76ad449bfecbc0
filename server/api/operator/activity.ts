// Builds the Activity message of an overview. Pure: it takes counts and rows that were read.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  ActivityMinuteSchema,
  ActivitySchema,
  FailingStepSchema,
} from "@drover/proto/drover/v1/overview_pb.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Rule } from "../../core/model/history.ts";
import type { RunState } from "../../core/model/model.ts";
import {
  type FailingStep,
  INTERVENTIONS_COUNTED_MAX,
  MINUTE_MS,
  minuteOf,
  type OpenRuns,
  type RunCount,
  type SubstateRuns,
  type WorkflowEnds,
} from "../../store/activity.ts";
import type { InterventionRecord } from "../../store/reads.ts";
import { RUN_STATES, SUBSTATES } from "../run/convert-run.ts";

/** The current minute and those before it. */
const MINUTES_COUNTED = 30;
export const INTERVENTIONS_SAMPLED = 200;
export const WORKFLOWS_NAMED_MAX = 5;
export const FAILING_STEPS_MAX = 20;
const SLOW_SHARE = 0.95;

/** The start of the first minute that is counted. */
export function firstMinuteOf(now: EpochMs): EpochMs {
  return minuteOf(now) - (MINUTES_COUNTED - 1) * MINUTE_MS;
}

/** What was read for these minutes. */
interface ActivityRows {
  readonly open: OpenRuns;
  readonly substates: readonly SubstateRuns[];
  /** One more than are named, if there are more. */
  readonly failing: readonly FailingStep[];
  readonly counts: readonly RunCount[];
  readonly unsuccessful: readonly WorkflowEnds[];
  readonly interventions: ReadonlyMap<Rule, number>;
  /** The newest interventions, without waits for a retry. */
  readonly sampled: readonly Pick<InterventionRecord, "dueAt" | "actedAt">[];
}

export function activityOf(seen: ActivityRows): MessageInitShape<typeof ActivitySchema> {
  const { open, counts, interventions, sampled } = seen;
  const numbers = [...interventions.values()];
  const retries = interventions.get("backoff") ?? 0;
  const late = sampled
    .map(({ dueAt, actedAt }) => Math.max(0, actedAt - dueAt))
    .sort((a, b) => a - b);
  const slow = late[Math.ceil(late.length * SLOW_SHARE) - 1];
  const typical = late[Math.ceil(late.length / 2) - 1];
  return {
    minutes: minutesOf(counts),
    states: statesOf(open, counts),
    moreRuns: !open.allCounted,
    substates: substatesOf(seen.substates),
    failingSteps: seen.failing.slice(0, FAILING_STEPS_MAX).map(failingStepMessage),
    moreFailingSteps: seen.failing.length > FAILING_STEPS_MAX,
    interventions: numbers.reduce((a, b) => a + b, 0),
    moreInterventions: numbers.some((count) => count >= INTERVENTIONS_COUNTED_MAX),
    retries,
    moreRetries: retries >= INTERVENTIONS_COUNTED_MAX,
    detectSampled: late.length,
    ...(typical === undefined ? {} : { detectTypical: durationFromMs(typical) }),
    ...(slow === undefined ? {} : { detectSlow: durationFromMs(slow) }),
    unsuccessfulWorkflows: seen.unsuccessful.map(({ workflow, ends }) => ({
      workflow,
      completed: ends.COMPLETED,
      failed: ends.FAILED,
      compensated: ends.COMPENSATED,
      cancelled: ends.CANCELLED,
    })),
  };
}

export function failingStepMessage(of: FailingStep): MessageInitShape<typeof FailingStepSchema> {
  return {
    workflow: of.workflow,
    stepId: of.step,
    undo: of.isUndo,
    code: of.code,
    failedAttempts: of.attempts,
    failedSteps: of.steps,
    firstTime: timestampFromMs(of.firstAt),
    lastTime: timestampFromMs(of.lastAt),
    lastRunId: of.lastRunId,
    lastMessage: of.lastMessage,
  };
}

function substatesOf(counts: readonly SubstateRuns[]) {
  return counts
    .map(({ substate, runs, more }) => ({
      substate: SUBSTATES[substate],
      runs,
      moreRuns: more,
    }))
    .sort((a, b) => a.substate - b.substate);
}

/** Open runs by their state, and runs that ended lately by their final state. */
function statesOf({ openRuns }: OpenRuns, counts: readonly RunCount[]) {
  const states = new Map<RunState["kind"], number>(openRuns);
  for (const { event, runs } of counts)
    if (event !== "ACCEPTED") states.set(event, (states.get(event) ?? 0) + runs);
  return [...states]
    .map(([state, count]) => ({ state: RUN_STATES[state], count }))
    .sort((a, b) => a.state - b.state);
}

/** The oldest minute first, like `counts`. */
function minutesOf(counts: readonly RunCount[]) {
  return [...Map.groupBy(counts, ({ minute }) => minute)].map(
    ([start, of]): MessageInitShape<typeof ActivityMinuteSchema> => {
      const count = (wanted: RunCount["event"]) =>
        of.reduce((sum, { event, runs }) => sum + (event === wanted ? runs : 0), 0);
      const failed = count("FAILED");
      const compensated = count("COMPENSATED");
      const cancelled = count("CANCELLED");
      return {
        startTime: timestampFromMs(start),
        accepted: count("ACCEPTED"),
        completed: count("COMPLETED"),
        failed,
        compensated,
        cancelled,
        notCompleted: failed + compensated + cancelled,
      };
    },
  );
}
