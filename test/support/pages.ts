// Pages for tests that write them by SQL, as the codec writes them.
import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { EpochMs } from "../../server/core/model/attempt.ts";
import {
  type Forward,
  isMoving,
  type Lease,
  type Ready,
  type Run,
  type RunState,
  type Step,
  type Undo,
} from "../../server/core/model/model.ts";
import { itemOf } from "../../server/core/model/step-key.ts";
import { decodePage, encodePage } from "../../server/core/page/codec.ts";
import { wakeAtOf } from "../../server/core/page/derived-rows.ts";
import {
  type Page,
  type PageAttempt,
  type PageHead,
  type PageStep,
  pageNoOf,
  type TaskTerms,
  untriedStep,
} from "../../server/core/page/page.ts";
import { runStates } from "../../server/store/postgres/codes.ts";

export const NOW: EpochMs = Date.parse("2026-01-02T03:04:05.678Z");

export function runWith(of: Partial<Run> = {}): Run {
  return {
    state: { kind: "RUNNING", deadline: NOW + 3_600_000 },
    version: 3,
    stepsLeft: 2,
    alwaysLeft: 0,
    moving: 1,
    waits: {},
    asking: 0,
    undosLeft: 0,
    undone: 0,
    warnings: 0,
    failure: null,
    pivoted: false,
    keyed: false,
    parent: null,
    escalations: 0,
    ...of,
  };
}

export function headWith(
  of: Partial<Omit<PageHead, "run">> = {},
  run: Partial<Run> = {},
): PageHead {
  return {
    namespaceId: 1,
    definitionId: 1,
    priority: 5,
    run: runWith(run),
    endedAt: null,
    cancelNote: null,
    hasMore: false,
    ...of,
  };
}

export function stepWith(
  no: number,
  step: Partial<Step> = {},
  of: Partial<Omit<PageStep, "step">> = {},
): PageStep {
  const fresh: Step = {
    no,
    forward: { kind: "BLOCKED", waitingFor: 1, ok: 0, skipped: 0 },
    undo: { kind: "NONE" },
    strategies: [{ planned: 0, changed: false, effectStatus: "NONE" }],
    fence: 0,
    attempt: 0,
    lost: 0,
    tries: [],
    unknownOutcome: null,
    verifies: 0,
    firstReadyAt: null,
    settleUntil: null,
    result: null,
    items: null,
  };
  return { ...untriedStep({ ...fresh, ...step }), ...of };
}

export const TERMS: TaskTerms = {
  lane: 1,
  attemptMs: 60_000,
  heartbeatMs: 30_000,
  cancelMs: 10_000,
  stallMs: null,
  slowAfterMs: null,
  isFirstTry: true,
};

export function readyWith(of: Partial<Ready> = {}): Ready {
  return {
    kind: "READY",
    task: "perform",
    fence: 1,
    attempt: 1,
    readyAt: NOW,
    until: null,
    avoid: null,
    alarms: 0,
    wakeAt: NOW + 300_000,
    ...of,
  };
}

export function leaseWith(of: Partial<Lease> = {}): Lease {
  return {
    kind: "LEASED",
    task: "perform",
    fence: 1,
    attempt: 1,
    secret: "06".repeat(16),
    session: "05".repeat(16),
    agentId: "anna",
    pollSeq: 1,
    grantedAt: NOW,
    attemptBy: NOW + 60_000,
    heartbeatMs: 30_000,
    cancelMs: 10_000,
    stallMs: null,
    progressAt: NOW,
    cancel: { kind: "none" },
    suspectAt: null,
    wakeAt: NOW + 60_000,
    ...of,
  };
}

export function attemptWith(of: Partial<PageAttempt> = {}): PageAttempt {
  return {
    kind: "perform",
    fence: 1,
    n: 0,
    attempt: 1,
    agentId: "anna",
    session: "05".repeat(16),
    secret: "06".repeat(16),
    startedAt: NOW,
    endedAt: NOW + 1_500,
    digest: null,
    outcome: { kind: "success", output: null },
    counted: { policy: null },
    progress: null,
    details: null,
    ...of,
  };
}

/** Pages with these steps, each in its own. */
export function pagesWith(head: PageHead, steps: readonly PageStep[]): readonly Page[] {
  const of = Map.groupBy(steps, ({ step }) => pageNoOf(step.no));
  const first: Page = { no: 0, head, steps: stepMap(of.get(0) ?? []) };
  of.delete(0);
  return [first, ...[...of].map(([no, more]) => ({ no, head: null, steps: stepMap(more) }))];
}

function stepMap(steps: readonly PageStep[]): ReadonlyMap<number, PageStep> {
  return new Map(steps.map((one) => [one.step.no, one]));
}

/** The columns of `run_page`, in the order of `pageRow`. */
const PAGE_COLUMNS =
  "run_id, no, partition, version, wake_at, namespace_id, definition_id, run_state, ended_at, settled, state";

/** Values of a row of `run_page`, in the order of `PAGE_COLUMNS`. */
export function pageRow(runId: string, partition: number, page: Page): readonly unknown[] {
  const { no, head } = page;
  return [
    runId,
    no,
    partition,
    1,
    wakeUpOf(page),
    head?.namespaceId ?? null,
    head?.definitionId ?? null,
    head && runStates.code(head.run.state.kind),
    head?.endedAt ? new Date(head.endedAt) : null,
    isSettled(page),
    encodePage(page).text,
  ];
}

/** The first page of an open run always has one. */
function wakeUpOf(page: Page): Date | "infinity" | null {
  const wakeAt = wakeAtOf(page);
  if (wakeAt !== null) return new Date(wakeAt);
  return page.head && page.head.endedAt === null ? "infinity" : null;
}

function isSettled({ no, steps }: Page): boolean {
  if (itemOf(no) === 0) return false;
  const isDone = ({ step: { forward, undo } }: PageStep): boolean =>
    ["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"].includes(forward.kind) &&
    ["NONE", "DONE"].includes(undo.kind);
  return [...steps.values()].every(isDone);
}

interface Writer {
  query(text: string, values: readonly unknown[]): Promise<unknown>;
}

export interface WrittenRun {
  readonly runId?: string;
  readonly workflow?: string;
  readonly partition?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A run with its pages; its leases and ready rows are for the test to write. */
export async function insertRun(
  db: Writer,
  head: PageHead,
  steps: readonly PageStep[],
  { runId = randomUUID(), workflow = "w", partition = 7, labels = {} }: WrittenRun = {},
): Promise<string> {
  await db.query(
    `insert into drover.run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
       created_at)
     values ($1, $2, $3, $4, $5, 1, $6, $7, now())`,
    [
      runId,
      head.namespaceId,
      partition,
      head.definitionId,
      workflow,
      head.priority,
      JSON.stringify(labels),
    ],
  );
  for (const page of pagesWith(head, steps))
    await db.query(
      `insert into drover.run_page (${PAGE_COLUMNS})
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      pageRow(runId, partition, page),
    );
  return runId;
}

/** The lease or the ready row of a step, from its page. */
export async function insertTask(
  db: Writer,
  runId: string,
  { step: { no, forward, undo }, terms }: PageStep,
  partition = 7,
): Promise<void> {
  const { lane, heartbeatMs } = terms ?? TERMS;
  for (const state of [forward, undo]) {
    if (state.kind === "LEASED")
      await db.query(
        `insert into drover.lease (run_id, step_no, partition, lane, fence, session, secret, poll_seq, granted_at,
           heartbeat_ms, cancel)
         values ($1, $2, $3, $4, $5, decode($6, 'hex'), decode($7, 'hex'), $8, $9, $10, $11)`,
        [
          runId,
          no,
          partition,
          lane,
          state.fence,
          state.session,
          state.secret,
          state.pollSeq,
          new Date(state.grantedAt),
          heartbeatMs,
          state.cancel.kind,
        ],
      );
    if (state.kind === "READY")
      await db.query(
        `insert into drover.ready (run_id, step_no, partition, lane, priority, ordinal, ready_at)
         values ($1, $2, $3, $4, 5, 1, $5)`,
        [runId, no, partition, lane, new Date(state.readyAt)],
      );
  }
}

interface Queryable {
  query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]>;
}

/**
 * Changes pages of a run as if a pass had, but for derived rows; a server that has them cached
 * reads anew.
 */
export async function editPages(
  db: Queryable,
  runId: string,
  { step = (of) => of, head = (of) => of }: PageEdit,
): Promise<void> {
  const rows = await db.query<{ no: number; state: string }>(
    "select no, state from drover.run_page where run_id = $1 order by no",
    [runId],
  );
  for (const { no, state } of rows) {
    const was = decodePage(state).page;
    const page: Page = {
      no,
      head: was.head && head(was.head),
      steps: new Map([...was.steps].map(([stepKey, of]) => [stepKey, step(of)])),
    };
    await db.query(
      `update drover.run_page set state = $3, version = version + 1, wake_at = $4
       where run_id = $1 and no = $2`,
      [runId, no, encodePage(page).text, wakeUpOf(page)],
    );
  }
}

export interface PageEdit {
  readonly step?: (of: PageStep) => PageStep;
  readonly head?: (of: PageHead) => PageHead;
}

/** Its task was handed out at another time, in its page and in its row. */
export async function moveGrant(
  db: Queryable,
  runId: string,
  { step, to }: { readonly step: number; readonly to: EpochMs },
): Promise<void> {
  const moved = <Side extends Forward | Undo>(side: Side): Side =>
    side.kind === "LEASED" ? { ...side, grantedAt: to } : side;
  await editPages(db, runId, {
    step: (of) => {
      const { no, forward, undo } = of.step;
      return no === step
        ? { ...of, step: { ...of.step, forward: moved(forward), undo: moved(undo) } }
        : of;
    },
  });
  await db.query("update drover.lease set granted_at = $3 where run_id = $1 and step_no = $2", [
    runId,
    step,
    new Date(to),
  ]);
}

/** What a run waits for itself, as its start or its deadline, comes at once. */
export async function moveRunTime(db: Queryable, runId: string): Promise<void> {
  const to = Date.now() - 1_000;
  const moved = (state: RunState): RunState => {
    if (state.kind === "PENDING") return { ...state, until: to };
    if (state.kind === "RUNNING") return { ...state, deadline: to };
    return state.kind === "STOPPING" ? { ...state, settleUntil: to } : state;
  };
  await editPages(db, runId, {
    head: (of) => ({ ...of, run: { ...of.run, state: moved(of.run.state) } }),
  });
}

/** The timers of its steps (of one of them) come at once, or at another time. */
export async function moveTimers(
  db: Queryable,
  runId: string,
  { step, to = Date.now() - 1_000 }: { readonly step?: number; readonly to?: EpochMs } = {},
): Promise<void> {
  const moved = <Side extends Forward | Undo>(side: Side): Side =>
    isMoving(side) && side.kind !== "HELD" ? { ...side, wakeAt: to } : side;
  await editPages(db, runId, {
    step: (of) => {
      if (step !== undefined && of.step.no !== step) return of;
      const { forward, undo } = of.step;
      return { ...of, step: { ...of.step, forward: moved(forward), undo: moved(undo) } };
    },
  });
}
