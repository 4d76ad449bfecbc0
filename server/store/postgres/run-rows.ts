// Runs as rows of run_open and run, in both directions.
import type { Moment } from "../../core/attempt.ts";
import type { End, Parent, Run, RunState, Stage, Verdict } from "../../core/model.ts";
import { endedRun } from "../run-head.ts";
import type { RunHead } from "../store.ts";
import { reasons, runStates } from "./codes.ts";

export interface OpenRunRow {
  partition: number;
  run_id: string;
  namespace_id: number;
  definition_id: number;
  priority: number;
  state: number;
  version: number;
  steps_left: number;
  finally_left: number;
  moving: number;
  asking: number;
  undos_left: number;
  undone: number;
  warnings: number;
  escalations: number;
  pivoted: boolean;
  keyed: boolean;
  verdict_undoes: boolean | null;
  verdict: number | null;
  ends_as: number | null;
  stage: number | null;
  deadline: Moment | null;
  left_ms: number | null;
  since: Moment | null;
  settle_until: Moment | null;
  wake_at: Moment | null;
  depth: number | null;
}

/** Whose child a run is, from its row in run. */
export interface ParentRow {
  run_id: string;
  parent_id: string;
  parent_step_key: number;
  parent_fence: number;
  parent_until: Moment | null;
}

/** `parent`: the row of a child. */
export function headOf(row: OpenRunRow, parent?: ParentRow): RunHead {
  const run: Run = {
    state: runStateOf(row),
    version: row.version,
    stepsLeft: row.steps_left,
    finallyLeft: row.finally_left,
    moving: row.moving,
    asking: row.asking,
    undosLeft: row.undos_left,
    undone: row.undone,
    warnings: row.warnings,
    pivoted: row.pivoted,
    keyed: row.keyed,
    parent: parentOf(row, parent),
    escalations: row.escalations,
  };
  return {
    runId: row.run_id,
    partition: row.partition,
    namespaceId: row.namespace_id,
    definitionId: row.definition_id,
    priority: row.priority,
    run,
  };
}

export function parentOf(
  { run_id, depth }: Pick<OpenRunRow, "run_id" | "depth">,
  row: ParentRow | undefined,
): Parent | null {
  if (depth === null) return null;
  if (!row) throw new Error(`run ${run_id} is a child, and its parent is not read`);
  const { parent_id: runId, parent_step_key: step, parent_fence: fence } = row;
  return { runId, step, fence, depth, until: row.parent_until };
}

export function runStateOf(row: OpenRunRow): RunState {
  const kind = runStates.name(row.state);
  switch (kind) {
    case "PENDING":
      // Its only moment is its start, or its deadline.
      return {
        kind,
        on: row.deadline === null ? "start" : "slot",
        until: expected(row, row.wake_at),
      };
    case "RUNNING":
      return { kind, deadline: row.deadline };
    case "PAUSED":
      return { kind, ...stoodOf(row), verdict: verdictOf(row) };
    case "ESCALATED":
      return { kind, from: stageOf(row) };
    case "STOPPING":
    case "COMPENSATING":
    case "FINISHING":
      return goingOf(row, kind);
    default:
      throw new Error(`run ${row.run_id} is open and stored as ${kind}`);
  }
}

function stageOf(row: OpenRunRow): Stage {
  const kind = runStates.name(expected(row, row.stage));
  switch (kind) {
    case "RUNNING":
      return { kind, ...stoodOf(row) };
    case "STOPPING":
    case "COMPENSATING":
    case "FINISHING":
      return goingOf(row, kind);
    default:
      throw new Error(`run ${row.run_id} is ESCALATED and stored as before ${kind}`);
  }
}

/** What is the same for the run and for the stage of one that is ESCALATED. */
function goingOf(row: OpenRunRow, kind: "STOPPING" | "COMPENSATING" | "FINISHING") {
  switch (kind) {
    case "STOPPING":
      return { kind, verdict: expected(row, verdictOf(row)), settleUntil: row.settle_until };
    case "COMPENSATING":
      return { kind, verdict: expected(row, verdictOf(row)) };
    case "FINISHING":
      return { kind, end: endOf(row.run_id, row.ends_as, row.verdict) };
  }
}

function stoodOf(row: OpenRunRow): { leftMs: number | null; since: Moment } {
  return { leftMs: row.left_ms, since: expected(row, row.since) };
}

function verdictOf(row: OpenRunRow): Verdict | null {
  if (row.verdict === null) return null;
  const reason = reasons.name(row.verdict);
  if (reason === "DONE" || reason === "NEVER_STARTED" || reason === "REFUSED")
    throw new Error(`run ${row.run_id} has the verdict ${reason}`);
  return { reason, undo: expected(row, row.verdict_undoes) };
}

function endOf(runId: string, endsAs: number | null, reason: number | null): End {
  const kind = endsAs === null ? null : runStates.name(endsAs);
  if (
    reason !== null &&
    (kind === "COMPLETED" || kind === "FAILED" || kind === "COMPENSATED" || kind === "CANCELLED")
  )
    return { kind, reason: reasons.name(reason) };
  throw new Error(`run ${runId} is stored as ending ${kind}, with the reason ${reason}`);
}

function expected<T>(row: OpenRunRow, value: T | null): T {
  if (value !== null) return value;
  const kind = runStates.name(row.state);
  throw new Error(`run ${row.run_id} is stored as ${kind} without what that state needs`);
}

/** The columns of run_open that say the state. */
export interface RunStateColumns {
  readonly state: number;
  readonly undoes: boolean | null;
  readonly verdict: number | null;
  readonly endsAs: number | null;
  readonly stage: number | null;
  readonly deadline: Moment | null;
  readonly leftMs: number | null;
  readonly since: Moment | null;
  readonly settleUntil: Moment | null;
}

export function runStateColumns(state: RunState): RunStateColumns {
  const of: RunState | Stage = state.kind === "ESCALATED" ? state.from : state;
  const verdict = "verdict" in of ? of.verdict : null;
  const end = of.kind === "FINISHING" ? of.end : null;
  const reason = verdict?.reason ?? end?.reason;
  return {
    state: runStates.code(state.kind),
    undoes: verdict?.undo ?? null,
    verdict: reason === undefined ? null : reasons.code(reason),
    endsAs: end ? runStates.code(end.kind) : null,
    stage: state.kind === "ESCALATED" ? runStates.code(of.kind) : null,
    deadline: deadlineOf(of),
    leftMs: "leftMs" in of && of.leftMs !== null ? Math.round(of.leftMs) : null,
    since: "since" in of ? of.since : null,
    settleUntil: "settleUntil" in of ? of.settleUntil : null,
  };
}

function deadlineOf(of: RunState | Stage): Moment | null {
  if (of.kind === "PENDING") return of.on === "slot" ? of.until : null;
  return "deadline" in of ? of.deadline : null;
}

export interface EndedRunRow {
  run_id: string;
  partition: number;
  namespace_id: number;
  definition_id: number;
  priority: number;
  state: number;
  reason: number;
  last_version: number;
  warnings: number;
  escalations: number;
}

export function endedHeadOf(row: EndedRunRow): RunHead {
  const state = endOf(row.run_id, row.state, row.reason);
  const { warnings, escalations } = row;
  return {
    runId: row.run_id,
    partition: row.partition,
    namespaceId: row.namespace_id,
    definitionId: row.definition_id,
    priority: row.priority,
    run: endedRun(state, { version: row.last_version, warnings, escalations }),
  };
}
