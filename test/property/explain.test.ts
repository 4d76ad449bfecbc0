/**
 * Whatever happens to a run: it is explained, with a time or a person for everything that it
 * waits for, and with what its rules take from a person then, and nothing else.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { decide, type Rules } from "../../server/core/decide.ts";
import type { Definition } from "../../server/core/definition/definition.ts";
import { asks, runWakeAt } from "../../server/core/evolve.ts";
import { explain } from "../../server/core/explain/explain.ts";
import type { Action, Explanation, StepWait } from "../../server/core/explain/explanation.ts";
import type { RunEvent } from "../../server/core/model/event.ts";
import type { AnswerKind } from "../../server/core/model/history.ts";
import { isEnded, movingSide } from "../../server/core/model/model.ts";
import { itemOf } from "../../server/core/model/step-key.ts";
import { createWorld, type World } from "../support/core-world.ts";
import { EXPLAINED, pairOf } from "../support/explained-states.ts";
import { nextTimeOf, seenOf } from "../support/seen-run.ts";
import { lives } from "./random-acts.ts";
import { live } from "./random-life.ts";
import { definitions, evaluatorOf } from "./random-run.ts";

const SEED = 20_260_202;
const RUNS = 300;

const explained = new Set(EXPLAINED.map(({ pair }) => pair));

test("every state of a random run is explained", () => {
  forEveryState((world) => {
    const { state, moving } = world.run();
    const explanation = explain(world.plan, seenOf(world));
    const { run, waitsOn, steps } = explanation;
    expect(run.since).toBeLessThanOrEqual(world.now());
    if (isEnded(state)) {
      expect({ kind: run.waitsFor.kind, steps }).toEqual({ kind: "ended", steps: [] });
      return;
    }
    expect(isRunOwned(explanation)).toBe(true);
    const stated = steps.filter(({ waitsFor: { kind } }) => kind !== "person");
    expect(stated.filter(({ step }) => movingSide(world.step(step)))).toHaveLength(moving);
    for (const wait of steps) expectGrounded(world, explanation, wait);
    for (const step of waitsOn) expect(steps.map((wait) => wait.step)).toContain(step);
    if (state.kind !== "STOPPING" || waitsOn.length > 0) return;
    expect(run.next).toEqual({ what: "undo", at: runWakeAt(world.run()) });
  });
});

test("every state of a random run is one that the table explains", () => {
  const found = new Set<string>();
  forEveryState((world) => {
    const { state } = world.run();
    if (isEnded(state)) return;
    for (const { step, side } of explain(world.plan, seenOf(world)).steps)
      found.add(pairOf(state.kind, side, world.step(step)[side].kind));
  });
  expect([...found].filter((pair) => !explained.has(pair))).toEqual([]);
});

test("what a person can do is what the rules take", () => {
  forEveryState((world, rules) => {
    const { run, steps } = explain(world.plan, seenOf(world));
    const actions = [...run.actions, ...steps.flatMap((wait) => wait.actions)];
    for (const action of actions)
      for (const event of eventsOf(action))
        expect({ event, answer: answerTo(world, rules, event) }).toEqual({
          event,
          answer: "done",
        });
    expect(offered(actions)).toEqual(taken(world, rules));
  });
});

function forEveryState(check: (world: World, rules: Rules) => void): void {
  fc.assert(
    fc.property(definitions, lives, (definition: Definition, acts) => {
      const evaluator = evaluatorOf(definition);
      const world = createWorld(definition, evaluator);
      const rules = { plan: world.plan, evaluator };
      check(world, rules);
      for (const act of acts) {
        live(world, [act]);
        check(world, rules);
      }
    }),
    { seed: SEED, numRuns: RUNS },
  );
}

/** By itself, or by the first of the steps that it waits for. */
function isRunOwned(explanation: Explanation): boolean {
  const { run, waitsOn, steps } = explanation;
  const first = steps.find(({ step }) => step === waitsOn[0]);
  return isOwned(explanation, run) || (first !== undefined && isOwned(explanation, first));
}

/** It has a time, a person, or steps that have one. */
function isOwned(
  explanation: Explanation,
  wait: Pick<StepWait, "waitsFor" | "next" | "actions">,
): boolean {
  const { waitsFor, next, actions } = wait;
  if (next !== null) return true;
  if (waitsFor.kind === "person" || waitsFor.kind === "resume") return actions.length > 0;
  if (waitsFor.kind === "end-of-run") return isRunOwned(explanation);
  if (waitsFor.kind === "items")
    return explanation.steps.some((one) => itemOf(one.step) > 0 && isOwned(explanation, one));
  if (waitsFor.kind !== "steps" || waitsFor.steps.length === 0) return false;
  return waitsFor.steps.every((no) => {
    const of = explanation.steps.find(({ step }) => step === no);
    return of !== undefined && isOwned(explanation, of);
  });
}

function expectGrounded(world: World, explanation: Explanation, wait: StepWait): void {
  const step = world.step(wait.step);
  expect(wait.since).toBeLessThanOrEqual(world.now());
  expect(isOwned(explanation, wait)).toBe(true);
  expect(wait.waitsFor.kind === "person").toBe(asks(step));
  expect(wait.next?.at ?? null).toBe(nextTimeOf(step[wait.side]));
  expect(wait.tried?.attempts ?? step.attempt).toBe(step.attempt);
}

function eventsOf(action: Action): readonly RunEvent[] {
  switch (action.kind) {
    case "answer":
      return action.answers.map((answer) => answerEvent(action.escalation, answer));
    case "signal":
      return [{ kind: "signal", id: "new", name: action.name, payload: null }];
    case "decide": {
      const about = { roles: [], comment: "", form: null, requester: null };
      const { step } = action;
      return [{ kind: "decide", step, approver: "zoe", approved: true, ...about }];
    }
    case "pause":
    case "resume":
      return [{ kind: action.kind, note: "" }];
    case "cancel":
      return action.undo.map((how) => cancelEvent(how === "compensate"));
    case "start-agent":
    case "set-circuit":
    case "uncordon-agent":
    case "resume-queue":
    case "resume-namespace":
    case "resume-workflow":
    case "complete-deferred":
    case "start-supervisor":
    case "retry-run":
    case "rerun":
      return [];
  }
}

function answerEvent(n: number, answer: AnswerKind): RunEvent {
  return { kind: "answer", n, answer, by: "ada", why: "", payload: { kind: "json", json: "1" } };
}

function cancelEvent(undo: boolean): RunEvent {
  return { kind: "cancel", undo, note: "" };
}

function answerTo(world: World, rules: Rules, event: RunEvent): string {
  const item = { event, draw: 0.5 };
  const decision = decide(rules, world.view(), world.now(), [item]);
  return decision.answers.get(item)?.kind ?? "none";
}

const ANSWERS: readonly AnswerKind[] = [
  "retry",
  "retry-changed",
  "succeed",
  "skip",
  "compensate",
  "fail",
  "acknowledge",
];

/** Answers, and the commands that the run may accept. */
function offered(actions: readonly Action[]): readonly string[] {
  const events = actions.filter(({ kind }) => kind !== "signal" && kind !== "decide");
  return [...new Set(events.flatMap(eventsOf).map(inShort))].sort();
}

/** Of all that a person could command, what the rules accept and what changes the run. */
function taken(world: World, rules: Rules): readonly string[] {
  const events: RunEvent[] = [
    ...[true, false].map(cancelEvent),
    { kind: "pause", note: "" },
    { kind: "resume", note: "" },
    ...world.escalations().flatMap(({ n }) => ANSWERS.map((answer) => answerEvent(n, answer))),
  ];
  return events
    .filter((event) => isTaken(world, rules, event))
    .map(inShort)
    .sort();
}

function isTaken(world: World, rules: Rules, event: RunEvent): boolean {
  const item = { event, draw: 0.5 };
  const { answers, effects } = decide(rules, world.view(), world.now(), [item]);
  const hasEffect = effects.some(
    ({ kind }) => kind === "command-noted" || kind === "escalation-answered",
  );
  return answers.get(item)?.kind === "done" && hasEffect;
}

function inShort(event: RunEvent): string {
  if (event.kind === "answer") return `${event.n}: ${event.answer}`;
  return event.kind === "cancel" ? `cancel ${event.undo}` : event.kind;
}
