// Facts by plain reads: what granted tasks carry, and what expressions see.
import type { Facts, RunFacts, StepFacts } from "../../core/model/facts.ts";
import { isFinal, movingSide } from "../../core/model/model.ts";
import type { Payload } from "../../core/model/payload.ts";
import type { PageAttempt, PageStep } from "../../core/page/page.ts";
import { pageNoOf } from "../../core/page/page.ts";
import { detailsWanted, FINAL, madeOutput, strategyOfTask } from "../facts.ts";
import { errorIn, lastDetailsIn, outputIn, type PayloadOf } from "../page-reads.ts";
import type { FactsWanted, Granted, RunId, TaskFacts } from "../store.ts";
import { type AttemptsOf, attemptsAt, payloadsAt } from "./attempts-at.ts";
import { columns, labelsOf, payloadOf } from "./columns.ts";
import type { PageCache } from "./page-cache.ts";
import { readSteps, uniquePages } from "./read-steps.ts";
import { traceOf } from "./trace-columns.ts";
import type { Query } from "./transaction.ts";

interface RunFactsRow {
  run_id: RunId;
  workflow: string;
  version: number;
  key: string | null;
  labels: unknown;
  created_at: number;
  input_type: string | null;
  input_json: string | null;
  input_data: Buffer | null;
}

interface StepKey {
  readonly runId: RunId;
  readonly step: number;
}

/** Steps from their pages, in the order of the keys; null: the step was never touched. */
type ReadSteps = (keys: readonly StepKey[]) => Promise<readonly (PageStep | null)[]>;

/** By plain reads, outside of any transaction. */
export function stepsRead(query: Query, cache: PageCache): ReadSteps {
  return async (keys) => {
    const read = await readSteps(query, cache, uniquePages(keys));
    return keys.map(({ runId, step }) => read(runId, step));
  };
}

export async function loadFacts(
  query: Query,
  wanted: readonly FactsWanted[],
  readSteps: ReadSteps,
): Promise<ReadonlyMap<RunId, Facts>> {
  if (wanted.length === 0) return new Map();
  const runs = await query<RunFactsRow>("run_facts", { run_ids: wanted.map(({ runId }) => runId) });
  const named = wanted.flatMap(({ runId, steps }) => steps.map((step) => ({ runId, step })));
  const steps = named.length === 0 ? new Map() : await stepFacts(query, named, readSteps);
  return new Map(
    runs.map((row) => [
      row.run_id,
      { run: runFactsOf(row), steps: steps.get(row.run_id) ?? new Map() },
    ]),
  );
}

async function stepFacts(
  query: Query,
  keys: readonly StepKey[],
  readSteps: ReadSteps,
): Promise<Map<RunId, Map<number, StepFacts>>> {
  const read = await readSteps(keys);
  const ended = keys.flatMap(({ runId }, at) => {
    const of = read[at];
    return of && isFinal(of.step.forward) ? [{ runId, of }] : [];
  });
  const attempts = await attemptsAt(query, ended);
  const payloads = await payloadsAt(query, ended, attempts, "output");
  const found = new Map<RunId, Map<number, StepFacts>>();
  for (const one of ended) {
    const { runId, of } = one;
    const all = attempts(runId, of);
    const status = FINAL.find((final) => final === of.step.forward.kind);
    if (status === undefined) continue;
    const facts = {
      status,
      output: outputIn(of, all, payloads(runId)),
      error: status === "FAILED" ? errorIn(all) : null,
    };
    const ofRun = found.get(runId) ?? new Map<number, StepFacts>();
    found.set(runId, ofRun.set(of.step.no, facts));
  }
  return found;
}

function runFactsOf(row: RunFactsRow): RunFacts {
  return {
    id: row.run_id,
    workflow: row.workflow,
    version: row.version,
    key: row.key,
    labels: labelsOf(row.labels),
    createdAt: row.created_at,
    input: payloadOf(row.input_type, row.input_json, row.input_data),
  };
}

interface TaskFactsRow
  extends Omit<RunFactsRow, "run_id" | "workflow" | "key" | "created_at" | "version"> {
  place: number;
  definition_id: number;
  workflow_version: number;
  traceparent: string | null;
  tracestate: string | null;
  of_run: RunId | null;
  no: number;
  version: number;
  state: string;
}

interface FoundTask {
  readonly task: Granted;
  readonly row: TaskFactsRow;
  readonly runId: RunId;
  readonly of: PageStep;
}

export async function taskFacts(
  query: Query,
  tasks: readonly Granted[],
  cache: PageCache,
): Promise<readonly TaskFacts[]> {
  if (tasks.length === 0) return [];
  const rows = await query<TaskFactsRow>(
    "task_facts",
    columns(
      tasks.map(({ ready }) => ready),
      {
        run_id: (task) => task.runId,
        step_no: (task) => task.step,
        no: (task) => pageNoOf(task.step),
        is_undo: (task) => task.task === "compensate",
      },
    ),
  );
  const found = rows.flatMap((row) => foundTask(tasks, row, cache));
  const attempts = await attemptsAt(query, found);
  const outputs = await payloadsAt(query, found, attempts, "output");
  const details = await payloadsAt(query, found, attempts, "details");
  const facts = found.map((one) => {
    const payloadsOf: PayloadOf = (key) =>
      (key.what === "output" ? outputs : details)(one.runId)(key);
    return taskFactsOf(one, attempts, payloadsOf);
  });
  const inputs = await changedInputs(
    query,
    facts.filter(({ changed }) => changed),
  );
  return facts.map(({ changed: _, ...of }) => {
    const payload = inputs.get(placeOf(of));
    return { ...of, changedInput: payload === undefined ? null : { payload } };
  });
}

/** A task whose lease has ended is left out: its step may follow another strategy by now. */
function foundTask(
  tasks: readonly Granted[],
  row: TaskFactsRow,
  cache: PageCache,
): readonly FoundTask[] {
  const task = tasks[row.place - 1];
  if (!task) return [];
  const { runId, step } = task.ready;
  const of = cache.decoded(runId, row.no, row.version, row.state).page.steps.get(step);
  const lease = of && movingSide(of.step)?.state;
  if (!of || lease?.kind !== "LEASED" || lease.secret !== task.secret) return [];
  return [{ task, row, runId, of }];
}

function taskFactsOf({ task, row, of }: FoundTask, attemptsOf: AttemptsOf, payloads: PayloadOf) {
  const { ready } = task;
  const { strategies, forward, items } = of.step;
  const strategy = strategyOfTask(ready.task, strategies);
  const { planned = 0, changed = false } = strategies[strategy] ?? {};
  const made = ready.task === "compensate" && madeOutput(forward.kind, strategies, strategy);
  const attempts: readonly PageAttempt[] = attemptsOf(ready.runId, of);
  return {
    runId: ready.runId,
    step: ready.step,
    definitionId: row.definition_id,
    version: row.workflow_version,
    labels: labelsOf(row.labels),
    input: payloadOf(row.input_type, row.input_json, row.input_data),
    lastDetails: lastDetailsIn(ready.step, attempts, detailsWanted(task), payloads),
    items,
    strategy,
    planned,
    changed,
    output: made ? outputIn(of, attempts, payloads) : null,
    effectOf: row.of_run,
    trace: traceOf(row),
  };
}

type Place = Pick<TaskFacts, "runId" | "step">;

/** Identifies a task of one claim by its run and step; the strategy follows from them. */
function placeOf({ runId, step }: Place): string {
  return `${runId}/${step}`;
}

/** Read only if a person has changed an input: a plain task costs no statement here. */
async function changedInputs(
  query: Query,
  of: readonly (Place & Pick<TaskFacts, "strategy">)[],
): Promise<ReadonlyMap<string, Payload | null>> {
  if (of.length === 0) return new Map();
  const rows = await query<{
    run_id: RunId;
    step_no: number;
    input_type: string | null;
    input_json: string | null;
    input_data: Buffer | null;
  }>(
    "changed_inputs",
    columns(of, {
      run_id: (one) => one.runId,
      step_no: (one) => one.step,
      strategy: (one) => one.strategy,
    }),
  );
  return new Map(
    rows.map((row) => [
      placeOf({ runId: row.run_id, step: row.step_no }),
      payloadOf(row.input_type, row.input_json, row.input_data),
    ]),
  );
}
