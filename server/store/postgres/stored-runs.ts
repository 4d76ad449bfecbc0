// Rows as they stand, decoded as far as they can be.
import type { OpenEscalation } from "../../core/history.ts";
import type { RunState } from "../../core/model.ts";
import type {
  ChildWait,
  StoredAttempt,
  StoredOpen,
  StoredPlace,
  StoredStep,
  Unopened,
} from "../../core/stored.ts";
import { childRunId } from "../child-run.ts";
import { KEPT_OPEN } from "../escalation-changes.ts";
import type { RunId, RunRef } from "../run-head.ts";
import type { StoredHead, StrayRows, SweptRows } from "../stored-runs.ts";
import {
  attemptKinds,
  escalationReasons,
  forwards,
  messageKinds,
  outcomes,
  runStates,
  taskKinds,
  undos,
} from "./codes.ts";
import { byRun, columns } from "./columns.ts";
import { headOf, type OpenRunRow, type ParentRow, parentOf, runStateOf } from "./run-rows.ts";
import {
  dueOf,
  type LeaseRow,
  leaseOf,
  readyOf,
  resultOf,
  type StepRow,
  strategyOf,
} from "./step-rows.ts";
import type { Query } from "./transaction.ts";

type Nullable<Row> = { [Column in keyof Row]: Row[Column] | null };

interface PlaceRow extends Nullable<LeaseRow>, Omit<StepRow, "run_id"> {
  run_id: string;
  place: number;
  is_stored: boolean;
  ready_kind: number | null;
  ready_fence: number;
  ready_attempt: number;
  ready_at: number;
  until: number | null;
  avoid_session: string | null;
  avoid_until: number | null;
  alarms: number;
  ready_wake_at: number;
  is_lane: boolean;
}

const FIRST: RunRef = { runId: "00000000-0000-0000-0000-000000000000", partition: -1 };

export function sweptRows(query: Query): SweptRows {
  return {
    async openRuns(partitions, after, limit) {
      const { partition, runId } = after ?? FIRST;
      const rows = await query<{
        run_id: string;
        partition: number;
        version: number;
        rows: number;
      }>("walk_open_runs", [partitions.filter((one) => one >= partition), partition, runId, limit]);
      return rows.map((row) => ({
        runId: row.run_id,
        partition: row.partition,
        version: row.version,
        rows: row.rows,
      }));
    },
    storedRuns: (runs) => storedRuns(query, runs),
    async strayRuns(after, limit) {
      const rows = await query<{
        run_id: string;
        partition: number | null;
        last: string | null;
        is_open: boolean;
      }>("stray_runs", [after ?? FIRST.runId, limit, escalationReasons.code(KEPT_OPEN)]);
      const strays = rows.filter((row) => !row.is_open);
      return {
        runs: strays.map((row) => ({
          runId: row.run_id,
          partition: row.partition ?? Number.parseInt(row.run_id.slice(-2), 16),
        })),
        last: rows[0]?.last ?? null,
      };
    },
    async unopenedRuns(after, limit) {
      const rows = await query<{ run_id: string; partition: number; is_last: boolean }>(
        "unopened_runs",
        [after ?? FIRST.runId, limit],
      );
      return {
        runs: rows
          .filter((row) => !row.is_last)
          .map((row) => ({ runId: row.run_id, partition: row.partition })),
        last: rows.find((row) => row.is_last)?.run_id ?? null,
      };
    },
  };
}

interface RunRow extends Nullable<OpenRunRow> {
  now: number;
  asked_id: string;
  asked_partition: number;
  is_there: boolean;
  has_ended: boolean;
  /** Of the row that stays; null: there is none. */
  run_namespace_id: number | null;
  run_definition_id: number | null;
  run_priority: number | null;
  created_at: number | null;
  run_keyed: boolean;
  parent_id: string | null;
  holds: boolean | null;
  slot_namespace_id: number | null;
  slot_key: string | null;
  messages: number;
  slot_told: boolean;
}

/** First the places, then the runs: a run that moved between them has another version by then. */
export async function storedRuns(
  query: Query,
  runs: readonly RunRef[],
): Promise<ReadonlyMap<RunId, StoredHead>> {
  if (runs.length === 0) return new Map();
  const ids = runs.map(({ runId }) => runId);
  const places = byRun(await query<PlaceRow>("stored_places", [ids]), placeOfRow);
  const questions = byRun(
    await query<{
      run_id: string;
      n: number;
      step_no: number;
      reason: number;
      wake_at: number | null;
      deadline_at: number | null;
    }>("stored_questions", [ids]),
    (row): OpenEscalation => ({
      n: row.n,
      step: row.step_no,
      reason: escalationReasons.name(row.reason),
      closedBy: null,
      wakeAt: row.wake_at,
      deadlineAt: row.deadline_at,
      claimed: false,
    }),
  );
  const attempts = byRun(
    await query<{
      run_id: string;
      step_no: number;
      kind: number;
      fence: number;
      n: number;
      outcome: number;
    }>("stored_attempts", [ids, KINDS.map(attemptKinds.code)]),
    (row): StoredAttempt => ({
      step: row.step_no,
      kind: KINDS.find((kind) => attemptKinds.code(kind) === row.kind) ?? "perform",
      fence: row.fence,
      n: row.n,
      succeeded: outcomes.name(row.outcome) === "success",
    }),
  );
  const untold = await untoldOf(query, places);
  const found = await query<RunRow>("stored_runs", [
    ...columns(
      runs,
      (run) => run.partition,
      (run) => run.runId,
    ),
    SLOT_WORDS.map(messageKinds.code),
  ]);
  const children = found.flatMap((row) => (row.parent_id === null ? [] : [row.asked_id]));
  const parents =
    children.length === 0 ? [] : await query<ParentRow>("parents_of_runs", [children]);
  const family = await familyOf(query, found.filter(isUnopened));
  return new Map(
    found.map((row): [RunId, StoredHead] => {
      const { asked_id: runId, asked_partition: partition } = row;
      const open = hasOpen(row) ? row : null;
      const parent = parents.find((one) => one.run_id === runId);
      const stored = {
        row: row.is_there ? (row.has_ended ? "ended" : "open") : "missing",
        open: open && openOf(open, parent),
        unopened: isUnopened(row) ? unopenedOf(row, family.get(runId), parent) : null,
        places: places.get(runId) ?? [],
        escalations: questions.get(runId) ?? [],
        attempts: attempts.get(runId) ?? [],
        slot: row.holds === null ? null : row.holds ? "holds" : "waits",
        slotTold: row.slot_told,
        untold: untold.get(runId) ?? [],
        messages: row.messages,
      } as const;
      const { slot_namespace_id: namespaceId, slot_key: key } = row;
      return [
        runId,
        {
          ...{ runId, partition, now: row.now, stored },
          namespaceId: row.namespace_id ?? row.run_namespace_id ?? 0,
          definitionId: row.definition_id ?? row.run_definition_id ?? 0,
          priority: row.priority ?? row.run_priority ?? 5,
          slotOf: namespaceId === null || key === null ? null : { namespaceId, key },
        },
      ];
    }),
  );
}

/** What a run is told of the slot that it waits for. */
const SLOT_WORDS = ["slot", "no-slot"] as const;

/** Before the runs, so that one which was told meanwhile has another version by then. */
async function untoldOf(
  query: Query,
  places: ReadonlyMap<RunId, readonly StoredPlace[]>,
): Promise<ReadonlyMap<RunId, readonly ChildWait[]>> {
  const waits = [...places].flatMap(([runId, of]) =>
    of.flatMap(({ no, step, due }) =>
      step && due?.kind === "WAITING" && (due.on === "child" || due.on === "child-end")
        ? [{ runId, no, fence: step.fence }]
        : [],
    ),
  );
  if (waits.length === 0) return new Map();
  const rows = await query<{ run_id: string; step_no: number; fence: number }>(
    "stored_children",
    columns(
      waits,
      (wait) => wait.runId,
      (wait) => wait.no,
      (wait) => wait.fence,
      (wait) => childRunId(wait.runId, wait.no, wait.fence),
    ),
  );
  return byRun(rows, (row) => ({ step: row.step_no, fence: row.fence }));
}

interface FamilyRow {
  run_id: string;
  depth: number;
  escalations: number;
}

async function familyOf(
  query: Query,
  runs: readonly RunRow[],
): Promise<ReadonlyMap<RunId, FamilyRow>> {
  if (runs.length === 0) return new Map();
  const rows = await query<FamilyRow>("stored_family", [runs.map((row) => row.asked_id)]);
  return new Map(rows.map((row) => [row.run_id, row]));
}

function isUnopened(row: RunRow): boolean {
  return row.is_there && !row.has_ended && !hasOpen(row);
}

function unopenedOf(
  { asked_id: run_id, now, created_at: createdAt, run_keyed: keyed }: RunRow,
  family: FamilyRow | undefined,
  parent: ParentRow | undefined,
): Unopened {
  const { depth = 0, escalations = 0 } = family ?? {};
  return {
    ...{ createdAt: createdAt ?? now, keyed, escalations },
    parent: parentOf({ run_id, depth: depth === 0 ? null : depth }, parent),
  };
}

const KINDS = ["perform", "verify", "compensate", "answer"] as const;

function hasOpen(row: RunRow): row is RunRow & OpenRunRow {
  return row.run_id !== null;
}

function openOf(row: OpenRunRow, parent: ParentRow | undefined): StoredOpen {
  const state = stateOf(row);
  // A state that can be read, for what does not depend on it.
  const readable = { ...row, state: runStates.code("RUNNING") };
  const { state: _, ...run } = headOf({ ...readable, depth: null }, undefined).run;
  return {
    run: { ...run, parent: parent ? parentOf(row, parent) : null },
    kind: runStates.name(row.state),
    state,
    wakeAt: row.wake_at,
  };
}

/** null: its columns make none. */
function stateOf(row: OpenRunRow): RunState | null {
  try {
    return runStateOf(row);
  } catch {
    return null;
  }
}

function placeOfRow(row: PlaceRow): StoredPlace {
  return {
    no: row.place,
    step: row.is_stored ? storedStepOf(row) : null,
    ready:
      row.ready_kind === null
        ? null
        : {
            ready: readyOf({
              ...row,
              step_no: row.place,
              kind: row.ready_kind,
              fence: row.ready_fence,
              attempt: row.ready_attempt,
              wake_at: row.ready_wake_at,
            }),
            lane: row.is_lane,
          },
    lease: hasLease(row) ? leaseOf(row) : null,
    due: dueOf(row),
  };
}

function hasLease(row: PlaceRow): row is PlaceRow & LeaseRow {
  return row.lease_fence !== null;
}

function storedStepOf(row: PlaceRow): StoredStep {
  return {
    no: row.no,
    forward: forwards.name(row.forward),
    undo: undos.name(row.undo),
    needs: { waitingFor: row.waiting_for, ok: row.needs_ok, skipped: row.needs_skipped },
    held: row.held === null ? null : taskKinds.name(row.held),
    strategies: row.strategies.map(strategyOf),
    fence: row.fence,
    attempt: row.attempt,
    lost: row.lost,
    tries: row.tries,
    doubt: row.doubt === null ? null : JSON.parse(row.doubt),
    verifies: row.verifies,
    firstReadyAt: row.first_ready_at,
    settleUntil: row.settle_until,
    result: resultOf(row),
    items: row.items,
  };
}

export async function removeStrays(query: Query, runs: readonly StrayRows[]): Promise<void> {
  const named = (of: string) =>
    columns(
      runs.flatMap(({ runId, strays }) =>
        strays.flatMap((stray) => (stray.of === of ? [{ runId, step: stray.step }] : [])),
      ),
      (row) => row.runId,
      (row) => row.step,
    );
  await query("remove_steps", named("step"));
  await query("remove_ready", named("ready"));
  await query("remove_leases", named("lease"));
  await query("remove_due", named("due"));
  await query(
    "remove_open_runs",
    columns(
      runs.filter(({ all }) => all),
      (run) => run.partition,
      (run) => run.runId,
    ),
  );
}
