/**
 * Passes made by hand: the state before is the stored one, the state after is given outright. What
 * the store promises about rows holds for any change, not only for those that the rules make.
 */

import type { Definition } from "../../server/core/definition/definition.ts";
import type { Attempt, Counted, EpochMs, Outcome } from "../../server/core/model/attempt.ts";
import type { Effect } from "../../server/core/model/effect.ts";
import type { Ready, Run, Step } from "../../server/core/model/model.ts";
import type { Actor } from "../../server/store/pass-record.ts";
import type { EngineStore, Granted } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  claim,
  json,
  lockAndLoad,
  newRun,
  newRunId,
  place,
  readRun,
  type Scheduled,
  type ScheduleOptions,
  SHARED_PARTITION,
  viewOf,
} from "./fixture.ts";

export const DEADLINE: EpochMs = 4_000_000_000_000;

/** A step that nothing has happened to. */
export function blankStep(no: number, more: Partial<Step> = {}): Step {
  return {
    no,
    forward: { kind: "BLOCKED", waitingFor: 1, ok: 0, skipped: 0 },
    undo: { kind: "NONE" },
    strategies: [{ planned: 0, changed: false, effectStatus: "NONE" }],
    fence: 0,
    attempt: 0,
    lost: 0,
    tries: [],
    unknownOutcome: null,
    verifies: 0,
    firstReadyAt: null,
    settleUntil: null,
    result: null,
    items: null,
    ...more,
  };
}

/** A task that may be handed out now. */
export function readyFor(more: Partial<Ready> = {}): Ready {
  return {
    kind: "READY",
    task: "perform",
    fence: 1,
    attempt: 1,
    readyAt: 1_000,
    until: null,
    avoid: null,
    alarms: 0,
    wakeAt: DEADLINE,
    ...more,
  };
}

/** A definition of a step with two fallbacks, a verify and an undo, and of two plain ones. */
export const RICH: Definition = workflow({
  a: {
    fallback: [{ queue: "second" }, { task: "third" }],
    verify: { task: "find-a" },
    compensate: { task: "undo-a" },
    effects: "verifiable",
  },
  b: {},
  c: {},
});

/** A RUNNING run with these steps. */
export async function beginAs(
  store: EngineStore,
  steps: readonly Step[],
  options: ScheduleOptions & { readonly definition?: Definition } = {},
): Promise<Scheduled> {
  const placed = await place(store, options.definition ?? RICH, options);
  const run: Run = {
    state: { kind: "RUNNING", deadline: DEADLINE },
    version: 1,
    stepsLeft: 3,
    alwaysLeft: 0,
    moving: 0,
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
  return store.transact({ name: "begin" }, async (tx) => {
    const { plan, namespaceId, definitionId, laneOf } = placed;
    const at = tx.now - (options.agoMs ?? 0);
    const partition = options.partition ?? SHARED_PARTITION;
    const ref = { runId: options.runId ?? newRunId(at, partition), partition };
    const head = { ...ref, namespaceId, definitionId, priority: 5, run };
    await tx.insertRuns([{ ...newRun(plan, head, options, at), ...head, wakeAt: DEADLINE }]);
    const before = viewOf(run, new Map());
    const after = viewOf(run, new Map(steps.map((step) => [step.no, step])));
    await tx.write([{ head, before, after, effects: [], laneOf, actor: null }]);
    return { ...placed, ref, effects: [] };
  });
}

export interface PassContent {
  /** Steps as they are now; the others stay. */
  readonly steps?: readonly Step[];
  /** Steps as the pass had seen them, where that is not how they are stored. */
  readonly was?: readonly Step[];
  readonly run?: Partial<Run>;
  readonly effects?: readonly Effect[];
  readonly actor?: Actor;
}

/** A pass that turns the stored state into the given one. */
export function passAs(
  store: EngineStore,
  scheduled: Scheduled,
  content: PassContent,
): Promise<void> {
  return store.transact({ name: "by hand" }, async (tx) => {
    const { head, steps } = await lockAndLoad(tx, scheduled.ref);
    const run = { ...head.run, version: head.run.version + 1, ...content.run };
    const now = new Map(content.steps?.map((step) => [step.no, step]));
    const seen = new Map(content.was?.map((step) => [step.no, step]));
    const before = viewOf(head.run, new Map([...steps, ...seen]));
    const after = viewOf(run, new Map([...steps, ...now]));
    const { effects = [], actor = null } = content;
    await tx.write([{ head, before, after, effects, laneOf: scheduled.laneOf, actor }]);
  });
}

/** The end of a task that was handed out. */
export function endOf(
  { ready, secret, session, agentId, grantedAt }: Granted,
  outcome: Outcome,
  more: Partial<Attempt> = {},
): Attempt {
  const { step, task: kind, fence, attempt } = ready;
  return {
    step,
    kind,
    fence,
    n: kind === "verify" ? attempt : 0,
    attempt,
    agentId,
    session,
    secret,
    startedAt: grantedAt,
    endedAt: grantedAt + 5,
    outcome,
    digest: null,
    ...more,
  };
}

export function taskEnded(attempt: Attempt, counted: Counted = null): Effect {
  return { kind: "task-ended", id: "a", attempt, counted, lost: false };
}

/** A row that no task ended as. */
export function rowOf(more: Partial<Attempt>): Attempt {
  return {
    step: 0,
    kind: "engine",
    fence: 1,
    n: 0,
    attempt: 1,
    agentId: null,
    session: null,
    secret: null,
    startedAt: 1_000,
    endedAt: 2_000,
    digest: null,
    outcome: { kind: "superseded" },
    ...more,
  };
}

export const attemptStored = (more: Partial<Attempt>): Effect => ({
  kind: "attempt-stored",
  attempt: rowOf(more),
});

export const failed = (code: string): Outcome => ({
  kind: "failure",
  class: "permanent",
  code,
  message: `it failed with ${code}`,
  retryAfterMs: null,
  noEffect: false,
});
export const unknown = (code: string): Outcome => ({
  kind: "unknown",
  code,
  message: `unknown: ${code}`,
});
export const successOf = (text: string): Outcome => ({ kind: "success", output: json(text) });

/** Rows of any kind: a task's one is written by the end of a lease that was made for it. */
export async function writeRows(
  store: EngineStore,
  run: Scheduled,
  rows: readonly Attempt[],
): Promise<void> {
  for (const row of rows) {
    const { step: no, kind, fence, n } = row;
    if (kind !== "perform" && kind !== "verify" && kind !== "compensate") {
      await passAs(store, run, { effects: [{ kind: "attempt-stored", attempt: row }] });
      continue;
    }
    const before = (await readRun(store, run)).steps.get(no) ?? blankStep(no);
    const ready = readyFor({ task: kind, fence, attempt: Math.max(1, n) });
    const moving = kind === "compensate" ? { undo: ready } : { forward: ready };
    await passAs(store, run, { steps: [{ ...before, ...moving }] });
    const { lane } = run.laneOf(no, kind, 0);
    const [granted] = await claim(store, { lanes: [lane] });
    if (!granted) throw new Error("the task could not be claimed");
    const { endedAt, outcome } = row;
    const attempt = endOf(granted, outcome, { n, endedAt });
    await passAs(store, run, { steps: [before], effects: [taskEnded(attempt)] });
  }
}
