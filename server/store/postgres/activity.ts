// Counts for the overview and for workflows (sql/activity.sql).
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Rule } from "../../core/model/history.ts";
import { type EndKind, isEndKind } from "../../core/model/model.ts";
import { WAIT_KINDS, waitBit } from "../../core/model/waits.ts";
import {
  type Activity,
  type FailingStep,
  INTERVENTIONS_COUNTED_MAX,
  OPEN_RUNS_COUNTED_MAX,
  OPEN_RUNS_OF_NAMESPACE_MAX,
  type OpenRuns,
  type RunCount,
  SUBSTATE_RUNS_MAX,
  SUBSTATE_TASKS_MAX,
  type SubstateRuns,
  type WorkflowRuns,
} from "../activity.ts";
import type { SubstateFilter } from "../lists.ts";
import type { RunId } from "../run-head.ts";
import { rules, runStates } from "./codes.ts";
import type { Query } from "./transaction.ts";

/** The code of the event ACCEPTED; other events have the code of a state. */
const ACCEPTED = -1;

export function createActivity(query: Query): Activity {
  return {
    openRuns: (namespaceId) => openRuns(query, namespaceId),
    substates: (namespaceId) => substates(query, namespaceId),
    async runCounts(namespaceId, since) {
      const rows = await query<{ minute: EpochMs; event: number; runs: number }>("run_counts", {
        namespace_id: namespaceId,
        since,
      });
      return rows.map(({ minute, event, runs }) => ({ minute, event: eventOf(event), runs }));
    },
    async unsuccessfulWorkflows(namespaceId, since, limit) {
      const asked = { namespace_id: namespaceId, since, limit };
      const rows = await query<{
        workflow: string;
        completed: number;
        failed: number;
        compensated: number;
        cancelled: number;
      }>("unsuccessful_workflows", asked);
      return rows.map(({ workflow, completed, failed, compensated, cancelled }) => ({
        workflow,
        ends: {
          COMPLETED: completed,
          FAILED: failed,
          COMPENSATED: compensated,
          CANCELLED: cancelled,
        },
      }));
    },
    async failingSteps(namespaceId, since, limit) {
      const asked = { namespace_id: namespaceId, since, limit };
      return (await query<FailingRow>("failing_steps", asked)).map(failingStep);
    },
    async failingStepsOf(namespaceId, workflow, since, limit) {
      const asked = { namespace_id: namespaceId, workflow, since, limit };
      return (await query<FailingRow>("failing_steps_of", asked)).map(failingStep);
    },
    async workflowRuns(namespaceId, workflows, since) {
      if (workflows.length === 0) return [];
      const asked = { namespace_id: namespaceId, workflows, since };
      const rows = await query<WorkflowCountRow>("workflow_run_counts", asked);
      return [...Map.groupBy(rows, ({ workflow }) => workflow)].map(workflowRuns);
    },
    async countInterventions(namespaceId, since) {
      const codes = rules.names.map((rule) => rules.code(rule));
      const asked = {
        namespace_id: namespaceId,
        rules: codes,
        since,
        counted_max: INTERVENTIONS_COUNTED_MAX,
      };
      const rows = await query<{ rule: number; counted: number }>("count_interventions", asked);
      return new Map(rows.map(({ rule, counted }): [Rule, number] => [rules.name(rule), counted]));
    },
  };
}

interface FailingRow {
  readonly workflow: string;
  readonly step: string;
  readonly undo: boolean;
  readonly code: string;
  readonly attempts: number;
  readonly steps: number;
  readonly first_at: EpochMs;
  readonly last_at: EpochMs;
  readonly run_id: RunId;
  readonly message: string;
}

function failingStep(row: FailingRow): FailingStep {
  const { workflow, step, undo, code, attempts, steps } = row;
  return {
    workflow,
    step,
    isUndo: undo,
    code,
    attempts,
    steps,
    firstAt: row.first_at,
    lastAt: row.last_at,
    lastRunId: row.run_id,
    lastMessage: row.message,
  };
}

interface WorkflowCountRow {
  readonly workflow: string;
  readonly event: number;
  readonly took: number;
  readonly runs: number;
  readonly last_at: EpochMs;
}

function workflowRuns([workflow, rows]: [string, readonly WorkflowCountRow[]]): WorkflowRuns {
  const of = (state: EndKind) => rows.filter(({ event }) => event === runStates.code(state));
  const count = (state: EndKind) => of(state).reduce((sum, { runs }) => sum + runs, 0);
  const failures = [...of("FAILED"), ...of("COMPENSATED")].map((row) => row.last_at);
  return {
    workflow,
    ends: {
      COMPLETED: count("COMPLETED"),
      FAILED: count("FAILED"),
      COMPENSATED: count("COMPENSATED"),
      CANCELLED: count("CANCELLED"),
    },
    completedTook: new Map(of("COMPLETED").map(({ took, runs }) => [took, runs])),
    lastFailureAt: failures.length === 0 ? null : Math.max(...failures),
  };
}

async function openRuns(query: Query, namespaceId: number | null): Promise<OpenRuns> {
  type Row = { state: number; runs: number; more: boolean };
  const rows =
    namespaceId === null
      ? await query<Row>("count_open_runs", { runs_max: OPEN_RUNS_COUNTED_MAX })
      : await query<Row>("count_states_of", {
          runs_max: OPEN_RUNS_OF_NAMESPACE_MAX,
          namespace_id: namespaceId,
        });
  return {
    openRuns: new Map(rows.map(({ state, runs }) => [runStates.name(state), runs])),
    allCounted: rows.every(({ more }) => !more),
  };
}

async function substates(query: Query, namespaceId: number): Promise<readonly SubstateRuns[]> {
  const rows = await query<{ substate: string; runs: number; more: boolean }>(
    "count_substates_of",
    {
      namespace_id: namespaceId,
      runs_max: SUBSTATE_RUNS_MAX,
      tasks_max: SUBSTATE_TASKS_MAX,
    },
  );
  return rows.map(({ substate, runs, more }) => ({ substate: substateOf(substate), runs, more }));
}

function substateOf(text: string): SubstateFilter {
  if (text === "working" || text === "agent") return text;
  const kind = WAIT_KINDS.find((one) => waitBit(one) === Number(text));
  if (kind === undefined) throw new Error(`runs are counted for the unknown substate "${text}"`);
  return kind;
}

function eventOf(code: number): RunCount["event"] {
  if (code === ACCEPTED) return "ACCEPTED";
  const state = runStates.name(code);
  if (!isEndKind(state)) throw new Error(`runs that are ${state} are counted as ended`);
  return state;
}
