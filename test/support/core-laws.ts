/**
 * The laws of a pass: what must hold for every decision about every run, whatever the events.
 *
 * The same arguments give the same decision; a partial view gives the same one; so do the events
 * one by one; the effects alone make the new state; no invariant is broken; each transition is in
 * the state table; a report of an attempt that is not current changes nothing; and no timer is set
 * in the past.
 */
import { isDeepStrictEqual } from "node:util";
import { type Decision, decide, type PassItem, type Rules } from "../../server/core/decide.ts";
import { evolve, type Shape, untouchedStep } from "../../server/core/evolve.ts";
import { brokenInvariants } from "../../server/core/invariants.ts";
import type { EpochMs } from "../../server/core/model/attempt.ts";
import type { Effect } from "../../server/core/model/effect.ts";
import {
  type Answer,
  inPassOrder,
  isWanted,
  type RunEvent,
  stepsToLoad,
} from "../../server/core/model/event.ts";
import {
  currentFence,
  isEnded,
  isFinal,
  type Step,
  stageOf,
  type View,
} from "../../server/core/model/model.ts";
import {
  FORWARD_EDGES,
  findEdge,
  RUN_EDGES,
  UNDO_EDGES,
} from "../../server/core/model/state-table.ts";
import { shapeOf } from "../../server/core/pass.ts";
import { type Plan, planStepAt } from "../../server/core/plan/plan.ts";

/** A row of the state table, as `forward: LEASED -succeeded-> SUCCEEDED`. */
export type EdgeTaken = string;

export interface PassToCheck {
  readonly rules: Rules;
  readonly before: View;
  readonly now: EpochMs;
  readonly items: readonly PassItem[];
  /** The digest of the last report that was accepted, by token; the pass adds its own. */
  readonly accepted: Map<string, string>;
}

export interface CheckedPass {
  readonly decision: Decision<PassItem>;
  readonly edgesTaken: readonly EdgeTaken[];
}

/** Every row of the table, in the form in which a pass records what it took. */
export function everyEdge(): readonly EdgeTaken[] {
  return [
    ...RUN_EDGES.map(({ from, on, to }) => edge("run", from, on, to)),
    ...FORWARD_EDGES.map(({ from, on, to }) => edge("forward", from, on, to)),
    ...UNDO_EDGES.map(({ from, on, to }) => edge("undo", from, on, to)),
  ];
}

export function checkPass(pass: PassToCheck): CheckedPass {
  const { rules, before, now, items } = pass;
  const { plan } = rules;
  const decision = decide(rules, before, now, items);
  expectSame("a second decision", decision, decide(rules, before, now, items));
  checkPartialView(pass, decision);
  assertView(plan, decision.view);
  for (const effect of decision.effects) checkTime(effect, now);
  const edgesTaken: EdgeTaken[] = [];
  let view = before;
  for (const item of inPassOrder(items)) {
    const alone = decide(rules, view, now, [item]);
    const answer = alone.answers.get(item);
    if (!answer) throw new Error(`no answer to ${item.event.kind}`);
    edgesTaken.push(...followEffects(plan, view, alone));
    checkReport(pass, view, item.event, answer, alone.effects);
    expectSame("the answer of one event alone", answer, decision.answers.get(item));
    view = alone.view;
  }
  expectSame("one event after the other", unversioned(view), unversioned(decision.view));
  return { decision, edgesTaken };
}

export function assertView(plan: Plan, view: View): void {
  const broken = brokenInvariants(plan, view);
  if (broken.length > 0) throw new Error(`broken: ${broken.join("; ")}`);
}

export function edgeOfStep(
  side: "forward" | "undo",
  from: Step["forward"]["kind"] | Step["undo"]["kind"],
  on: Effect["kind"] | "claim" | "heartbeat",
  to: Step["forward"]["kind"] | Step["undo"]["kind"],
): EdgeTaken {
  const name = edge(side, from, on, to);
  if (!known.has(name)) throw new Error(`not in the state table: ${name}`);
  return name;
}

function edge(of: "run" | "forward" | "undo", from: string, on: string, to: string): EdgeTaken {
  return `${of}: ${from} -${on}-> ${to}`;
}

const known: ReadonlySet<EdgeTaken> = new Set(everyEdge());

/** Steps that a pass does not name are not read: a store need not load them. */
function checkPartialView(pass: PassToCheck, whole: Decision<PassItem>): void {
  const { rules, before, now, items } = pass;
  const wanted = stepsToLoad(
    before.run.state.kind,
    rules.plan,
    items.map((item) => item.event),
  );
  const steps = new Map(
    [...before.steps].filter(([, step]) => isWanted(wanted, step, before.steps)),
  );
  const partial = decide(rules, { ...before, steps }, now, items);
  expectSame("a partial view: effects", partial.effects, whole.effects);
  expectSame("a partial view: run", partial.view.run, whole.view.run);
  expectSame("a partial view: answers", [...partial.answers], [...whole.answers]);
}

/** The effects of one event make its view, each by a way that is in the state table. */
function followEffects(
  plan: Plan,
  before: View,
  decision: Decision<PassItem>,
): readonly EdgeTaken[] {
  const taken: EdgeTaken[] = [];
  const shape = (no: number): Shape => {
    const step = planStepAt(plan, no);
    return step ? shapeOf(step) : { needs: 0, always: false, pivot: false, isMap: false };
  };
  let view = before;
  for (const effect of decision.effects) {
    const after = evolve(view, effect, shape);
    if (effect.kind === "run-moved") {
      const { by: on } = effect;
      const { from, to } = { from: view.run.state.kind, to: effect.state.kind };
      if (!findEdge(RUN_EDGES, { from, on, to }))
        throw new Error(`not in the state table: ${edge("run", from, on, to)}`);
      taken.push(edge("run", from, on, to));
    }
    for (const [no, step] of after.steps) {
      const row = view.steps.get(no);
      const was = row ?? untouchedStep(no, shape(no).needs);
      // A first row has nothing new about the side that did not move.
      const moved = (side: "forward" | "undo"): boolean =>
        row ? row[side] !== step[side] : !isDeepStrictEqual(was[side], step[side]);
      for (const side of ["forward", "undo"] as const)
        if (moved(side)) taken.push(edgeOfStep(side, was[side].kind, effect.kind, step[side].kind));
    }
    view = after;
  }
  expectSame("the effects alone", unversioned(view), unversioned(decision.view));
  return taken;
}

/**
 * Which attempts a report may still change, and what is answered to it. The pass of a report that
 * changes nothing may move the run all the same, where its time had come: so would any other event.
 */
function checkReport(
  { rules, accepted, now }: PassToCheck,
  before: View,
  event: RunEvent,
  answer: Answer,
  effects: readonly Effect[],
): void {
  if (event.kind === "callback" && answer.kind === "done")
    accepted.delete(tokenOf({ ...event, task: "perform", secret: event.secret ?? "" }));
  if (event.kind !== "report") return;
  const must = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`${what}: ${JSON.stringify(event)} got ${JSON.stringify(answer)}`);
  };
  const step = before.steps.get(event.step);
  const unmatched: RunEvent = { kind: "undelivered", step: 0, fence: 0, secret: "unknown" };
  const anyway = decide(rules, before, now, [{ event: unmatched, draw: 0 }]).effects;
  const own = effects.filter(
    (effect) =>
      effect.kind !== "attempt-stored" &&
      effect.kind !== "intervened" &&
      !(effect.kind === "escalated" && effect.reason === "doubled"),
  );
  const changed = !isDeepStrictEqual(own, anyway);
  const final =
    !step ||
    isEnded(before.run.state) ||
    (event.task === "compensate"
      ? step.undo.kind === "DONE" || stageOf(before.run.state) === "FINISHING"
      : isFinal(step.forward));
  const current = step !== undefined && currentFence(step) === event.fence;
  if (!current || final) must(!changed, "a report of an attempt that is not current changed state");
  if (answer.kind !== "done") must(!changed, "a report was not accepted, but changed state");
  const token = tokenOf(event);
  // A callback may have come before the agent deferred.
  if (answer.kind !== "repeated" || event.outcome.kind !== "deferred")
    must(
      (accepted.get(token) === event.digest) === (answer.kind === "repeated"),
      "the same report gets the same answer",
    );
  if (answer.kind === "done") accepted.set(token, event.digest);
  if (!planStepAt(rules.plan, event.step))
    must(answer.kind === "no-such-task", "there is no such step");
}

function tokenOf(of: {
  readonly step: number;
  readonly task: string;
  readonly fence: number;
  readonly secret: string;
}): string {
  return [of.step, of.task, of.fence, of.secret].join("/");
}

/** Several events in one pass make one version, and several passes several. */
function unversioned(view: View): View {
  return { ...view, facts: null, run: { ...view.run, version: 0 } };
}

function expectSame(what: string, actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`${what} differs: ${show(actual)} instead of ${show(expected)}`);
}

function show(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => (inner instanceof Map ? [...inner] : inner));
}

/**
 * Scans begin where nothing was left, so a timer that is set in the past may be found a minute
 * late, by the scan of everything.
 */
function checkTime(effect: Effect, now: EpochMs): void {
  const set = effect.kind === "made-ready" ? effect.ready : effect;
  if ("wakeAt" in set && set.wakeAt < now)
    throw new Error(`${effect.kind} sets a timer ${now - set.wakeAt} ms in the past`);
}
