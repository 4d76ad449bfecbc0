// Whether the rows of a run fit each other, and what they should be: found from the rows alone.
// What does not fit is a bug of ours, or the hand of somebody in the tables; either way the run
// must go on, and nothing may be done twice because of it.
//
//   a place       its step, and what stands beside it (examine-place.ts)
//   the run       counts again what its steps are; its state has what that state needs
//   the rest      the invariants say (invariants.ts): what they find broken is a finding, too
//
// What may have been handed out and left no row counts as handed out: its fence is used up.
import type { Moment, TaskKind } from "./attempt.ts";
import { asks, runWakeAt, untouchedStep } from "./evolve.ts";
import { SLACK_MS } from "./examine-fit.ts";
import {
  countAgain,
  countsNeeds,
  type Examining,
  examinePlace,
  missingPlaces,
} from "./examine-place.ts";
import type { OpenEscalation } from "./history.ts";
import { brokenInvariants, runCounters } from "./invariants.ts";
import {
  emptyView,
  isFinal,
  type Run,
  type RunState,
  type Step,
  stageOf,
  type View,
} from "./model.ts";
import type { Plan } from "./plan.ts";
import { planStepAt } from "./plan-at.ts";
import { reopened, stateBySteps } from "./reopen.ts";
import type { ChildWait, StoredOpen, StoredRun } from "./stored.ts";

export interface Finding {
  /** null: about the run. */
  readonly step: number | null;
  readonly saw: string;
}

/** What the rules have to begin again: it was under way, and no row says so. */
export interface Lost {
  readonly step: number;
  readonly task: TaskKind;
  /** An agent may have it. */
  readonly out: boolean;
}

/** What the rules are told of a run whose rows were put right. */
export interface Found {
  readonly findings: readonly Finding[];
  readonly lost: readonly Lost[];
  /** Steps without an open question that have to ask one. */
  readonly unasked: readonly number[];
  /** Steps with an open question that ask none. */
  readonly asked: readonly number[];
  /** BLOCKED steps that wait for nothing. */
  readonly unopened: readonly number[];
  /** Open questions of which nobody would ever be reminded. */
  readonly unwatched: readonly OpenEscalation[];
}

export const NOTHING_FOUND: Found = Object.freeze({
  findings: [],
  lost: [],
  unasked: [],
  asked: [],
  unopened: [],
  unwatched: [],
});

/** What has to become of the slot of a run. */
export type SlotRepair =
  /** It is under way, and holds none. */
  | "hold"
  /** It waits for one, and nobody knows. */
  | "join"
  /** It has one that it never asked for. */
  | "leave"
  /** It holds one, and waits to hear of it. */
  | "tell";

/** A row that must go: one beside a step, or of a step that its plan does not have. */
export interface Stray {
  readonly step: number;
  readonly of: "step" | "ready" | "lease" | "due";
}

export interface Examined extends Found {
  /** As far as a view can say it, what is stored once the strays are gone. */
  readonly before: View;
  /** What it should be; what is lost of it is HELD, until the rules have begun it again. */
  readonly mended: View;
  readonly strays: readonly Stray[];
  /** Steps whose child has ended, which nobody would ever tell. */
  readonly untold: readonly ChildWait[];
  /** null: its slot is as it should be. */
  readonly slot: SlotRepair | null;
}

/** Moments of one clock may be read with a rounding. */
const ROUNDING_MS = 2;

/** Of a run that has not ended, and whose row is there. */
export function examine(plan: Plan, stored: StoredRun, now: Moment): Examined {
  const open = openOf(plan, stored, now);
  const state = open.state ?? assumed(plan, stored, open, now);
  const of: Examining = {
    ...{ plan, now, state, stored, before: new Map(), steps: new Map() },
    ...{ findings: [], strays: [], lost: [] },
  };
  if (open.state === null) find(of, null, `${open.kind} without what that state needs`);
  for (const place of stored.places) examinePlace(of, place);
  for (const no of missingPlaces(of)) find(of, no, "its row is missing");
  if (!stored.open) find(of, null, "it has not ended, and is not among the open runs");
  const counted = stored.open ? {} : runCounters(plan, of.steps);
  const asStored: Run = { ...open.run, ...counted, state };
  brokenToo(of, asStored);
  const unopened = countNeeds(of);
  const steps = new Map([...of.steps].map(([no, step]) => [no, countAgain(of, step)]));
  const run = { ...mendState(of, asStored), ...runCounters(plan, steps) };
  const due = runWakeAt(run);
  if (run.state === state && differs(due, open.wakeAt))
    find(of, null, `somebody looks at it ${at(open.wakeAt, now)}, and should ${at(due, now)}`);
  const mended = viewOf(run, steps);
  // A run whose end is certain has left undone what could not be.
  const isLeft = stageOf(run.state) === "FINISHING";
  const unasked = [...steps.values()].filter(
    (step) =>
      (isLeft ? step.forward.kind === "ESCALATED" : asks(step)) &&
      !stored.escalations.some(({ step: no }) => no === step.no),
  );
  for (const { no } of unasked) find(of, no, "it waits for a person, and nobody is asked");
  const asked = stored.escalations.filter(({ step, reason }) => {
    const about = steps.get(step);
    return reason !== "doubled" && !(about && asks(about));
  });
  for (const { step, n } of asked) find(of, step, `question ${n} is open, and it asks none`);
  const unwatched = stored.escalations.filter((one) => one.wakeAt === null && !asked.includes(one));
  for (const { step, n } of unwatched)
    find(of, step, `question ${n} is open, and nobody would ever be reminded of it`);
  for (const { step } of stored.untold)
    find(of, step, "the child that it waits for has ended, and nobody tells it");
  const slot = slotRepair(run, stored);
  if (slot) find(of, null, SLOT_WORDS[slot]);
  return {
    findings: of.findings,
    before: viewOf(asStored, of.before),
    mended,
    ...{ strays: of.strays, lost: of.lost, unopened },
    unasked: unasked.map(({ no }) => no),
    asked: asked.map(({ step }) => step),
    ...{ unwatched, slot, untold: stored.untold },
  };
}

function openOf(plan: Plan, stored: StoredRun, now: Moment): StoredOpen {
  if (stored.open) return stored.open;
  if (stored.unopened) return reopened(plan, stored, stored.unopened, now);
  throw new Error("a run that has ended has nothing to examine");
}

const SLOT_WORDS: Readonly<Record<SlotRepair, string>> = Object.freeze({
  hold: "it is under way, and holds no slot of its concurrency key",
  join: "it waits for a slot, and is not among those who do",
  leave: "it has a slot that it has not asked for",
  tell: "it holds a slot, and nobody tells it",
});

function slotRepair({ keyed, state }: Run, { slot, slotTold }: StoredRun): SlotRepair | null {
  if (!keyed || (state.kind === "PENDING" && state.on === "start"))
    return slot === null ? null : "leave";
  if (state.kind !== "PENDING") return slot === "holds" ? null : "hold";
  if (slot === null) return slotTold ? null : "join";
  return slot === "holds" && !slotTold ? "tell" : null;
}

export function find(of: Pick<Examining, "findings">, step: number | null, saw: string): void {
  of.findings.push({ step, saw });
}

function viewOf(run: Run, steps: ReadonlyMap<number, Step>): View {
  return { ...emptyView(run), steps };
}

/** What the invariants find beside that: not about steps that were found broken already. */
function brokenToo(of: Examining, run: Run): void {
  const known = of.findings.flatMap(({ step }) =>
    step === null ? [] : [`step ${planStepAt(of.plan, step)?.id ?? ""}: `],
  );
  for (const broken of brokenInvariants(of.plan, viewOf(run, of.steps))) {
    if (known.some((about) => broken.startsWith(about))) continue;
    const about = [...of.steps.keys()].find((no) =>
      broken.startsWith(`step ${planStepAt(of.plan, no)?.id ?? ""}: `),
    );
    find(of, about ?? null, broken);
  }
}

/**
 * A state whose columns are lost: as the steps say it. Where they speak of another, what undoes
 * what was done, or waits for a person, is safest.
 */
function assumed(plan: Plan, stored: StoredRun, { kind, run }: StoredOpen, now: Moment): RunState {
  const said = stateBySteps(plan, stored, run.parent, now);
  if (said.kind === kind) return said;
  const verdict = { reason: "STEP_FAILED", undo: true } as const;
  switch (kind) {
    case "PENDING":
      return { kind, on: "start", until: now };
    case "PAUSED":
      return { kind, leftMs: plan.timeoutMs, since: now, verdict: null };
    case "ESCALATED":
      return { kind, from: { kind: "RUNNING", leftMs: plan.timeoutMs, since: now } };
    case "STOPPING":
      return { kind, verdict, settleUntil: null };
    case "COMPENSATING":
      return { kind, verdict };
    case "FINISHING":
      return { kind, end: { kind: "FAILED", reason: "STEP_FAILED" } };
    default:
      return { kind: "RUNNING", deadline: now + plan.timeoutMs };
  }
}

function mendState(of: Examining, run: Run): Run {
  const { plan, now } = of;
  const { state } = run;
  const settles = Math.max(...[...of.steps.values()].map((step) => step.settleUntil ?? 0), 0);
  const mended = ((): RunState => {
    if (state.kind === "STOPPING") {
      const settleUntil = state.verdict.undo && settles > 0 ? settles : null;
      return settleUntil === state.settleUntil ? state : { ...state, settleUntil };
    }
    if (state.kind !== "RUNNING") return state;
    const latest = now + plan.timeoutMs;
    if (state.deadline === null && !run.pivoted) {
      find(of, null, "it has no deadline");
      return { ...state, deadline: latest };
    }
    if (state.deadline !== null && state.deadline > latest + SLACK_MS) {
      find(of, null, "its deadline is further away than its time is long");
      return { ...state, deadline: latest };
    }
    return state;
  })();
  return { ...run, state: mended };
}

function differs(a: Moment | null, b: Moment | null): boolean {
  if (a === null || b === null) return a !== b;
  return Math.abs(a - b) > ROUNDING_MS;
}

function at(moment: Moment | null, now: Moment): string {
  return moment === null ? "never" : `in ${Math.round((moment - now) / 1_000)} s`;
}

/** Puts right what BLOCKED steps wait for, where that still counts; those that may begin. */
function countNeeds(of: Examining): readonly number[] {
  const { state, plan, steps } = of;
  if (!countsNeeds(state)) return [];
  return plan.steps.flatMap(({ no, needs, always }) => {
    const step = steps.get(no) ?? untouchedStep(no, needs.length);
    if (step.forward.kind !== "BLOCKED" || always) return [];
    const ends = needs.map((need) => steps.get(need)?.forward ?? null);
    const count = (kind: Step["forward"]["kind"]): number =>
      ends.filter((end) => end?.kind === kind).length;
    const forward = {
      kind: "BLOCKED",
      waitingFor: ends.filter((end) => end === null || !isFinal(end)).length,
      ok: count("SUCCEEDED"),
      skipped: count("SKIPPED"),
    } as const;
    const { waitingFor, ok, skipped } = step.forward;
    const same =
      waitingFor === forward.waitingFor && ok === forward.ok && skipped === forward.skipped;
    if (!same) {
      find(of, no, `it counts ${waitingFor} of its needs as open, ${forward.waitingFor} are`);
      steps.set(no, { ...step, forward });
    }
    return forward.waitingFor === 0 ? [no] : [];
  });
}
