// What people read: whole runs with their history, and lists.
import type { Moment } from "../../core/attempt.ts";
import type { StoredMessage } from "../../core/message.ts";
import type { RunState } from "../../core/model.ts";
import { itemOf, numberOf } from "../../core/place.ts";
import { attemptRowNumber } from "../attempts.ts";
import { FINAL } from "../facts.ts";
import {
  type AttemptRecord,
  type ChangedInput,
  type DecisionRecord,
  type DetailWanted,
  type EscalationOfRun,
  type EscalationPage,
  type EscalationRecord,
  type InterventionRecord,
  type ItemPage,
  OPEN_RUNS_MAX,
  type RunDefinition,
  type RunDetail,
  type RunFilter,
  type RunPage,
  type RunRecord,
  type SignalRecord,
  type WorkflowRecord,
} from "../reads.ts";
import { stored } from "../step-row.ts";
import type { RunId } from "../store.ts";
import type { TracedRun } from "../trace.ts";
import { stepOfRow } from "./step-rows.ts";
import { keyOfKey, type RunRow, type StepRow, type Tables } from "./tables.ts";

export function findRun(
  tables: Tables,
  namespaceId: number,
  by: { readonly runId: RunId } | { readonly key: string },
): RunRecord | null {
  const runId =
    "runId" in by
      ? by.runId
      : tables.idempotency.get(keyOfKey({ namespaceId, key: by.key }))?.runId;
  const row = runId === undefined ? undefined : tables.run.get(runId);
  return row?.namespaceId === namespaceId ? runRecord(tables, row) : null;
}

function runRecord(tables: Tables, row: RunRow): RunRecord {
  const { ended, partition: _, notify: __, trace: ___, ...facts } = row;
  const { state, version, warnings } = ended?.run ?? tables.runOpen.expect(row.runId).run;
  return {
    ...facts,
    state: state.kind,
    reason: reasonOf(state),
    stateVersion: version,
    endedAt: ended?.at ?? null,
    deadlineAt: deadlineOf(state),
    startAt: state.kind === "PENDING" && state.on === "start" ? state.until : null,
    warnings,
  };
}

function deadlineOf(state: RunState): Moment | null {
  if (state.kind === "PENDING") return state.on === "slot" ? state.until : null;
  return state.kind === "RUNNING" ? state.deadline : null;
}

function reasonOf(state: RunState): RunRecord["reason"] {
  if ("reason" in state) return state.reason;
  const of = state.kind === "ESCALATED" ? state.from : state;
  if (of.kind === "FINISHING") return of.end.reason;
  return "verdict" in of ? (of.verdict?.reason ?? null) : null;
}

export function tracedRuns(tables: Tables, runs: readonly RunId[]): ReadonlyMap<RunId, TracedRun> {
  return new Map(
    runs.flatMap((id) => {
      const row = tables.run.get(id);
      return row ? [[id, tracedRun(row)] as const] : [];
    }),
  );
}

function tracedRun(row: RunRow): TracedRun {
  const { runId, namespaceId, definitionId, workflow, version, createdAt, trace = null } = row;
  const of = { runId, namespaceId, definitionId, workflow, version, createdAt, trace };
  return { ...of, parentId: row.parent?.runId ?? null, rerunOf: row.rerunOf?.runId ?? null };
}

export function runDetail(tables: Tables, runId: RunId, wanted: DetailWanted): RunDetail | null {
  const row = tables.run.get(runId);
  if (!row) return null;
  const steps = tables.step
    .where("run", runId)
    .filter(isShown)
    .sort((a, b) => a.no - b.no);
  const open = row.ended ? null : tables.runOpen.expect(runId).run;
  return {
    run: runRecord(tables, row),
    state: row.ended?.run.state ?? tables.runOpen.expect(runId).run.state,
    pivoted: open?.pivoted ?? false,
    steps: new Map(steps.map((step) => [step.no, stepOfRow(tables, step)])),
    attempts: wanted.attempts ? attemptsOf(tables, runId) : [],
    interventions: wanted.interventions ? interventionsOf(tables, runId) : [],
    escalations: wanted.escalations ? escalationsOf(tables, runId) : [],
    signals: signalsOf(tables, runId),
    decisions: decisionsOf(tables, runId),
    kept: new Map(tables.kept.where("run", runId).map(({ step, of }) => [step, of])),
  };
}

export function runItems(
  tables: Tables,
  runId: RunId,
  { map, after, limit, forwards }: ItemPage,
): Pick<RunDetail, "steps" | "attempts"> {
  const kinds = forwards?.map(stored);
  const rows = tables.step
    .where("run", runId)
    .filter(({ no }) => numberOf(no) === map && itemOf(no) > after)
    .filter(({ forward }) => kinds?.includes(forward) ?? true)
    .sort((a, b) => a.no - b.no)
    .slice(0, limit);
  const steps = new Map(rows.map((row) => [row.no, stepOfRow(tables, row)]));
  return { steps, attempts: attemptsOf(tables, runId).filter(({ step }) => steps.has(step)) };
}

/** Of the items of a map those that are not done for good. */
function isShown({ no, forward, undo }: StepRow): boolean {
  const ended = FINAL.some((state) => state === forward) && (undo === "NONE" || undo === "DONE");
  return itemOf(no) === 0 || !ended;
}

function attemptsOf(tables: Tables, runId: RunId): readonly AttemptRecord[] {
  const rows = tables.attempt
    .where("run", runId)
    .sort((a, b) => a.attempt.endedAt - b.attempt.endedAt || a.number - b.number);
  return rows.map(({ attempt, progress }) => {
    const { step, kind, fence, attempt: number, agentId, startedAt, endedAt, outcome } = attempt;
    const n = attemptRowNumber(attempt);
    const record = { step, kind, fence, n, attempt: number, agentId, startedAt, endedAt, outcome };
    return { ...record, progress };
  });
}

function interventionsOf(tables: Tables, runId: RunId): readonly InterventionRecord[] {
  return tables.intervention.where("run", runId).sort((a, b) => a.actedAt - b.actedAt);
}

function escalationsOf(tables: Tables, runId: RunId): readonly EscalationRecord[] {
  const rows = tables.escalation.where("run", runId).sort((a, b) => a.n - b.n);
  return rows.map(({ runId: _, namespaceId: __, partition: ___, wakeAt: ____, ...record }) => {
    return record;
  });
}

/** In the order in which they came. */
export function signalsOf(tables: Tables, runId: RunId): readonly SignalRecord[] {
  const rows = tables.signal.where("run", runId).sort((a, b) => a.seq - b.seq);
  return rows.map(({ runId: _, ...record }) => record);
}

/** What other runs have told it, in the order of the numbers. */
export function messagesOf(tables: Tables, runId: RunId): readonly StoredMessage[] {
  const rows = tables.message.where("run", runId).sort((a, b) => a.no - b.no);
  return rows.map(({ no, from, message }) => ({ no, from, message }));
}

export function decisionsOf(tables: Tables, runId: RunId): readonly DecisionRecord[] {
  const rows = tables.decision
    .where("run", runId)
    .sort((a, b) => a.step - b.step || a.at - b.at || (a.approver < b.approver ? -1 : 1));
  return rows.map(({ runId: _, ...record }) => record);
}

/** Newest runs first, the escalations of one by their number. */
export function listEscalations(
  tables: Tables,
  namespaceId: number,
  { openOnly, limit, after }: EscalationPage,
): readonly EscalationOfRun[] {
  const inOrder = (a: Place, b: Place): number =>
    a.runId === b.runId ? a.n - b.n : a.runId < b.runId ? 1 : -1;
  return tables.escalation
    .where("namespace", namespaceId)
    .filter((row) => !openOnly || row.closedAt === null)
    .sort(inOrder)
    .filter((row) => after === null || inOrder(row, after) > 0)
    .slice(0, limit)
    .map(({ namespaceId: _, partition: __, wakeAt: ___, ...row }) => {
      const { workflow, definitionId } = tables.run.expect(row.runId);
      return { ...row, workflow, definitionId };
    });
}

type Place = Pick<EscalationOfRun, "runId" | "n">;

export function listRuns(tables: Tables, namespaceId: number, page: RunPage): RunRecord[] {
  const direction = page.order === "created-asc" ? 1 : -1;
  // Ids are made in order of creation.
  const byCreation = (a: RunId, b: RunId): number => (a === b ? 0 : a < b ? -1 : 1) * direction;
  const { after } = page;
  return tables.run
    .where("namespace", namespaceId)
    .sort((a, b) => byCreation(a.runId, b.runId))
    .filter((row) => after === null || byCreation(row.runId, after) > 0)
    .map((row) => runRecord(tables, row))
    .filter((run) => passes(run, page.filter))
    .slice(0, page.limit);
}

export function countRuns(
  tables: Tables,
  namespaceId: number,
  filter: RunFilter,
  most: number,
): number {
  return listRuns(tables, namespaceId, { filter, order: "created-asc", limit: most, after: null })
    .length;
}

export function listDefinitions(
  tables: Tables,
  namespaceId: number,
  filter: RunFilter,
  most: { readonly runs: number; readonly definitions: number },
): readonly RunDefinition[] {
  const page = { filter, order: "created-asc", limit: most.runs, after: null } as const;
  const found = new Map(
    listRuns(tables, namespaceId, page).map(({ workflow, version, definitionId }) => [
      `${definitionId}/${version}`,
      { workflow, version, definitionId },
    ]),
  );
  return [...found.values()]
    .sort(
      (a, b) =>
        (a.workflow < b.workflow ? -1 : Number(a.workflow > b.workflow)) ||
        a.version - b.version ||
        a.definitionId - b.definitionId,
    )
    .slice(0, most.definitions);
}

function passes(run: RunRecord, filter: RunFilter): boolean {
  const { states, workflow, parent, labels, createdAfter, createdBefore } = filter;
  return (
    (states.length === 0 || states.includes(run.state)) &&
    (workflow === null || run.workflow === workflow) &&
    (parent === null || run.parent?.runId === parent) &&
    Object.entries(labels).every(([name, value]) => run.labels[name] === value) &&
    (createdAfter === null || run.createdAt >= createdAfter) &&
    (createdBefore === null || run.createdAt < createdBefore)
  );
}

export function listWorkflows(
  workflows: readonly WorkflowRecord[],
  after: string | null,
  limit: number,
): readonly WorkflowRecord[] {
  return [...workflows]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .filter(({ name }) => after === null || name > after)
    .slice(0, limit);
}

export function changedInputs(tables: Tables, runId: RunId): readonly ChangedInput[] {
  return tables.override
    .where("run", runId)
    .map(({ runId: _, ...changed }) => changed)
    .sort((a, b) => a.step - b.step || a.strategy - b.strategy);
}

export function openRunsOf(tables: Tables, definitionId: number): number {
  const open = tables.run
    .where("definition", definitionId)
    .filter(({ runId }) => tables.runOpen.get(runId));
  return Math.min(open.length, OPEN_RUNS_MAX);
}
