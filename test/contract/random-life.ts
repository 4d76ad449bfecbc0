/**
 * A run that is lived twice: by the pure rules, and through a store. The mirror is what the rules
 * say; each act is also done in the store, and what the store then shows must be the mirror.
 *
 * Time runs ahead of the store's by `aheadMs`, so that moments come without waiting.
 */
import { expect } from "vitest";
import { decide } from "../../server/core/decide.ts";
import type { Definition } from "../../server/core/definition.ts";
import type { Effect } from "../../server/core/effect.ts";
import { type RunEvent, stepsToLoad } from "../../server/core/event.ts";
import { leaseWakeAt } from "../../server/core/evolve.ts";
import {
  type Attempt,
  isEnded,
  type Lease,
  movingSide,
  type Run,
  type Step,
  type View,
} from "../../server/core/model.ts";
import type { AttemptRecord } from "../../server/store/reads.ts";
import type { BeatAnswer, Granted, Store, Tx } from "../../server/store/store.ts";
import { hex, look, type Scheduled, schedule } from "./fixture.ts";

export interface Life {
  readonly store: Store;
  readonly scheduled: Scheduled;
  run: Run;
  readonly steps: Map<number, Step>;
  /** Every task that was ever handed out. */
  readonly handedOut: Granted[];
  aheadMs: number;
  readonly attempts: Map<string, AttemptRecord>;
  readonly interventions: Set<string>;
  readonly escalations: { readonly step: number; closedBy: string | null }[];
}

export async function startLife(store: Store, definition: Definition): Promise<Life> {
  const scheduled = await schedule(store, definition);
  const { run, steps } = await look(store, scheduled);
  return {
    ...{ store, scheduled, run, steps: new Map(steps), handedOut: [], aheadMs: 0 },
    ...{ attempts: new Map(), interventions: new Set(), escalations: [] },
  };
}

export async function expectMirrored(life: Life): Promise<void> {
  const stored = await look(life.store, life.scheduled);
  expect(stored.run).toEqual(life.run);
  expect(stored.steps).toEqual(life.steps);
}

export async function passOver(
  life: Life,
  events: readonly RunEvent[],
  draw: number,
): Promise<void> {
  const { plan, laneOf } = life.scheduled;
  const { view, effects } = await life.store.transact({ name: "pass" }, async (tx) => {
    const now = tx.now + life.aheadMs;
    const { before, head } = await load(tx, life, events);
    const items = events.map((event) => ({ event, draw }));
    const decision = decide(plan, before, now, items);
    const { view: after, effects: done } = decision;
    await tx.write([{ head, before, after, effects: done, laneOf, actor: null }]);
    return decision;
  });
  for (const [no, step] of view.steps) life.steps.set(no, step);
  life.run = kept(view.run);
  for (const effect of effects) record(life, effect);
}

/** Loads what a server would, which must be that part of the mirror. */
async function load(tx: Tx, { scheduled, run, steps: all }: Life, events: readonly RunEvent[]) {
  const { ref, plan } = scheduled;
  const { runId } = ref;
  const locked = await tx.lockRuns([ref], true);
  const [head] = locked.length > 0 ? locked : await tx.endedRuns([ref]);
  if (!head) throw new Error(`run ${runId} is neither open nor ended`);
  expect(head.run).toEqual(run);
  const successorsOf = (no: number): readonly number[] => plan.steps[no]?.successors ?? [];
  const wanted = stepsToLoad(head.run.state.kind, successorsOf, events);
  const steps = (await tx.loadSteps([{ runId, steps: wanted }])).get(runId) ?? new Map();
  const mirrored = [...all].filter(([no]) => wanted === "all" || wanted.includes(no));
  expect(steps).toEqual(new Map(mirrored));
  const keys = events.flatMap((event) =>
    event.kind === "report"
      ? [{ runId, step: event.step, fence: event.fence, task: event.task }]
      : [],
  );
  const attempts = (await tx.loadAttempts(keys)).get(runId) ?? [];
  const before: View = { run: head.run, steps, attempts };
  return { head, before };
}

/** The counters of a run go with its open row. */
function kept(run: Run): Run {
  if (!isEnded(run.state)) return run;
  return { ...run, stepsLeft: 0, moving: 0, undosLeft: 0, undone: 0 };
}

function record(life: Life, effect: Effect): void {
  switch (effect.kind) {
    case "task-ended":
    case "attempt-kept": {
      const key = keyOf(effect.attempt);
      if (!life.attempts.has(key)) life.attempts.set(key, recordOf(effect.attempt));
      return;
    }
    case "attempt-settled": {
      const key = keyOf(effect.attempt);
      const before = life.attempts.get(key);
      if (!before) throw new Error(`attempt ${key} is settled and was never there`);
      const { endedAt, outcome } = effect.attempt;
      life.attempts.set(key, { ...before, endedAt, outcome });
      return;
    }
    case "intervened": {
      const { step, fence, rule, n } = effect.intervention;
      life.interventions.add(`${step} ${fence} ${rule} ${n}`);
      return;
    }
    case "escalated":
      life.escalations.push({ step: effect.step, closedBy: null });
      return;
    case "escalation-closed":
      for (const one of life.escalations) if (one.step === effect.step) one.closedBy ??= effect.by;
  }
}

/**
 * A late success and a late failure of one attempt are both evidence; a second of either is none.
 */
function keyOf(row: Pick<Attempt, "step" | "fence" | "kind" | "outcome">): string {
  const { step, fence, kind, outcome } = row;
  return `${step} ${fence} ${kind}${kind === "late" ? ` ${outcome.kind}` : ""}`;
}

function recordOf({ step, kind, fence, attempt, ...rest }: Attempt): AttemptRecord {
  const { agentId, startedAt, endedAt, outcome } = rest;
  return { step, kind, fence, attempt, agentId, startedAt, endedAt, outcome };
}

/** An agent gets the step's task, unless its time is over. */
export async function claimStep(life: Life, step: Step, session: string): Promise<Granted | null> {
  const moving = movingSide(step);
  if (moving?.state.kind !== "READY") return null;
  const { side, state: ready } = moving;
  const { lane, task: planned } = life.scheduled.laneOf(step.no, side);
  const { attemptMs, heartbeatMs, cancelMs } = planned.timeouts;
  const { task, fence, attempt, until, avoid } = ready;
  const granted = await life.store.transact({ name: "claim" }, async (tx) => {
    const rows = await tx.lockReady([{ lane, limit: 100 }]);
    const row = rows.find((one) => one.step === step.no);
    // The time of the step may be over by the store's clock, too.
    if (!row && until !== null && until <= tx.now) return [];
    if (!row) throw new Error(`step ${step.no} is READY, but not in its lane`);
    expect(row).toEqual({
      ...{ ...life.scheduled.ref, step: step.no, lane, priority: 5 },
      ...{ task, fence, attempt, until, avoid, attemptMs, heartbeatMs, cancelMs },
    });
    const agentId = `agent of ${session.slice(0, 4)}`;
    return tx.grant([{ ready: row, secret: hex(16), session, agentId, pollSeq: 1 }]);
  });
  const [one] = granted;
  if (!one) return null;
  const { secret, agentId, pollSeq, grantedAt, attemptBy } = one;
  const lease: Lease = {
    ...{ kind: "LEASED", task, fence, attempt, secret, session, agentId, pollSeq },
    ...{ grantedAt, attemptBy, heartbeatMs, cancelMs, cancel: { kind: "none" }, wakeAt: 0 },
  };
  const wakeAt = leaseWakeAt(lease, grantedAt + heartbeatMs);
  life.steps.set(step.no, { ...step, [side]: { ...lease, wakeAt } });
  life.handedOut.push(one);
  return one;
}

/** All leases of a session beat; those that were told to cancel hear of it. */
export async function beatAll(life: Life, session: string): Promise<void> {
  const held = leasesOf(life).filter(({ lease }) => lease.session === session);
  const { ref, namespaceId } = life.scheduled;
  const [answers] = await life.store.beat([
    {
      ...{ namespaceId, session, agentId: "x", agentVersion: "1" },
      reports: held.map(({ step, lease: { fence, secret } }) => ({
        ...{ runId: ref.runId, step: step.no, fence, secret, progress: "on", details: null },
      })),
    },
  ]);
  const told = (kind: Lease["cancel"]["kind"]): BeatAnswer["kind"] =>
    kind === "none" ? "carry-on" : "cancel";
  expect(answers?.map(({ kind }) => kind)).toEqual(
    held.map(({ lease }) => told(lease.cancel.kind)),
  );
  const { steps } = await look(life.store, life.scheduled);
  for (const { step, side, lease } of held) {
    if (lease.cancel.kind !== "asked") continue;
    const after = steps.get(step.no)?.[side];
    // When it was heard is the store's to say; all else must be as it was.
    if (after?.kind !== "LEASED" || after.cancel.kind !== "heard")
      throw new Error(`the cancel of step ${step.no} was not heard`);
    const { by } = after.cancel;
    const cancel = { kind: "heard", cause: lease.cancel.cause, by } as const;
    life.steps.set(step.no, { ...step, [side]: { ...lease, cancel, wakeAt: by } });
  }
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
  expect(detail.steps).toEqual(life.steps);
  expect(detail.run).toMatchObject({ state: life.run.state.kind, stateVersion: life.run.version });
  const attempts = new Map(detail.attempts.map((attempt) => [keyOf(attempt), attempt]));
  expect(attempts).toEqual(life.attempts);
  const interventions = detail.interventions.map(
    ({ step, fence, rule, n }) => `${step} ${fence} ${rule} ${n}`,
  );
  expect(interventions.sort()).toEqual([...life.interventions].sort());
  const escalations = detail.escalations.map(({ step, closedBy }) => ({ step, closedBy }));
  const inOrder = (list: readonly { step: number; closedBy: string | null }[]): string[] =>
    list.map((one) => JSON.stringify(one)).sort();
  expect(inOrder(escalations)).toEqual(inOrder(life.escalations));
}
