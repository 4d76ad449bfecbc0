/**
 * A run that is played twice: by the pure rules, and through a store. The mirror is the state that
 * the rules compute; each act is also done in the store, whose state must equal the mirror.
 *
 * Time runs ahead of the store's by `aheadMs`, so that timers come due without waiting.
 */

import { expect } from "vitest";
import { decide } from "../../server/core/decide.ts";
import type { Definition } from "../../server/core/definition/definition.ts";
import type { Attempt } from "../../server/core/model/attempt.ts";
import type { Effect } from "../../server/core/model/effect.ts";
import { isWanted, type RunEvent, stepsToLoad } from "../../server/core/model/event.ts";
import type { EscalationReason } from "../../server/core/model/history.ts";
import {
  isEnded,
  isFinal,
  isUndoLeft,
  type Lease,
  movingSide,
  type Run,
  type Step,
} from "../../server/core/model/model.ts";
import { itemOf } from "../../server/core/model/step-key.ts";
import { nextSlowCheck } from "../../server/core/model/typical-duration.ts";
import { plannedNow } from "../../server/core/page/apply-pass.ts";
import { attemptNumber } from "../../server/core/page/page.ts";
import { PLAIN } from "../../server/dispatch/handed-task.ts";
import type { AttemptRecord, SignalRecord } from "../../server/store/reads.ts";
import { endedRun } from "../../server/store/run-head.ts";
import type { EngineStore, Granted, HeartbeatAnswer, Tx } from "../../server/store/store.ts";
import type { Beginning } from "../property/random-run.ts";
import { hex, readRun, type Scheduled, schedule, viewOf, withEvents } from "./fixture.ts";

/** What the rules make of an attempt; its progress is what its agent reports. */
type AttemptHistory = Omit<AttemptRecord, "progress">;

export interface Life {
  readonly store: EngineStore;
  readonly scheduled: Scheduled;
  run: Run;
  readonly steps: Map<number, Step>;
  /** Every task that was ever handed out. */
  readonly handedOut: Granted[];
  aheadMs: number;
  /** Leases whose agent has reported progress. */
  readonly progressed: Set<string>;
  readonly attempts: Map<string, AttemptHistory>;
  readonly interventions: Set<string>;
  readonly escalations: Map<number, Asked>;
  readonly signals: Map<number, Pick<SignalRecord, "seq" | "id" | "name" | "takenBy">>;
  readonly decisions: Map<string, boolean>;
}

interface Asked {
  readonly step: number;
  readonly reason: EscalationReason;
  readonly closedBy: string | null;
}

export async function startLife(
  store: EngineStore,
  definition: Definition,
  begins: Beginning,
): Promise<Life> {
  const scheduled = await schedule(store, definition, begins);
  const { run, steps } = await readRun(store, scheduled);
  const life: Life = {
    store,
    scheduled,
    run,
    steps: new Map(steps),
    handedOut: [],
    aheadMs: 0,
    progressed: new Set(),
    attempts: new Map(),
    interventions: new Set(),
    escalations: new Map(),
    signals: new Map(),
    decisions: new Map(),
  };
  for (const effect of scheduled.effects) record(life, effect);
  return life;
}

export async function expectMirrored(life: Life): Promise<void> {
  const stored = await readRun(life.store, life.scheduled);
  expect(stored.run).toEqual(life.run);
  expect(stored.steps).toEqual(life.steps);
}

export async function passOver(
  life: Life,
  events: readonly RunEvent[],
  draw: number,
): Promise<void> {
  const { rules, laneOf } = life.scheduled;
  const { view, effects } = await life.store.transact({ name: "pass" }, async (tx) => {
    const now = tx.now + life.aheadMs;
    const { before, head } = await load(tx, life, events);
    const items = events.map((event) => ({ event, draw }));
    const decision = decide(rules, before, now, items);
    const { view: after, effects: done } = decision;
    await tx.write([{ head, before, after, effects: done, laneOf, actor: null }]);
    return decision;
  });
  for (const [no, step] of view.steps) life.steps.set(no, step);
  for (const effect of effects) record(life, effect);
  life.run = storedRun(life, view.run);
}

/** Loads what a server would, which must be that part of the mirror. */
async function load(tx: Tx, { scheduled, run, steps: all }: Life, events: readonly RunEvent[]) {
  const { ref, plan } = scheduled;
  const { runId } = ref;
  const locked = await tx.lockRuns([ref], true);
  const [head] = locked.length > 0 ? locked : await tx.endedRuns([ref]);
  if (!head) throw new Error(`run ${runId} is neither open nor ended`);
  expect(head.run).toEqual(run);
  const wanted = stepsToLoad(head.run.state.kind, plan, events);
  const steps = (await tx.loadSteps([{ runId, ...wanted }])).get(runId) ?? new Map();
  const mirrored = [...all].filter(([, step]) => isWanted(wanted, step, all));
  expect(steps).toEqual(new Map(mirrored));
  const before = await withEvents(tx, runId, events, viewOf(head.run, steps));
  return { head, before };
}

/** The counters of a run go with its open row; what comes after its end changes no version. */
function storedRun(life: Life, run: Run): Run {
  if (!isEnded(run.state)) return run;
  const { version } = isEnded(life.run.state) ? life.run : run;
  return endedRun(run.state, {
    version,
    warnings: isEnded(life.run.state) ? life.run.warnings : run.warnings,
    escalations: life.escalations.size,
  });
}

function record(life: Life, effect: Effect): void {
  switch (effect.kind) {
    case "task-ended":
    case "attempt-stored": {
      const row = recordOf(effect.attempt);
      const key = keyOf(row);
      // Of what no agent holds the last outcome counts; a report that is known stays as it is.
      const byEngine = effect.attempt.secret === null;
      if (byEngine || !life.attempts.has(key)) life.attempts.set(key, row);
      return;
    }
    case "attempt-settled": {
      const row = recordOf(effect.attempt);
      const before = life.attempts.get(keyOf(row));
      if (!before) throw new Error(`attempt ${keyOf(row)} is settled and was never there`);
      const { endedAt, outcome } = row;
      life.attempts.set(keyOf(row), { ...before, endedAt, outcome });
      return;
    }
    case "intervened": {
      const { step, fence, rule, n } = effect.intervention;
      life.interventions.add(`${step} ${fence} ${rule} ${n}`);
      return;
    }
    case "signal-stored": {
      const { seq, id, name } = effect;
      life.signals.set(seq, { seq, id, name, takenBy: null });
      return;
    }
    case "signal-taken": {
      const signal = life.signals.get(effect.seq);
      if (!signal) throw new Error(`signal ${effect.seq} is taken and was never there`);
      life.signals.set(effect.seq, { ...signal, takenBy: effect.step });
      return;
    }
    case "decision-stored":
      life.decisions.set(`${effect.step} ${effect.approver}`, effect.approved);
      return;
    default:
      recordQuestion(life, effect);
  }
}

function recordQuestion({ escalations }: Life, effect: Effect): void {
  const close = (of: (n: number, asked: Asked) => boolean, closedBy: string): void => {
    for (const [n, asked] of escalations)
      if (asked.closedBy === null && of(n, asked)) escalations.set(n, { ...asked, closedBy });
  };
  if (effect.kind === "escalated") {
    const { n, step, reason } = effect;
    escalations.set(n, { step, reason, closedBy: null });
  }
  if (effect.kind === "escalation-answered")
    close((n) => n === effect.n, `answered "${effect.answer}" by ${effect.by}`);
  if (effect.kind === "escalation-closed")
    close((_, { step, reason }) => step === effect.step && reason !== "doubled", effect.by);
}

function keyOf({ step, fence, kind, n }: AttemptHistory): string {
  return `${step} ${fence} ${kind} ${n}`;
}

/**
 * A late success and a late failure of one attempt are both evidence; a second of either is none.
 */
function recordOf(ended: Attempt): AttemptHistory {
  const { step, kind, fence, attempt, agentId, session, startedAt, endedAt, outcome } = ended;
  const n = attemptNumber(ended);
  return { step, kind, fence, n, attempt, agentId, session, startedAt, endedAt, outcome };
}

/** An agent gets the step's task, unless its time is over. */
export async function claimStep(life: Life, step: Step, session: string): Promise<Granted | null> {
  const moving = movingSide(step);
  if (moving?.state.kind !== "READY") return null;
  const { side, state: ready } = moving;
  const { task, fence, attempt, readyAt, until, avoid } = ready;
  const { lane, task: plan } = life.scheduled.laneOf(step.no, task, plannedNow(step));
  const { attemptMs, heartbeatMs, cancelMs, stallMs } = plan.timeouts;
  const granted = await life.store.transact({ name: "claim" }, async (tx) => {
    const { rows } = await tx.lockReady([{ lane, limit: 100 }]);
    const row = rows.find((one) => one.step === step.no);
    // The time of the step may be over by the store's clock, too.
    if (!row && until !== null && until <= tx.now) return [];
    if (!row) throw new Error(`step ${step.no} is READY, but not in its lane`);
    expect(row).toEqual({
      ...life.scheduled.ref,
      step: step.no,
      lane,
      priority: 5,
      task,
      fence,
      attempt,
      readyAt,
      until,
      avoid,
      attemptMs,
      heartbeatMs,
      cancelMs,
      stallMs,
      isFirstTry: row.isFirstTry,
    });
    const agentId = `agent of ${session.slice(0, 4)}`;
    return tx.grant([{ ready: row, secret: hex(16), session, agentId, pollSeq: 1 }]);
  });
  const [one] = granted;
  if (!one) return null;
  // What is made of the run alone needs nothing that the store knows beside it.
  if (one.ready.isFirstTry) expect(await life.store.taskFacts([one])).toMatchObject([PLAIN]);
  const { secret, agentId, pollSeq, grantedAt, attemptBy } = one;
  const stalledAt = stallMs === null ? Number.MAX_SAFE_INTEGER : grantedAt + stallMs;
  const slowCheckAt =
    task === "perform" ? nextSlowCheck({ grantedAt, attemptBy }, grantedAt) : attemptBy;
  const lease: Lease = {
    kind: "LEASED",
    task,
    fence,
    attempt,
    secret,
    session,
    agentId,
    pollSeq,
    grantedAt,
    attemptBy,
    heartbeatMs,
    cancelMs,
    stallMs,
    progressAt: grantedAt,
    cancel: { kind: "none" },
    suspectAt: null,
    wakeAt: Math.min(attemptBy, stalledAt, slowCheckAt),
  };
  life.steps.set(step.no, { ...step, [side]: lease });
  life.handedOut.push(one);
  return one;
}

/** A heartbeat with all leases of a session; those that are cancelled are answered so. */
export async function sendHeartbeats(life: Life, session: string): Promise<void> {
  const held = leasesOf(life).filter(({ lease }) => lease.session === session);
  const { ref, namespaceId } = life.scheduled;
  const {
    answers: [answers],
  } = await life.store.heartbeat([
    {
      namespaceId,
      session,
      agentId: "x",
      agentVersion: "1",
      reports: held.map(({ step, lease: { fence, secret } }) => ({
        runId: ref.runId,
        step: step.no,
        fence,
        secret,
        progress: "on",
        details: null,
      })),
    },
  ]);
  const answerKind = (kind: Lease["cancel"]["kind"]): HeartbeatAnswer["kind"] =>
    kind === "none" ? "carry-on" : "cancel";
  expect(answers?.map(({ kind }) => kind)).toEqual(
    held.map(({ lease }) => answerKind(lease.cancel.kind)),
  );
  const { steps } = await readRun(life.store, life.scheduled);
  for (const { step, side, lease } of held) {
    const after = steps.get(step.no)?.[side];
    // The store sets the times of a cancel and of progress; all else must be as it was.
    if (after?.kind !== "LEASED")
      throw new Error(`step ${step.no} has lost its lease by a heartbeat`);
    const progressAt = life.progressed.has(lease.secret) ? lease.progressAt : after.progressAt;
    life.progressed.add(lease.secret);
    const renewed = { ...lease, progressAt, ...noticedCancel(lease, after) };
    life.steps.set(step.no, { ...step, [side]: renewed });
  }
}

function noticedCancel({ cancel }: Lease, after: Lease): Pick<Lease, "cancel" | "wakeAt"> | null {
  if (cancel.kind !== "asked") return null;
  if (after.cancel.kind !== "received") throw new Error("a cancel was not delivered");
  const { by } = after.cancel;
  return { cancel: { kind: "received", cause: cancel.cause, by }, wakeAt: by };
}

export function leasesOf(life: Life) {
  return [...life.steps.values()].flatMap((step) => {
    const moving = movingSide(step);
    return moving?.state.kind === "LEASED"
      ? [{ step, side: moving.side, lease: moving.state }]
      : [];
  });
}

export async function expectHistory(life: Life): Promise<void> {
  const { runId } = life.scheduled.ref;
  const wanted = { attempts: true, interventions: true, escalations: true };
  const detail = await life.store.reads.runDetail(runId, wanted);
  if (!detail) throw new Error(`run ${runId} is not there`);
  // Of the items of maps those that are not done for good.
  const listed = [...life.steps].filter(([no, { forward, undo }]) => {
    return itemOf(no) === 0 || !isFinal(forward) || isUndoLeft(undo);
  });
  expect(detail.steps).toEqual(new Map(listed));
  expect(detail.run).toMatchObject({ state: life.run.state.kind, stateVersion: life.run.version });
  const attempts = new Map(
    detail.attempts.map(({ progress: _, ...attempt }) => [keyOf(attempt), attempt]),
  );
  expect(attempts).toEqual(life.attempts);
  const interventions = detail.interventions.map(
    ({ step, fence, rule, n }) => `${step} ${fence} ${rule} ${n}`,
  );
  expect(interventions.sort()).toEqual([...life.interventions].sort());
  const asked = detail.escalations.map(({ n, step, reason, closedBy }) => {
    return [n, { step, reason, closedBy }] as const;
  });
  expect(new Map(asked)).toEqual(life.escalations);
  const signals = detail.signals.map(({ seq, id, name, takenBy }) => {
    return [seq, { seq, id, name, takenBy }] as const;
  });
  expect(new Map(signals)).toEqual(life.signals);
  const decisions = detail.decisions.map(({ step, approver, approved }) => {
    return [`${step} ${approver}`, approved] as const;
  });
  expect(new Map(decisions)).toEqual(life.decisions);
}
