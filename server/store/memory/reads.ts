// One run with all of its history.
import type { StoredMessage } from "../../core/model/message.ts";
import { isFinal, isUndoLeft, type Step } from "../../core/model/model.ts";
import { itemOf, numberOf } from "../../core/model/step-key.ts";
import { attemptRecord } from "../page-reads.ts";
import type {
  AttemptRecord,
  ChangedInput,
  DecisionRecord,
  DetailWanted,
  EscalationRecord,
  InterventionRecord,
  ItemPage,
  RunDetail,
  RunRecord,
  SignalRecord,
} from "../reads.ts";
import { stateOfRecord } from "../run-states.ts";
import type { RunId } from "../store.ts";
import type { TracedRun } from "../trace.ts";
import { attemptsOf, payloadReader } from "./pages.ts";
import { concurrencyKeyText, type RunRow, runStateOf, stepsOf, type Tables } from "./tables.ts";

export function findRun(
  tables: Tables,
  namespaceId: number,
  by: { readonly runId: RunId } | { readonly key: string },
): RunRecord | null {
  const runId =
    "runId" in by
      ? by.runId
      : tables.idempotency.get(concurrencyKeyText({ namespaceId, key: by.key }))?.runId;
  const row = runId === undefined ? undefined : tables.run.get(runId);
  return row?.namespaceId === namespaceId ? runRecord(tables, row) : null;
}

export function runRecord(tables: Tables, row: RunRow): RunRecord {
  const { partition: _, notify: __, trace: ___, ...facts } = row;
  const head = runStateOf(tables, row.runId);
  const substates = {
    waits: head.run.waits,
    isWorking: tables.lease.where("run", row.runId).length > 0,
    waitsForAgent: tables.ready.where("run", row.runId).length > 0,
  };
  return { ...facts, ...stateOfRecord(head), substates };
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
  const { run } = runStateOf(tables, runId);
  const attempts = wanted.attempts ? attemptRecords(tables, runId) : [];
  const interventions = wanted.interventions ? interventionsOf(tables, runId) : [];
  return {
    run: runRecord(tables, row),
    state: run.state,
    pivoted: run.pivoted,
    steps: new Map(
      stepsOf(tables, runId).flatMap(({ step }) => (isShown(step) ? [[step.no, step]] : [])),
    ),
    attempts,
    interventions,
    escalations: wanted.escalations ? escalationsOf(tables, runId) : [],
    signals: signalsOf(tables, runId),
    decisions: decisionsOf(tables, runId),
    reused: new Map(
      tables.reusedSteps.where("run", runId).map(({ step, madeByRun }) => [step, madeByRun]),
    ),
    totals: {
      attempts: wanted.attempts ? attempts.length : null,
      interventions: wanted.interventions ? interventions.length : null,
    },
  };
}

export function runItems(
  tables: Tables,
  runId: RunId,
  { map, after, limit, forwards }: ItemPage,
): Pick<RunDetail, "steps" | "attempts"> {
  const found = stepsOf(tables, runId)
    .map(({ step }) => step)
    .filter(({ no }) => numberOf(no) === map && itemOf(no) > after)
    .filter(({ forward }) => forwards?.includes(forward.kind) ?? true)
    .slice(0, limit);
  const steps = new Map(found.map((step) => [step.no, step]));
  return { steps, attempts: attemptRecords(tables, runId).filter(({ step }) => steps.has(step)) };
}

/** Items of a map are shown only while they are not done for good. */
function isShown({ no, forward, undo }: Step): boolean {
  return itemOf(no) === 0 || !isFinal(forward) || isUndoLeft(undo);
}

function attemptRecords(tables: Tables, runId: RunId): readonly AttemptRecord[] {
  const payloadOf = payloadReader(tables, runId);
  return stepsOf(tables, runId)
    .flatMap((of) =>
      attemptsOf(tables, runId, of).map((one) => attemptRecord(of.step.no, one, payloadOf)),
    )
    .sort((a, b) => a.endedAt - b.endedAt);
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

/** In the order of arrival. */
export function signalsOf(tables: Tables, runId: RunId): readonly SignalRecord[] {
  const rows = tables.signal.where("run", runId).sort((a, b) => a.seq - b.seq);
  return rows.map(({ runId: _, ...record }) => record);
}

/** Messages of other runs to it, in the order of the numbers. */
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

export function changedInputs(tables: Tables, runId: RunId): readonly ChangedInput[] {
  return tables.override
    .where("run", runId)
    .map(({ runId: _, ...changed }) => changed)
    .sort((a, b) => a.step - b.step || a.strategy - b.strategy);
}
