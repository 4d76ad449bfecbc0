// The second look of the integrity sweep, under the lock of the run: its rows are examined as they
// stand, what does not belong there is removed, and the pass goes on from what they should be. A
// run that has lost its open row gets one again. What is left of a run that is not open is removed,
// and its slot goes to who waits.
import type { Moment } from "../core/attempt.ts";
import { decide } from "../core/decide.ts";
import type { Effect } from "../core/effect.ts";
import type { RunEvent } from "../core/event.ts";
import { type Examined, examine } from "../core/examine.ts";
import type { OpenEscalation } from "../core/history.ts";
import { brokenInvariants } from "../core/invariants.ts";
import type { Message } from "../core/message.ts";
import { emptyView, movingSide, type View } from "../core/model.ts";
import { type Plan, REMIND_MS } from "../core/plan.ts";
import { plannedOf } from "../core/strategy.ts";
import type { PassRecord } from "../store/changes.ts";
import { KEPT_OPEN } from "../store/escalation-changes.ts";
import type { LanedPlan, Plans } from "../store/plans.ts";
import { endedRun } from "../store/run-head.ts";
import type { RunHead, RunRef, Store, Tx } from "../store/store.ts";
import type { StoredHead, StrayRows } from "../store/stored-runs.ts";
import { laneOfPass } from "./item-lanes.ts";
import type { SlotMove } from "./slots.ts";

export interface MendDeps {
  readonly store: Pick<Store, "lanes">;
  readonly plans: Plans;
  /** Invariants that a run still breaks once it was put right: somebody has to look at it. */
  readonly onUnmended: (run: RunRef, broken: readonly string[]) => void;
}

export interface MendItem {
  readonly run: RunRef;
  readonly actor: PassRecord["actor"];
}

export interface Mended {
  readonly records: readonly PassRecord[];
  readonly strays: readonly StrayRows[];
  /** Open rows that are to be there before anything is written. */
  readonly reopened: readonly RunHead[];
  readonly slots: readonly SlotMove[];
}

const NOTHING: Mended = Object.freeze({ records: [], strays: [], reopened: [], slots: [] });

/** Examines runs under their lock. Nothing is written yet. */
export async function mend(deps: MendDeps, tx: Tx, items: readonly MendItem[]): Promise<Mended> {
  if (items.length === 0) return NOTHING;
  const stored = await tx.lockStored(items.map(({ run }) => run));
  const found = await Promise.all(
    items.flatMap((item) => {
      const head = stored.get(item.run.runId);
      return head ? [mendOne(deps, tx, head, item)] : [];
    }),
  );
  return {
    records: found.flatMap(({ records }) => records),
    strays: found.flatMap(({ strays }) => strays),
    reopened: found.flatMap(({ reopened }) => reopened),
    slots: found.flatMap(({ slots }) => slots),
  };
}

async function mendOne(
  deps: MendDeps,
  tx: Tx,
  head: StoredHead,
  { actor }: MendItem,
): Promise<Mended> {
  const { stored } = head;
  if (stored.row !== "open") return removeRest(tx, head, actor);
  const laned = await deps.plans.get(head.namespaceId, head.definitionId);
  const examined = examine(laned.plan, stored, tx.now);
  if (examined.findings.length === 0) return NOTHING;
  const view = await withFacts(tx, head, laned, examined.mended);
  const event: RunEvent = { kind: "integrity", found: examined };
  const decision = decide(laned, view, tx.now, [{ event, draw: 0 }]);
  const left = brokenInvariants(laned.plan, decision.view);
  if (left.length > 0) deps.onUnmended(head, left);
  const laneOf = await laneOfPass(deps.store, head.namespaceId, laned, decision);
  const run: RunHead = { ...head, run: examined.before.run };
  const { view: after } = decision;
  const effects = [...decision.effects, ...messagesOf(head, examined)];
  const { before } = examined;
  const record: PassRecord = { head: run, before, after, effects, laneOf, replaces: true, actor };
  await restoreLanes(tx, record);
  return {
    records: [record],
    strays: [{ ...head, strays: examined.strays, all: false }],
    reopened: stored.open ? [] : [run],
    slots: slotMoves(laned.plan, head, examined, record),
  };
}

/** What others should have told it: that its child has ended, and that it holds a slot. */
function messagesOf({ runId: to }: RunRef, { untold, slot }: Examined): readonly Effect[] {
  const words: readonly Message[] = [
    ...untold.map((child) => ({ kind: "child-ended", ...child, child: null }) as const),
    ...(slot === "tell" ? [{ kind: "slot" } as const] : []),
  ];
  return words.map((message) => ({ kind: "message-sent", to, message }));
}

/** Its place among those who wait is that of its start, whose deadline counts from there. */
function slotMoves(
  { timeoutMs }: Plan,
  { slotOf, now }: StoredHead,
  { slot, before }: Examined,
  record: PassRecord,
): readonly SlotMove[] {
  if (slot === null || slot === "tell") return [];
  const { state } = before.run;
  const since = state.kind === "PENDING" ? Math.min(now, state.until - timeoutMs) : now;
  return [{ record, does: slot, since, slotOf: slot === "leave" ? slotOf : null }];
}

async function withFacts(
  tx: Tx,
  { runId }: RunRef,
  { plan, judge }: LanedPlan,
  view: View,
): Promise<View> {
  const signals = plan.hasSignals ? ((await tx.loadSignals([runId])).get(runId) ?? []) : [];
  if (!judge.needsFacts) return { ...view, signals };
  const steps = plan.steps.map(({ no }) => no);
  const facts = (await tx.loadFacts([{ runId, steps }])).get(runId) ?? null;
  return { ...view, signals, facts };
}

/** Whoever has cached the number of a lane goes on using it, so it comes back under that. */
async function restoreLanes(tx: Tx, { head, after, laneOf }: PassRecord): Promise<void> {
  const lanes = [...after.steps.values()].flatMap((step) => {
    const ready = movingSide(step)?.state;
    if (ready?.kind !== "READY") return [];
    const { lane, task } = laneOf(step.no, ready.task, plannedOf(step));
    return [{ lane, namespaceId: head.namespaceId, queue: task.queue, task: task.task }];
  });
  if (lanes.length > 0) await tx.restoreLanes(lanes);
}

/** Of a run that has ended, or was never there. */
async function removeRest(tx: Tx, head: StoredHead, actor: PassRecord["actor"]): Promise<Mended> {
  const { stored, slotOf, runId } = head;
  const strays = stored.places.flatMap(({ no, ready, lease, due }) => [
    ...(ready ? [{ step: no, of: "ready" } as const] : []),
    ...(lease ? [{ step: no, of: "lease" } as const] : []),
    ...(due ? [{ step: no, of: "due" } as const] : []),
  ]);
  // A run that has just ended takes what is still on its way to it by itself, at its owner's look.
  const orphaned = stored.row === "missing" && stored.messages > 0;
  const questions = questionsLeft(stored.escalations, tx.now);
  const saw = [
    ...(stored.open ? ["it is still among the open runs"] : []),
    ...strays.map(({ of, step }) => `there is a ${of} row of step ${step}`),
    ...(orphaned ? [`${stored.messages} messages wait for it`] : []),
    ...(slotOf ? [`it has a slot of the key "${slotOf.key}"`] : []),
    ...questions.map((question) => question.saw),
  ];
  if (saw.length === 0) return NOTHING;
  const [ended] = stored.row === "ended" ? await tx.endedRuns([head]) : [];
  const state = { kind: "FAILED", reason: "NEVER_STARTED" } as const;
  const counts = { version: 1, warnings: 0, escalations: 0 };
  const run = ended?.run ?? endedRun(state, counts);
  const intervened: Effect = {
    kind: "intervened",
    intervention: {
      ...{ step: null, fence: 0, rule: "integrity", n: Math.floor(tx.now / 1_000) },
      saw: `${stored.row === "ended" ? "the run has ended" : "there is no such run"}, and ${saw.join("; ")}`,
      did: "put it right. This is a defect of Drover: please report it",
      dueAt: tx.now,
      actedAt: tx.now,
    },
  };
  const view = emptyView(run);
  const record: PassRecord = {
    ...{ head: { ...head, run }, before: view, after: view, actor },
    effects: [intervened, ...questions.map(({ effect }) => effect)],
    laneOf: () => {
      throw new Error(`run ${runId} has ended and hands nothing out`);
    },
  };
  return {
    records: [record],
    strays: [{ ...head, strays, all: true }],
    reopened: [],
    slots: slotOf ? [{ record, does: "leave", since: tx.now, slotOf }] : [],
  };
}

interface Left {
  readonly saw: string;
  readonly effect: Effect;
}

/** Nobody can answer a run that has ended, but for what outlives it, which is to be reminded of. */
function questionsLeft(open: readonly OpenEscalation[], now: Moment): readonly Left[] {
  return open.flatMap(({ n, step, reason, wakeAt }): readonly Left[] => {
    if (reason !== KEPT_OPEN) {
      const effect = { kind: "escalation-closed", step, by: "the run has ended" } as const;
      return [{ saw: `its question ${n} is open`, effect }];
    }
    if (wakeAt !== null) return [];
    const saw = `nobody would ever be reminded of its question ${n}`;
    const reminded = { n, wakeAt: now + REMIND_MS, tell: false };
    return [{ saw, effect: { kind: "escalation-reminded", ...reminded } as const }];
  });
}
