// The rules' front door: (plan, view, events) → effects, answers and the view that they make.
// Pure: the same arguments give the same decision, on any machine and at any time.
import type { Plan } from "./definition.ts";
import type { Effect } from "./effect.ts";
import { type Answer, inPassOrder, type Occasion, type RunEvent } from "./event.ts";
import type { Moment, Run, View } from "./model.ts";
import { onCancel, onUndelivered } from "./on-command.ts";
import { onBackoffMoment, onLeaseMoment, onReadyMoment, onRunMoment } from "./on-moment.ts";
import { onReport } from "./on-report.ts";
import { makeReady, type Pass } from "./pass.ts";
import { settleRun } from "./saga.ts";

export interface PassItem {
  readonly event: RunEvent;
  readonly draw: number;
}

export interface Decision<Item extends PassItem> {
  readonly view: View;
  readonly effects: readonly Effect[];
  readonly answers: ReadonlyMap<Item, Answer>;
}

/** One pass over a run: all of its events, reports first. */
export function decide<Item extends PassItem>(
  plan: Plan,
  view: View,
  now: Moment,
  items: readonly Item[],
): Decision<Item> {
  const answers = new Map<Item, Answer>();
  const effects: Effect[] = [];
  let current = view;
  for (const item of inPassOrder(items)) {
    const pass: Pass = { plan, occasion: { now, draw: item.draw }, view: current, effects };
    answers.set(item, apply(pass, item.event));
    settleRun(pass);
    current = pass.view;
  }
  return { view: withVersion(current, effects), effects, answers };
}

/** The first pass of a run: its roots are ready. */
export function start(plan: Plan, now: Moment): { view: View; effects: readonly Effect[] } {
  const run: Run = {
    state: { kind: "RUNNING", deadline: now + plan.timeoutMs },
    version: 1,
    stepsLeft: plan.steps.length,
    moving: 0,
    undosLeft: 0,
    undone: 0,
  };
  const occasion: Occasion = { now, draw: 0 };
  const effects: Effect[] = [];
  const pass: Pass = { plan, occasion, view: { run, steps: new Map(), attempts: [] }, effects };
  for (const step of plan.steps)
    if (step.needs.length === 0) makeReady(pass, step.no, "forward", null);
  return { view: pass.view, effects };
}

function apply(pass: Pass, event: RunEvent): Answer {
  switch (event.kind) {
    case "report":
      return onReport(pass, event);
    case "undelivered":
      return onUndelivered(pass, event);
    case "cancel":
      return onCancel(pass, event);
    case "lease-moment":
      return onLeaseMoment(pass, event);
    case "ready-moment":
      return onReadyMoment(pass, event);
    case "backoff-moment":
      return onBackoffMoment(pass, event);
    case "run-moment":
      return onRunMoment(pass);
  }
}

/** Effects that no watcher of the run can see: they make no new version. */
const UNSEEN: ReadonlySet<Effect["kind"]> = new Set(["wake-moved", "attempt-kept", "intervened"]);

function withVersion(view: View, effects: readonly Effect[]): View {
  if (effects.every((effect) => UNSEEN.has(effect.kind))) return view;
  return { ...view, run: { ...view.run, version: view.run.version + 1 } };
}
