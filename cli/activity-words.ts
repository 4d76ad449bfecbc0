// The recent activity of a namespace in words: open runs, and how runs ended.
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { Activity, WorkflowActivity } from "@drover/proto/drover/v1/overview_pb.ts";
import { RunState, RunSubstate } from "@drover/proto/drover/v1/run_pb.ts";
import type { Output } from "./output.ts";
import { errorWords, isFinal } from "./run-words.ts";
import { runStateWord } from "./state-words.ts";
import { clean, durationWords } from "./words.ts";

/** Number of runs that wait for approval, as far as they were counted. */
export function waitingForApproval(of: Pick<Activity, "substates"> | undefined): number {
  const found = of?.substates.find(({ substate }) => substate === RunSubstate.WAITING_FOR_APPROVAL);
  return found?.runs ?? 0;
}

/** `44 running, 4 escalated` */
export function openRunsWords({ states, moreRuns }: Pick<Activity, "states" | "moreRuns">): string {
  const open = states.filter(({ state }) => !isFinal(state));
  return `${statesWords(open) || "none"}${moreRuns ? ", and more" : ""}`;
}

/** `1019 started; 1000 completed, 18 failed` */
export function latelyWords({ minutes, states }: Activity): string {
  const accepted = minutes.reduce((sum, minute) => sum + minute.accepted, 0);
  const ended = states.filter(({ state }) => isFinal(state));
  return `${accepted} started; ${statesWords(ended) || "none ended"}`;
}

/** `send-mail: 18 failed, 1 cancelled; order: 2 compensated` */
export function unsuccessfulWords({ unsuccessfulWorkflows }: Activity): string {
  return unsuccessfulWorkflows.map(workflowWords).join("; ");
}

function workflowWords({ workflow, failed, compensated, cancelled }: WorkflowActivity): string {
  const ends = [
    { state: RunState.FAILED, count: failed },
    { state: RunState.COMPENSATED, count: compensated },
    { state: RunState.CANCELLED, count: cancelled },
  ];
  return `${clean(workflow)}: ${statesWords(ends.filter(({ count }) => count > 0))}`;
}

export const failingHeaders = [
  "FAILING",
  "ERROR",
  "FAILED",
  "FAILED ATTEMPTS",
  "LAST",
  "RUN",
] as const;

/**
 * A row for each step and error code: how often, when last as `when` writes times, and one run to
 * open.
 */
export function failingRows(
  { failingSteps }: Activity,
  when: Output["when"],
): readonly (readonly string[])[] {
  return failingSteps.map((of) => [
    `${clean(of.workflow)} ${clean(of.stepId)}${of.undo ? " (undo)" : ""}`,
    errorWords({ code: of.code, message: of.lastMessage }),
    String(of.failedSteps),
    String(of.failedAttempts),
    when(of.lastTime),
    clean(of.lastRunId),
  ]);
}

function statesWords(states: readonly { readonly state: RunState; readonly count: number }[]) {
  return states.map(({ state, count }) => `${count} ${runStateWord(state)}`).join(", ");
}

/** Empty if there were no interventions except for retries. */
export function lateWords({ detectTypical, detectSlow, detectSampled }: Activity): string {
  if (!detectTypical || !detectSlow) return "";
  const half = durationWords(durationMs(detectTypical));
  const most = durationWords(durationMs(detectSlow));
  return `of the last ${detectSampled} without retries: lateness p50 ${half}, p95 ${most}`;
}
