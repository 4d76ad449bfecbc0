/**
 * One run in memory, with a clock that tests turn, agents that poll, and a supervisor that looks.
 *
 * It does what a store does around the rules, and no more: a claim turns a ready row into a lease,
 * a beat hears a cancel, an ended attempt is found again by its token. Each pass is checked against
 * the laws (core-laws.ts), so every test that moves a run here checks them too.
 */
import { type Decision, start } from "../../server/core/decide.ts";
import {
  type CompensateDefinition,
  type Definition,
  type Plan,
  planOf,
  type StepDefinition,
} from "../../server/core/definition.ts";
import type { Effect } from "../../server/core/effect.ts";
import type { Answer, RunEvent } from "../../server/core/event.ts";
import { leaseWakeAt, runWakeAt, untouchedStep } from "../../server/core/evolve.ts";
import type {
  EndedAttempt,
  Intervention,
  Lease,
  Moment,
  Outcome,
  Rule,
  Run,
  Step,
  TaskKind,
  View,
} from "../../server/core/model.ts";
import { movingSide } from "../../server/core/model.ts";
import { assertView, checkPass, type EdgeTaken, edgeOfStep } from "./core-laws.ts";

/** A task as the agent that got it knows it. */
export interface Held {
  readonly step: number;
  readonly task: TaskKind;
  readonly fence: number;
  readonly attempt: number;
  readonly secret: string;
  readonly session: string;
  readonly grantedAt: Moment;
}

export type ReportedOutcome = Exclude<Outcome, { kind: "undelivered" }>;

export const START: Moment = 1_000_000;
/** A draw that leaves a backoff as it is, whatever its jitter. */
export const MIDDLE = 0.5;

export const success = (output = "{}"): ReportedOutcome => ({
  kind: "success",
  output: { kind: "json", json: output },
});

export const failure = (
  code: string,
  more: { permanent?: boolean; retryAfterMs?: number; noEffect?: boolean } = {},
): ReportedOutcome => ({
  kind: "failure",
  class: more.permanent ? "permanent" : "transient",
  code,
  message: `it said ${code}`,
  retryAfterMs: more.retryAfterMs ?? null,
  noEffect: more.noEffect ?? false,
});

export const unknown = (code = "drover.unknown"): ReportedOutcome => ({
  kind: "unknown",
  code,
  message: "nobody knows",
});

export const released: ReportedOutcome = { kind: "released" };

export const cancelled = (more: { noEffect?: boolean } = {}): ReportedOutcome => ({
  kind: "cancelled",
  noEffect: more.noEffect ?? false,
});

/** A workflow of task steps; each performs the task of its own name unless it says otherwise. */
export function workflow(
  steps: Readonly<Record<string, Partial<Omit<StepDefinition, "id">>>>,
  more: { timeoutMs?: number } = {},
): Definition {
  return {
    workflow: "test",
    ...more,
    steps: Object.entries(steps).map(([id, step]) => ({ id, needs: [], task: id, ...step })),
  };
}

export function undoneBy(
  task: string,
  more: Partial<CompensateDefinition> = {},
): CompensateDefinition {
  return { task, ...more };
}

export interface ReportOptions {
  readonly digest?: string;
  readonly secret?: string;
  readonly draw?: number;
}

export interface World {
  readonly plan: Plan;
  readonly effects: readonly Effect[];
  readonly edgesTaken: readonly EdgeTaken[];
  /** Every task that was ever handed out, in order. */
  readonly handedOut: readonly Held[];
  now(): Moment;
  run(): Run;
  step(id: string | number): Step;
  steps(): readonly Step[];
  advance(ms: number): void;
  /** Hands the ready task of a step to a session, if it is ready and may go there. */
  tryClaim(id: string | number, session?: string): Held | undefined;
  claim(id: string | number, session?: string): Held;
  /** Every lease of the session has beaten, and hears if it is told to stop. */
  beat(session?: string): void;
  /** The session beats, and does not name the tasks that it holds. */
  beatUnnamed(session?: string): void;
  /** One pass over these events; the answers are in their order. */
  pass(events: readonly RunEvent[], draw?: number): readonly Answer[];
  reportOf(held: Held, outcome: ReportedOutcome, options?: ReportOptions): RunEvent;
  report(held: Held, outcome: ReportedOutcome, options?: ReportOptions): Answer;
  undelivered(held: Held): Answer;
  cancel(undo: boolean): Answer;
  /**
   * The event of the step's moment as the supervisor sees it, due or not; null if nothing moves.
   */
  momentOf(id: string | number, facts?: MomentFacts): RunEvent | null;
  fire(id: string | number, facts?: MomentFacts): void;
  fireRun(): void;
  /** The earliest moment of the run and of its steps, and whose it is; null if there is none. */
  nextMoment(): { readonly at: Moment; readonly step: number | null } | null;
  /** Waits for the earliest moment, and lets it fire. */
  fireNext(facts?: MomentFacts): void;
  interventions(rule: Rule): readonly Intervention[];
  openEscalations(): readonly number[];
}

export interface MomentFacts {
  readonly polled?: boolean;
  readonly watchingSince?: Moment;
}

interface State {
  readonly plan: Plan;
  now: Moment;
  view: View;
  ended: EndedAttempt[];
  readonly lastBeats: Map<string, Moment>;
  readonly accepted: Map<string, string>;
  readonly effects: Effect[];
  readonly edgesTaken: EdgeTaken[];
  readonly handedOut: Held[];
  readonly escalations: Set<number>;
}

export function createWorld(definition: Definition): World {
  const plan = planOf(definition);
  const begun = start(plan, START);
  const state: State = {
    plan,
    now: START,
    view: begun.view,
    ended: [],
    lastBeats: new Map(),
    accepted: new Map(),
    effects: [...begun.effects],
    edgesTaken: [],
    handedOut: [],
    escalations: new Set(),
  };
  assertView(plan, state.view);
  const pass: World["pass"] = (events, draw = MIDDLE) => runPass(state, events, draw);
  const one = (event: RunEvent, draw?: number): Answer => {
    const [answer] = pass([event], draw);
    if (!answer) throw new Error(`no answer to ${event.kind}`);
    return answer;
  };
  const reportOf: World["reportOf"] = (held, outcome, options = {}) => ({
    kind: "report",
    step: held.step,
    task: held.task,
    fence: held.fence,
    secret: options.secret ?? held.secret,
    outcome,
    digest: options.digest ?? JSON.stringify(outcome),
    agentId: `agent of ${held.session}`,
    session: held.session,
  });
  const fire: World["fire"] = (id, facts) => {
    const event = momentOf(state, id, facts ?? {});
    if (!event) throw new Error(`step ${id} has no moment`);
    one(event);
  };
  const fireRun = (): void => void one({ kind: "run-moment" });
  return Object.freeze({
    plan,
    effects: state.effects,
    edgesTaken: state.edgesTaken,
    handedOut: state.handedOut,
    now: () => state.now,
    run: () => state.view.run,
    step: (id: string | number) => stepIn(state, id),
    steps: () => plan.steps.map((step) => stepIn(state, step.no)),
    advance: (ms: number) => {
      state.now += ms;
    },
    tryClaim: (id: string | number, session = "s1") => tryClaim(state, stepIn(state, id), session),
    claim: (id: string | number, session = "s1") => {
      const held = tryClaim(state, stepIn(state, id), session);
      if (!held) throw new Error(`step ${id} has nothing for ${session}`);
      return held;
    },
    beat: (session = "s1") => beat(state, session),
    beatUnnamed: (session = "s1") => void state.lastBeats.set(session, state.now),
    pass,
    reportOf,
    report: (held: Held, outcome: ReportedOutcome, options: ReportOptions = {}) =>
      one(reportOf(held, outcome, options), options.draw),
    undelivered: ({ step, fence, secret }: Held) =>
      one({ kind: "undelivered", step, fence, secret }),
    cancel: (undo: boolean) => one({ kind: "cancel", undo, note: "" }),
    momentOf: (id: string | number, facts: MomentFacts = {}) => momentOf(state, id, facts),
    fire,
    fireRun,
    nextMoment: () => nextMoment(state),
    fireNext: (facts?: MomentFacts) => {
      const next = nextMoment(state);
      if (!next) throw new Error("nothing will ever wake this run");
      state.now = Math.max(state.now, next.at);
      if (next.step === null) fireRun();
      else fire(next.step, facts);
    },
    interventions: (rule: Rule) =>
      state.effects.flatMap((effect) =>
        effect.kind === "intervened" && effect.intervention.rule === rule
          ? [effect.intervention]
          : [],
      ),
    openEscalations: () => [...state.escalations],
  });
}

function stepIn(state: State, id: string | number): Step {
  const planned = state.plan.steps.find((step) => step.no === id || step.id === id);
  if (!planned) throw new Error(`the workflow has no step ${id}`);
  return state.view.steps.get(planned.no) ?? untouchedStep(planned.no, planned.needs.length);
}

function runPass(state: State, events: readonly RunEvent[], draw: number): readonly Answer[] {
  const items = events.map((event) => ({ event, draw }));
  const before: View = { ...state.view, attempts: attemptsAbout(state, events) };
  const checked = checkPass({
    plan: state.plan,
    before,
    now: state.now,
    items,
    accepted: state.accepted,
  });
  const decision: Decision<(typeof items)[number]> = checked.decision;
  state.view = { ...decision.view, attempts: [] };
  state.effects.push(...decision.effects);
  state.edgesTaken.push(...checked.edgesTaken);
  for (const effect of decision.effects) record(state, effect);
  return items.map((item) => {
    const answer = decision.answers.get(item);
    if (!answer) throw new Error(`no answer to ${item.event.kind}`);
    return answer;
  });
}

/** What a store finds by the tokens of the reports. */
function attemptsAbout(state: State, events: readonly RunEvent[]): EndedAttempt[] {
  return state.ended.filter((attempt) =>
    events.some(
      (event) =>
        event.kind === "report" && event.step === attempt.step && event.fence === attempt.fence,
    ),
  );
}

function record(state: State, effect: Effect): void {
  if (effect.kind === "escalated") state.escalations.add(effect.step);
  if (effect.kind === "escalation-closed") state.escalations.delete(effect.step);
  if (effect.kind !== "task-ended" && effect.kind !== "attempt-settled") return;
  const { step, kind, fence, attempt, secret, startedAt, outcome, digest } = effect.attempt;
  if (secret === null || (kind !== "perform" && kind !== "compensate")) return;
  const others = state.ended.filter((other) => other.secret !== secret);
  const lost = effect.kind === "task-ended" && effect.lost;
  state.ended = [
    ...others,
    { step, kind, fence, attempt, secret, startedAt, outcome: outcome.kind, lost, digest },
  ];
}

function tryClaim(state: State, step: Step, session: string): Held | undefined {
  const moving = movingSide(step);
  if (moving?.state.kind !== "READY") return undefined;
  const { side, state: ready } = moving;
  if (ready.avoid?.session === session && state.now < ready.avoid.until) return undefined;
  if (state.handedOut.some((held) => held.step === step.no && held.fence === ready.fence))
    throw new Error(`fence ${ready.fence} of step ${step.no} is handed out twice`);
  const planned = state.plan.steps[step.no];
  const task = side === "forward" ? planned : planned?.compensate;
  if (!task) throw new Error(`step ${step.no} has no task`);
  const { attemptMs, heartbeatMs, cancelMs } = task.timeouts;
  const lease: Lease = {
    kind: "LEASED",
    task: ready.task,
    fence: ready.fence,
    attempt: ready.attempt,
    secret: `secret ${state.handedOut.length + 1}`,
    session,
    agentId: `agent of ${session}`,
    pollSeq: state.handedOut.length + 1,
    grantedAt: state.now,
    attemptBy: Math.min(state.now + attemptMs, ready.until ?? Number.MAX_SAFE_INTEGER),
    heartbeatMs,
    cancelMs,
    cancel: { kind: "none" },
    wakeAt: 0,
  };
  const wakeAt = leaseWakeAt(lease, state.now + heartbeatMs);
  replaceLease(state, step, side, { ...lease, wakeAt }, "claim");
  const { task: kind, fence, attempt, secret, grantedAt } = lease;
  const held = { step: step.no, task: kind, fence, attempt, secret, session, grantedAt };
  state.handedOut.push(held);
  return held;
}

function beat(state: State, session: string): void {
  state.lastBeats.set(session, state.now);
  for (const step of state.view.steps.values()) {
    const moving = movingSide(step);
    if (moving?.state.kind !== "LEASED" || moving.state.session !== session) continue;
    const lease = moving.state;
    if (lease.cancel.kind !== "asked") continue;
    const by = state.now + lease.cancelMs;
    const cancel = { kind: "heard", cause: lease.cancel.cause, by } as const;
    replaceLease(state, step, moving.side, { ...lease, cancel, wakeAt: by }, "beat");
  }
}

function replaceLease(
  state: State,
  step: Step,
  side: "forward" | "undo",
  lease: Lease,
  on: "claim" | "beat",
): void {
  const after: Step = { ...step, [side]: lease };
  state.edgesTaken.push(edgeOfStep(side, step[side].kind, on, "LEASED"));
  state.view = { ...state.view, steps: new Map(state.view.steps).set(step.no, after) };
  assertView(state.plan, state.view);
}

function momentOf(state: State, id: string | number, facts: MomentFacts): RunEvent | null {
  const step = stepIn(state, id);
  const moving = movingSide(step)?.state;
  switch (moving?.kind) {
    case "LEASED":
      return {
        kind: "lease-moment",
        step: step.no,
        fence: moving.fence,
        lastBeatAt: state.lastBeats.get(moving.session) ?? null,
        watchingSince: facts.watchingSince ?? 0,
      };
    case "READY":
      return {
        kind: "ready-moment",
        step: step.no,
        fence: moving.fence,
        polled: facts.polled ?? false,
      };
    case "BACKOFF":
      return { kind: "backoff-moment", step: step.no };
    default:
      return null;
  }
}

function nextMoment(state: State): { at: Moment; step: number | null } | null {
  const moments: { at: Moment; step: number | null }[] = [];
  const runAt = runWakeAt(state.view.run);
  if (runAt !== null) moments.push({ at: runAt, step: null });
  for (const step of state.view.steps.values()) {
    const moving = movingSide(step);
    if (moving) moments.push({ at: moving.state.wakeAt, step: step.no });
  }
  return moments.sort((a, b) => a.at - b.at)[0] ?? null;
}
