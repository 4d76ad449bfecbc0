/**
 * A run drawn as a tree: each step below the need at the end of its longest chain, with its current
 * state.
 *
 *     book-holiday v3  run 7f3a  running  [######------------] 1 of 3 steps
 *     flight      succeeded
 *     ├─ hotel    with an agent  attempt 2, hotel-1, 47 % for 2.0s
 *     └─ car      to be retried  attempt 1, next 12:00:05Z, rate-limited: too many requests
 *
 * A graph is not a tree: a step's line names its other needs.
 */
import { type Step, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import type {
  ExplainRunResponse,
  WatchRunResponse,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Output } from "./output.ts";
import { progressWords } from "./progress-words.ts";
import {
  errorWords,
  mannerWords,
  runOutcome,
  stepState,
  undoWords,
  workflowWords,
} from "./run-words.ts";
import { tableLines } from "./table.ts";
import { between, clean, clip, timeOfDay } from "./words.ts";

const barWidth = 18;
const cursorShownMax = 40;
/** Steps below this depth are not indented any further. */
const indentMax = 8;

const endedStates: ReadonlySet<StepState> = new Set([
  StepState.SUCCEEDED,
  StepState.FAILED,
  StepState.SKIPPED,
  StepState.CANCELLED,
]);

/**
 * At most `rowsMax` lines; if there is not enough room, steps that are moving come first. `why` has
 * the progress of tasks with agents.
 */
export function treeLines(
  { run, steps }: WatchRunResponse,
  output: Output,
  rowsMax: number,
  why?: ExplainRunResponse,
): string[] {
  const head: string[] = [];
  if (run) {
    const took = between(run.createdTime, run.endedTime);
    const name = `${output.paint("bold", workflowWords(run))}  run ${clean(run.runId)}`;
    const after = took === "" ? "" : ` after ${took}`;
    head.push(`${name}  ${runOutcome(run, output)}${after}  ${shareWords(steps)}`);
  }
  const rows = layOut(steps);
  const room = Math.max(rowsMax - head.length - 1, 1);
  const shown = rows.length <= room ? rows : mostInformative(rows, room);
  const cells = shown.map(({ prefix, step, also }) => [
    `${output.paint("dim", prefix)}${clean(step.id)}`,
    stepState(step, output),
    detailsOf(step, also, taskWords(step, why)),
  ]);
  const lines = tableLines(["", "", ""], cells).slice(1);
  const hidden = rows.length - shown.length;
  return [...head, ...lines, ...(hidden > 0 ? [`and ${hidden} more steps`] : [])];
}

function shareWords(steps: readonly Step[]): string {
  const ended = steps.filter(({ state }) => endedStates.has(state)).length;
  const filled = steps.length === 0 ? 0 : Math.floor((barWidth * ended) / steps.length);
  const bar = "#".repeat(filled).padEnd(barWidth, "-");
  return `[${bar}] ${ended} of ${steps.length} steps`;
}

function detailsOf(step: Step, also: readonly string[], progress: string): string {
  const undo = undoWords(step);
  const details = [
    step.attempt > 1 || (step.attempt === 1 && step.agentId) ? `attempt ${step.attempt}` : "",
    clean(step.agentId),
    progress,
    ...mannerWords(step),
    nextWords(step),
    undo,
    also.length > 0 ? `also needs ${also.map(clean).join(", ")}` : "",
    // The last part: the terminal cuts a long line at its end.
    endedStates.has(step.state) && step.state !== StepState.FAILED ? "" : errorWords(step.error),
  ];
  return details.filter((detail) => detail !== "").join(", ");
}

/** `47 % for 2.0s`: the progress that the step's agent reported last, and how long ago. */
function taskWords({ id, agentId }: Step, why: ExplainRunResponse | undefined): string {
  const detail = why?.steps.find(({ stepId }) => stepId === id)?.detail;
  if (agentId === "" || detail?.case !== "agent" || detail.value.agentId !== agentId) return "";
  const { progress, progressTime } = detail.value;
  if (progress === undefined) return "";
  const since = between(progressTime, why?.now);
  return [clip(progressWords(progress), cursorShownMax), since && `for ${since}`]
    .filter((text) => text !== "")
    .join(" ");
}

/** When the step moves by itself; a step with an agent may report at any time. */
function nextWords({ state, agentId, nextTime }: Step): string {
  const moves = state === StepState.BACKOFF || (state === StepState.VERIFYING && agentId === "");
  return moves && nextTime ? `next ${timeOfDay(nextTime)}` : "";
}

interface Row {
  readonly prefix: string;
  readonly step: Step;
  /** Needs other than the step above this one. */
  readonly also: readonly string[];
}

function layOut(steps: readonly Step[]): readonly Row[] {
  const parents = parentsOf(steps);
  const children = new Map<string | null, Step[]>();
  for (const step of steps) {
    const parent = parents.get(step.id) ?? null;
    const siblings = children.get(parent);
    if (siblings) siblings.push(step);
    else children.set(parent, [step]);
  }
  const rows: Row[] = [];
  const visit = (parent: string | null, indent: string, depth: number) => {
    const siblings = children.get(parent) ?? [];
    for (const [index, step] of siblings.entries()) {
      const last = index === siblings.length - 1;
      const branch = depth === 0 ? "" : last ? "└─ " : "├─ ";
      const also = step.needs.filter((need) => need !== parent);
      rows.push({ prefix: `${indent}${branch}`, step, also });
      const deeper = depth === 0 || depth > indentMax ? "" : last ? "   " : "│  ";
      visit(step.id, `${indent}${deeper}`, depth + 1);
    }
  };
  visit(null, "", 0);
  return rows;
}

/** For each step the need at the end of its longest chain; of equal ones the last. */
function parentsOf(steps: readonly Step[]): ReadonlyMap<string, string> {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const depths = new Map<string, number>();
  const parents = new Map<string, string>();
  const depthOf = (step: Step): number => {
    const known = depths.get(step.id);
    if (known !== undefined) return known;
    // Definitions have no cycles; a cycle from a broken server must not cause an endless loop.
    depths.set(step.id, 0);
    let depth = 0;
    for (const id of step.needs) {
      const need = byId.get(id);
      if (need === undefined || need === step) continue;
      const through = depthOf(need) + 1;
      if (through < depth) continue;
      depth = through;
      parents.set(step.id, id);
    }
    depths.set(step.id, depth);
    return depth;
  };
  for (const step of steps) depthOf(step);
  return parents;
}

/**
 * The most informative rows, in their order: steps that move or failed first, then other ended
 * steps, then steps that have not started or were skipped.
 */
function mostInformative(rows: readonly Row[], count: number): readonly Row[] {
  const dull = ({ step: { state } }: Row) =>
    state === StepState.BLOCKED || state === StepState.SKIPPED
      ? 2
      : state === StepState.SUCCEEDED || state === StepState.CANCELLED
        ? 1
        : 0;
  const chosen = new Set([...rows].sort((a, b) => dull(a) - dull(b)).slice(0, count));
  return rows.filter((row) => chosen.has(row));
}
