/**
 * One run in memory, with a clock that tests turn, agents that poll, and a supervisor that scans.
 *
 * Beside the rules it does what a store does (core-rows.ts). Each pass is checked against the laws
 * (core-laws.ts), so every test that moves a run here checks them too.
 */

import { type Begins, type Rules, start } from "../../server/core/decide.ts";
import type {
  CompensateDefinition,
  Definition,
  StepDefinition,
  StepRules,
  StepWork,
  TaskWork,
} from "../../server/core/definition/definition.ts";
import type { EpochMs } from "../../server/core/model/attempt.ts";
import type { Outage } from "../../server/core/model/circuit.ts";
import type { Effect } from "../../server/core/model/effect.ts";
import type { Evaluator } from "../../server/core/model/evaluator.ts";
import type { Answer, RunEvent } from "../../server/core/model/event.ts";
import type { Facts, RunFacts } from "../../server/core/model/facts.ts";
import type {
  AnswerKind,
  Intervention,
  OpenEscalation,
  Rule,
} from "../../server/core/model/history.ts";
import type { Message } from "../../server/core/model/message.ts";
import type { Run, Step, View } from "../../server/core/model/model.ts";
import { movingSide } from "../../server/core/model/model.ts";
import type { Payload } from "../../server/core/model/payload.ts";
import { itemOf } from "../../server/core/model/step-key.ts";
import { type Plan, planOf } from "../../server/core/plan/plan.ts";
import { assertView, type EdgeTaken } from "./core-laws.ts";
import { type CallbackOutcome, type ReportedOutcome, success } from "./core-outcomes.ts";
import {
  type Held,
  messagesEvent,
  nextTimer,
  type PassPlayed,
  record,
  runPass,
  type State,
  sendHeartbeat,
  stepIn,
  type TimerFacts,
  timerEventOf,
  tryClaim,
} from "./core-rows.ts";
import { plainEvaluator } from "./plain-evaluator.ts";

export const START: EpochMs = 1_000_000;
/** A draw that leaves a backoff as it is, whatever its jitter. */
export const MIDDLE = 0.5;

/** What a step sets beside its kind. */
type GivenRules = Partial<Omit<StepRules, "id">>;
type OtherWork = Exclude<StepWork, TaskWork>;
export type TaskOptions = GivenRules & Partial<TaskWork>;
export type StepOptions = TaskOptions | (GivenRules & OtherWork);

/** A workflow of task steps; each performs the task of its own name unless it is set otherwise. */
export function workflow(
  steps: Readonly<Record<string, StepOptions>>,
  more: { timeoutMs?: number } = {},
): Definition {
  return {
    workflow: "test",
    ...more,
    steps: Object.entries(steps).map(([id, step]) => stepDefinition(id, step)),
  };
}

function stepDefinition(id: string, step: StepOptions): StepDefinition {
  if (isTask(step)) return { id, needs: [], task: id, ...step };
  return { id, needs: [], ...step };
}

function isTask(step: StepOptions): step is GivenRules & Partial<TaskWork> {
  return step.kind === undefined || step.kind === "task";
}

export function undoneBy(
  task: string,
  more: Partial<CompensateDefinition> = {},
): CompensateDefinition {
  return { task, ...more };
}

const RUN_FACTS: RunFacts = Object.freeze({
  id: "run",
  workflow: "test",
  version: 0,
  key: null,
  labels: {},
  createdAt: START,
  input: null,
});

export interface ReportOptions {
  readonly digest?: string;
  readonly secret?: string;
  readonly draw?: number;
}

export interface World {
  readonly plan: Plan;
  readonly effects: readonly Effect[];
  /** When each of them happened. */
  readonly effectsAt: readonly EpochMs[];
  readonly edgesTaken: readonly EdgeTaken[];
  /** Every task that was ever handed out, in order. */
  readonly handedOut: readonly Held[];
  readonly passes: readonly PassPlayed[];
  now(): EpochMs;
  run(): Run;
  /** What expressions would see now. */
  facts(): Facts | null;
  /** All but the attempts, which a pass loads. */
  view(): View;
  step(id: string | number): Step;
  steps(): readonly Step[];
  advance(ms: number): void;
  /** Circuits of its lanes were open then. */
  outages(id: string | number, outages: readonly Outage[]): void;
  /** Hands the ready task of a step to a session, if it is ready and may go there. */
  tryClaim(id: string | number, session?: string): Held | undefined;
  claim(id: string | number, session?: string): Held;
  /** A heartbeat with every lease of the session, each of which learns whether it is cancelled. */
  heartbeat(session?: string, progress?: boolean): void;
  /** A heartbeat of the session that does not name the tasks that it holds. */
  heartbeatUnnamed(session?: string): void;
  /** One pass over these events; the answers are in their order. */
  pass(events: readonly RunEvent[], draw?: number): readonly Answer[];
  reportOf(held: Held, outcome: ReportedOutcome, options?: ReportOptions): RunEvent;
  report(held: Held, outcome: ReportedOutcome, options?: ReportOptions): Answer;
  undelivered(held: Held, problem?: string): Answer;
  forgotten(held: Held): Answer;
  /** CompleteDeferred with the callback token of the task. */
  callback(held: Held, outcome: CallbackOutcome, options?: { readonly digest?: string }): Answer;
  callbackOf(held: Held, outcome: CallbackOutcome): RunEvent;
  signal(name: string, id?: string, payload?: string): Answer;
  decide(id: string | number, approver: string, approved: boolean, more?: DecideMore): Answer;
  /** Answers the escalation of this number. */
  answer(n: number, answer: AnswerKind, payload?: string): Answer;
  cancel(undo: boolean): Answer;
  /** Other runs have sent these, and no pass has applied them yet: the event that lets one. */
  messagesEvent(...messages: readonly Message[]): RunEvent;
  pause(): Answer;
  resume(): Answer;
  /**
   * The event of the step's timer as the supervisor sees it, due or not; null if nothing moves.
   */
  timerEventOf(id: string | number, facts?: TimerFacts): RunEvent | null;
  fire(id: string | number, facts?: TimerFacts): void;
  fireRun(): void;
  /** Escalations as in their rows, by number. */
  escalations(): readonly OpenEscalation[];
  /** The earliest timer of the run and of its steps, and whose it is; null if there is none. */
  nextTimer(): { readonly at: EpochMs; readonly step: number | null } | null;
  /** Waits for the earliest timer, and lets it fire. */
  fireNext(facts?: TimerFacts): void;
  interventions(rule: Rule): readonly Intervention[];
  openEscalations(): readonly number[];
}

export interface DecideMore {
  readonly roles?: readonly string[];
  readonly requester?: string;
  readonly form?: string;
}

/** A session takes the ready task of the step and falls silent; its lease ends. */
export function lose(world: World, id: string | number, session = "s1"): Held {
  const held = world.claim(id, session);
  const lease = movingSide(world.step(id))?.state;
  if (lease?.kind !== "LEASED") throw new Error(`step ${id} is not leased`);
  world.advance(lease.heartbeatMs);
  world.fire(id);
  return held;
}

/** Three sessions in a row are lost with the task: the last of them. */
export function poison(world: World, id: string | number): Held {
  lose(world, id, "s1");
  lose(world, id, "s2");
  return lose(world, id, "s3");
}

/** Every step named has its ready task done. */
export function succeed(world: World, ...ids: readonly string[]): void {
  for (const id of ids) world.report(world.claim(id), success());
}

/** The last question that is open. */
export function lastQuestion(world: World): OpenEscalation & { readonly code: string } {
  const open = world.escalations().findLast(({ closedBy }) => closedBy === null);
  const asked = world.effects.findLast((one) => one.kind === "escalated" && one.n === open?.n);
  if (!open || asked?.kind !== "escalated") throw new Error("no open escalation");
  return { ...open, code: asked.code };
}

function reportOf(held: Held, outcome: ReportedOutcome, options: ReportOptions = {}): RunEvent {
  return {
    kind: "report",
    step: held.step,
    task: held.task,
    fence: held.fence,
    secret: options.secret ?? held.secret,
    outcome,
    digest: options.digest ?? JSON.stringify(outcome),
    agentId: `agent of ${held.session}`,
    session: held.session,
  };
}

function callbackOf({ step, fence, secret }: Held, outcome: CallbackOutcome) {
  return {
    kind: "callback" as const,
    step,
    fence,
    secretDigest: `digest of ${secret}`,
    secret,
    outcome,
    digest: `callback ${JSON.stringify(outcome)}`,
  };
}

function startState(definition: Definition, evaluator: Evaluator, begins: Begins): State {
  const plan = planOf(definition);
  const rules: Rules = { plan, evaluator };
  const started = start(rules, START, { run: RUN_FACTS, steps: new Map() }, begins);
  const state: State = {
    rules,
    plan,
    now: START,
    view: started.view,
    messages: 0,
    ended: [],
    lastHeartbeats: new Map(),
    accepted: new Map(),
    effects: [...started.effects],
    effectsAt: started.effects.map(() => START),
    edgesTaken: [],
    handedOut: [],
    passes: [],
  };
  for (const effect of started.effects) record(state, effect);
  assertView(plan, state.view);
  return state;
}

/**
 * `evaluator`: what its expressions and schemas evaluate to; by default there are none. `begins`:
 * what it waits for before it begins, and what it keeps; nothing.
 */
export function createWorld(
  definition: Definition,
  evaluator: Evaluator = plainEvaluator(definition),
  begins: Begins = {},
): World {
  const state = startState(definition, evaluator, begins);
  const pass: World["pass"] = (events, draw = MIDDLE) => runPass(state, events, draw);
  const one = (event: RunEvent, draw?: number): Answer => {
    const [answer] = pass([event], draw);
    if (!answer) throw new Error(`no answer to ${event.kind}`);
    return answer;
  };
  const fire: World["fire"] = (id, facts) => {
    const event = timerEventOf(state, id, facts ?? {});
    if (!event) throw new Error(`step ${id} has no timer`);
    one(event);
  };
  const fireRun = (): void => void one({ kind: "run-timer" });
  return Object.freeze({
    plan: state.plan,
    effects: state.effects,
    effectsAt: state.effectsAt,
    edgesTaken: state.edgesTaken,
    handedOut: state.handedOut,
    passes: state.passes,
    now: () => state.now,
    run: () => state.view.run,
    facts: () => state.view.facts,
    view: () => state.view,
    step: (id: string | number) => stepIn(state, id),
    steps: () => {
      const own = state.plan.steps.map(({ no }) => no);
      const items = [...state.view.steps.keys()].filter((stepKey) => itemOf(stepKey) > 0);
      return [...own, ...items].map((stepKey) => stepIn(state, stepKey));
    },
    advance: (ms: number) => {
      state.now += ms;
    },
    outages: (id: string | number, outages: readonly Outage[]) => {
      const { no } = stepIn(state, id);
      state.view = { ...state.view, outages: new Map(state.view.outages).set(no, outages) };
    },
    tryClaim: (id: string | number, session = "s1") => tryClaim(state, stepIn(state, id), session),
    claim: (id: string | number, session = "s1") => {
      const held = tryClaim(state, stepIn(state, id), session);
      if (!held) throw new Error(`step ${id} has nothing for ${session}`);
      return held;
    },
    heartbeat: (session = "s1", progress = false) => sendHeartbeat(state, session, progress),
    heartbeatUnnamed: (session = "s1") => void state.lastHeartbeats.set(session, state.now),
    pass,
    reportOf,
    report: (held: Held, outcome: ReportedOutcome, options: ReportOptions = {}) =>
      one(reportOf(held, outcome, options), options.draw),
    undelivered: ({ step, fence, secret }: Held, problem?: string) =>
      one({ kind: "undelivered", step, fence, secret, ...(problem ? { problem } : {}) }),
    forgotten: ({ step, fence, secret }: Held) => one({ kind: "forgotten", step, fence, secret }),
    callbackOf,
    callback: (held: Held, outcome: CallbackOutcome, options: { digest?: string } = {}) =>
      one({ ...callbackOf(held, outcome), ...options }),
    signal: (name: string, id = name, payload?: string) =>
      one({ kind: "signal", id, name, payload: payloadOf(payload) }),
    decide: (id: string | number, approver: string, approved: boolean, more: DecideMore = {}) =>
      one({
        kind: "decide",
        step: stepIn(state, id).no,
        approver,
        roles: more.roles ?? [],
        approved,
        comment: "",
        form: payloadOf(more.form),
        requester: more.requester ?? null,
      }),
    answer: (n: number, answer: AnswerKind, payload?: string) =>
      one({ kind: "answer", n, answer, by: "ada", why: "", payload: payloadOf(payload) }),
    cancel: (undo: boolean) => one({ kind: "cancel", undo, note: "" }),
    messagesEvent: (...messages: readonly Message[]) => messagesEvent(state, messages),
    pause: () => one({ kind: "pause", note: "" }),
    resume: () => one({ kind: "resume", note: "" }),
    timerEventOf: (id: string | number, facts: TimerFacts = {}) => timerEventOf(state, id, facts),
    fire,
    fireRun,
    nextTimer: () => nextTimer(state),
    fireNext: (facts?: TimerFacts) => {
      const next = nextTimer(state);
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
    escalations: () => state.view.escalations,
    openEscalations: () =>
      state.view.escalations.flatMap(({ step, closedBy }) => (closedBy === null ? [step] : [])),
  });
}

function payloadOf(json: string | undefined): Payload | null {
  return json === undefined ? null : { kind: "json", json };
}
