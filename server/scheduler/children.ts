// Child runs within a batch. The transaction of a pass that wants a child inserts it as a PENDING
// run, which begins with a pass of its own. So no transaction begins a run that it has not locked,
// and none grows with the depth of the children. A message informs the parent of the end of a
// child; how it has ended is read when the parent is locked, since an ended run changes no more.

import { start } from "../core/decide.ts";
import { runWakeAt } from "../core/evolve.ts";
import type { Effect } from "../core/model/effect.ts";
import type { Facts } from "../core/model/facts.ts";
import type { EndedChild, StoredMessage } from "../core/model/message.ts";
import { emptyView, isEnded, type View } from "../core/model/model.ts";
import type { Payload } from "../core/model/payload.ts";
import { nameAt, type Plan } from "../core/plan/plan.ts";
import { childRef } from "../store/child-run.ts";
import type { PassRecord } from "../store/pass-record.ts";
import type { LanedPlan, Plans } from "../store/plans.ts";
import type { EngineStore, NewRun, RunHead, RunId, RunRef, Tx } from "../store/store.ts";
import type { RunTraces } from "./run-traces.ts";

type Began = Extract<Effect, { kind: "child-began" }>;

interface ChildDeps {
  readonly store: Pick<EngineStore, "workflowVersion">;
  readonly plans: Plans;
  readonly traces?: RunTraces | undefined;
}

interface StartedChildren {
  readonly runs: readonly NewRun[];
  /** The passes, with what follows for children that could not begin. */
  readonly records: readonly PassRecord[];
}

export async function beginChildren(
  deps: ChildDeps,
  tx: Tx,
  records: readonly PassRecord[],
): Promise<StartedChildren> {
  const wanted = records.flatMap((record) =>
    record.effects.flatMap((effect) => (effect.kind === "child-began" ? [{ record, effect }] : [])),
  );
  if (wanted.length === 0) return { runs: [], records };
  const find = findOnce(deps);
  const refused = new Map<PassRecord, Effect[]>();
  const runs: NewRun[] = [];
  const refusals: PassRecord[] = [];
  for (const { record, effect } of wanted) {
    const { head } = record;
    const found = await find(head.namespaceId, effect);
    if (!found) {
      const { step, fence } = effect;
      const message = { kind: "child-ended", step, fence, child: null } as const;
      const own = refused.get(record) ?? [];
      refused.set(record, [...own, { kind: "message-sent", to: head.runId, message }]);
      continue;
    }
    const { plan } = await deps.plans.get(head.namespaceId, head.definitionId);
    const child = begin(tx, record, plan, effect, found);
    const trace = await deps.traces?.child(child.run.runId, head);
    runs.push(trace ? { ...child.run, trace } : child.run);
    if (isEnded(child.run.run.state)) refusals.push(child.record);
  }
  const notified = records.map((record) => {
    const more = refused.get(record);
    return more ? { ...record, effects: [...record.effects, ...more] } : record;
  });
  return { runs, records: [...notified, ...refusals] };
}

interface FoundWorkflow {
  readonly laned: LanedPlan;
  readonly version: number;
}

/** Children of one batch that name a workflow alike have the same version, and cost one query. */
function findOnce({ store, plans }: ChildDeps) {
  const known = new Map<string, Promise<FoundWorkflow | null>>();
  return (namespaceId: number, { workflow, version }: Began): Promise<FoundWorkflow | null> => {
    const name = `${namespaceId}/${workflow}/${version}`;
    const found = known.get(name) ?? find();
    known.set(name, found);
    return found;

    async function find(): Promise<FoundWorkflow | null> {
      const registered = await store.workflowVersion(namespaceId, workflow, version);
      if (!registered) return null;
      const laned = await plans.get(namespaceId, registered.definitionId);
      return { laned, version: registered.version };
    }
  };
}

function begin(
  tx: Tx,
  { head: parent, after }: PassRecord,
  plan: Plan,
  { step, fence, input, until, workflow }: Began,
  { laned, version }: FoundWorkflow,
): { readonly run: NewRun; readonly record: PassRecord } {
  const { view, effects } = start(laned, tx.now, null, {
    parent: { runId: parent.runId, step, fence, depth: depthOf(parent) + 1, until },
    refused: laned.evaluator.inputProblem(input) !== null,
  });
  const run: NewRun = {
    ...childRef(parent, step, fence),
    namespaceId: parent.namespaceId,
    definitionId: laned.definitionId,
    priority: parent.priority,
    run: view.run,
    wakeAt: runWakeAt(view.run),
    key: null,
    workflow,
    version,
    labels: after.facts?.run.labels ?? {},
    input,
    notify: null,
    createdAt: tx.now,
    rerunOf: null,
    parent: { runId: parent.runId, stepId: nameAt(plan, step) },
    concurrency: null,
  };
  const before = emptyView(view.run);
  const { laneOf } = laned;
  return { run, record: { head: run, before, after: view, effects, laneOf, actor: null } };
}

function depthOf({ run }: RunHead): number {
  return run.parent?.depth ?? 0;
}

/** A run of a pass, as far as it is loaded. */
interface Loaded {
  readonly head: RunRef;
  readonly view: View;
}

/** Adds how the children have ended that messages to these runs are about. */
export async function withEndedChildren<Of extends Loaded>(
  tx: Tx,
  plans: Plans,
  loaded: readonly Of[],
): Promise<readonly Of[]> {
  const children = loaded.flatMap(({ head, view }) =>
    view.messages.flatMap(({ message }) =>
      message.kind === "child-ended" ? [childRef(head, message.step, message.fence)] : [],
    ),
  );
  if (children.length === 0) return loaded;
  const ended = await endedChildren(tx, plans, children);
  return loaded.map((one) => {
    const messages = one.view.messages.map((stored) => withEnd(one.head, stored, ended));
    return { ...one, view: { ...one.view, messages } };
  });
}

function withEnd(
  parent: RunRef,
  stored: StoredMessage,
  ended: ReadonlyMap<RunId, EndedChild>,
): StoredMessage {
  const { message } = stored;
  if (message.kind !== "child-ended") return stored;
  const { runId } = childRef(parent, message.step, message.fence);
  const child = ended.get(runId) ?? { runId, end: null, createdAt: null, output: null, why: "" };
  return { ...stored, message: { ...message, child } };
}

async function endedChildren(
  tx: Tx,
  plans: Plans,
  refs: readonly RunRef[],
): Promise<ReadonlyMap<RunId, EndedChild>> {
  const heads = await tx.endedRuns(refs);
  const planned = await Promise.all(
    heads.map(async (head) => ({
      head,
      laned: await plans.get(head.namespaceId, head.definitionId),
    })),
  );
  const facts = await tx.loadFacts(
    planned.map(({ head: { runId, run }, laned: { plan } }) => ({
      runId,
      steps: (run.state.kind === "COMPLETED" ? lastSteps(plan) : plan.steps).map(({ no }) => no),
    })),
  );
  return new Map(
    planned.flatMap(({ head, laned }) => {
      const seen = facts.get(head.runId);
      return seen ? [[head.runId, endedChild(head, laned, seen)] as const] : [];
    }),
  );
}

function endedChild(
  { runId, run: { state } }: RunHead,
  { plan, evaluator }: LanedPlan,
  facts: Facts,
): EndedChild {
  if (!isEnded(state)) throw new Error(`child run ${runId} has not ended`);
  const { createdAt, input } = facts.run;
  const done = state.kind === "COMPLETED";
  const refused = state.reason === "REFUSED" ? evaluator.inputProblem(input) : null;
  return {
    runId,
    end: state,
    createdAt,
    output: done ? outputOf(plan, facts) : null,
    why: done ? "" : (refused ?? firstFailure(plan, facts)),
  };
}

/** Steps that no other step needs, without `always` steps. */
export function lastSteps({ steps }: Plan): Plan["steps"] {
  return steps.filter(({ always, successors }) => !always && successors.length === 0);
}

/** The outputs of the last steps, by their ids. */
export function outputOf(plan: Plan, facts: Facts): Payload {
  const fields = lastSteps(plan).map(({ no, id }) => {
    const output = facts.steps.get(no)?.output;
    return `${JSON.stringify(id)}:${output?.kind === "json" ? output.json : "null"}`;
  });
  return { kind: "json", json: `{${fields.join(",")}}` };
}

export function firstFailure({ steps }: Plan, facts: Facts): string {
  for (const { no, id } of steps) {
    const error = facts.steps.get(no)?.error;
    if (error) return `step "${id}" failed: ${error.code}: ${error.message}`;
  }
  return "";
}
