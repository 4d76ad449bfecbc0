/** Pages and passes made by hand, of runs whose other parts do not matter. */

import { untouchedStep } from "../../server/core/evolve.ts";
import type { Attempt } from "../../server/core/model/attempt.ts";
import type { Effect } from "../../server/core/model/effect.ts";
import {
  emptyView,
  type Lease,
  type Ready,
  type Run,
  type Step,
} from "../../server/core/model/model.ts";
import { type AppliedPass, applyPass, type LaneOf } from "../../server/core/page/apply-pass.ts";
import {
  type Page,
  type PageAttempt,
  type PageHead,
  type PageStep,
  pageNoOf,
  type TaskTerms,
  untriedStep,
} from "../../server/core/page/page.ts";
import { planOf } from "../../server/core/plan/plan.ts";
import { START, workflow } from "./core-world.ts";

export const SESSION = "5e551011".repeat(4);
export const SECRET = "5ec4e7a0".repeat(4);
export const LANE = 7;

export const RUN: Run = {
  state: { kind: "RUNNING", deadline: START + 1_000_000 },
  version: 1,
  stepsLeft: 1,
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
};

export const TERMS: TaskTerms = {
  lane: LANE,
  attemptMs: 900_000,
  heartbeatMs: 30_000,
  cancelMs: 10_000,
  stallMs: null,
  slowAfterMs: null,
  isFirstTry: true,
};

export function stepOf(more: Partial<Step> = {}): Step {
  return { ...untouchedStep(more.no ?? 0, 0), ...more };
}

export function readyFor(more: Partial<Ready> = {}): Ready {
  return {
    kind: "READY",
    task: "perform",
    fence: 1,
    attempt: 1,
    readyAt: START,
    until: null,
    avoid: null,
    alarms: 0,
    wakeAt: START + 300_000,
    ...more,
  };
}

export function leaseFor(more: Partial<Lease> = {}): Lease {
  return {
    kind: "LEASED",
    task: "perform",
    fence: 1,
    attempt: 1,
    secret: SECRET,
    session: SESSION,
    agentId: "worker-1",
    pollSeq: 1,
    grantedAt: START,
    attemptBy: START + 900_000,
    heartbeatMs: 30_000,
    cancelMs: 10_000,
    stallMs: null,
    progressAt: START,
    cancel: { kind: "none" },
    suspectAt: null,
    wakeAt: START + 900_000,
    ...more,
  };
}

export function pageStepOf(step: Partial<Step>, more: Partial<PageStep> = {}): PageStep {
  return { ...untriedStep(stepOf(step)), ...more };
}

export const readyStep = (more: Partial<Ready> = {}, no = 0): PageStep =>
  pageStepOf({ no, forward: readyFor(more) }, { terms: TERMS });
export const leasedStep = (more: Partial<Lease> = {}, no = 0): PageStep =>
  pageStepOf({ no, forward: leaseFor(more) }, { terms: TERMS });

export function headOf(more: Partial<PageHead> = {}): PageHead {
  const ids = { namespaceId: 1, definitionId: 2, priority: 5 };
  return { ...ids, run: RUN, endedAt: null, cancelNote: null, hasMore: false, ...more };
}

export function pageOf(...steps: readonly PageStep[]): Page {
  return { no: 0, head: headOf(), steps: new Map(steps.map((one) => [one.step.no, one])) };
}

export function attemptAt(more: Partial<Attempt> = {}): Attempt {
  return {
    step: 0,
    kind: "perform",
    fence: 1,
    n: 0,
    attempt: 1,
    agentId: "worker-1",
    session: SESSION,
    secret: SECRET,
    startedAt: START,
    endedAt: START + 10,
    outcome: { kind: "success", output: null },
    digest: "d16e57",
    ...more,
  };
}

export function pageAttemptAt({
  outcome = { kind: "success", output: null },
  ...more
}: Partial<PageAttempt> = {}): PageAttempt {
  const { step: _, ...attempt } = attemptAt();
  return { ...attempt, outcome, counted: null, progress: null, details: null, ...more };
}

export interface PassOf {
  readonly run?: Run;
  /** As they are after it. */
  readonly steps?: readonly Step[];
  /** As the pass has read them; left out: as the page has them. */
  readonly seen?: readonly Step[];
  readonly effects?: readonly Effect[];
  readonly endedAt?: number | null;
  readonly lane?: number;
  readonly slowAfterMs?: number | null;
}

/** A pass that was decided on the page as it is, unless it has another state before. */
export function passOn(page: Page, of: PassOf): AppliedPass {
  const { steps = [], effects = [], endedAt = null, lane = LANE, slowAfterMs = null } = of;
  const run = page.head?.run ?? RUN;
  const seen = new Map([...page.steps].map(([no, { step }]) => [no, step]));
  for (const step of of.seen ?? []) seen.set(step.no, step);
  const before = { ...emptyView(run), steps: seen };
  const changed = new Map(seen);
  for (const step of steps) changed.set(step.no, step);
  const after = { ...before, run: of.run ?? run, steps: changed };
  const slowAfter = () => slowAfterMs;
  return applyPass(new Map([[page.no, page]]), {
    before,
    after,
    effects,
    laneOf: laneOf(lane),
    slowAfter,
    endedAt,
  });
}

/** The page after a pass that changes this one. */
export function afterPass(page: Page, of: PassOf): Page {
  const changed = passOn(page, of).pages.find(({ no }) => no === page.no);
  if (!changed) throw new Error(`the pass does not change page ${page.no}`);
  return changed;
}

export function stepIn(page: Page, no = 0): PageStep {
  const step = page.steps.get(no);
  if (!step) throw new Error(`page ${page.no} of ${pageNoOf(no)} has no step ${no}`);
  return step;
}

const [PLANNED] = planOf(workflow({ a: {} })).steps;

export function laneOf(lane: number): LaneOf {
  const work = PLANNED?.work;
  if (work?.kind !== "task") throw new Error("the workflow has one step with a task");
  const [task] = work.strategies;
  if (!task) throw new Error("a step with a task has a strategy");
  return () => ({ lane, task });
}
