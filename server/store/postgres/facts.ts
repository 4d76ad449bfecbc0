// Facts by plain reads: what granted tasks carry, and what expressions see.
import type { Facts, RunFacts, StepFacts } from "../../core/facts.ts";
import type { Items } from "../../core/items.ts";
import type { Payload } from "../../core/payload.ts";
import {
  detailsWanted,
  ERROR_KINDS,
  ERROR_OUTCOMES,
  FINAL,
  madeOutput,
  strategyOfTask,
} from "../facts.ts";
import type { FactsWanted, Granted, RunId, TaskFacts } from "../store.ts";
import { attemptKinds, forwards, outcomes } from "./codes.ts";
import { columns, labelsOf, payloadOf } from "./columns.ts";
import { strategyOf } from "./step-rows.ts";
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

interface StepFactsRow {
  run_id: RunId;
  no: number;
  forward: number;
  output_type: string | null;
  output_json: string | null;
  output_data: Buffer | null;
  code: string | null;
  message: string | null;
}

const FINAL_CODES = FINAL.map(forwards.code);
const FAILED_CODE = forwards.code("FAILED");
const ERROR_KIND_CODES = ERROR_KINDS.map(attemptKinds.code);
const ERROR_OUTCOME_CODES = ERROR_OUTCOMES.map(outcomes.code);

export async function loadFacts(
  query: Query,
  wanted: readonly FactsWanted[],
): Promise<ReadonlyMap<RunId, Facts>> {
  if (wanted.length === 0) return new Map();
  const runs = await query<RunFactsRow>("run_facts", [wanted.map(({ runId }) => runId)]);
  const named = wanted.flatMap(({ runId, steps }) => steps.map((no) => ({ runId, no })));
  const steps =
    named.length === 0
      ? []
      : await query<StepFactsRow>("step_facts", [
          ...columns(
            named,
            (one) => one.runId,
            (one) => one.no,
          ),
          FINAL_CODES,
          FAILED_CODE,
          ERROR_KIND_CODES,
          ERROR_OUTCOME_CODES,
        ]);
  return new Map(
    runs.map((row) => {
      const own = steps.filter((step) => step.run_id === row.run_id);
      const facts = new Map(own.map((step) => [step.no, stepFactsOf(step)]));
      return [row.run_id, { run: runFactsOf(row), steps: facts }];
    }),
  );
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

function stepFactsOf(row: StepFactsRow): StepFacts {
  const stored = forwards.name(row.forward);
  const status = FINAL.find((final) => final === stored);
  if (status === undefined) throw new Error(`step ${row.no} of ${row.run_id} has not ended`);
  return {
    status,
    output: payloadOf(row.output_type, row.output_json, row.output_data),
    error: row.code === null ? null : { code: row.code, message: row.message ?? "" },
  };
}

interface TaskFactsRow extends Omit<RunFactsRow, "run_id" | "workflow" | "key" | "created_at"> {
  place: number;
  definition_id: number;
  traceparent: string | null;
  tracestate: string | null;
  forward: number;
  strategies: number[];
  items: Items | null;
  details_type: string | null;
  details_json: string | null;
  details_data: Buffer | null;
  output_type: string | null;
  output_json: string | null;
  output_data: Buffer | null;
  of_run: RunId | null;
}

export async function taskFacts(
  query: Query,
  tasks: readonly Granted[],
): Promise<readonly TaskFacts[]> {
  if (tasks.length === 0) return [];
  const rows = await query<TaskFactsRow>(
    "task_facts",
    columns(
      tasks.map((task) => ({ ...task.ready, ...task, details: detailsWanted(task) })),
      (task) => task.runId,
      (task) => task.step,
      (task) => task.details.beforeFence,
      (task) => attemptKinds.code(task.details.kind),
      (task) => task.task === "compensate",
      (task) => task.secret,
    ),
  );
  const found = rows.flatMap((row) => {
    const task = tasks[row.place - 1];
    return task ? [taskFactsOf(task, row)] : [];
  });
  const inputs = await changedInputs(
    query,
    found.filter(({ changed }) => changed),
  );
  return found.map(({ changed: _, ...facts }) => {
    const payload = inputs.get(placeOf(facts));
    return { ...facts, changedInput: payload === undefined ? null : { payload } };
  });
}

function taskFactsOf({ ready }: Granted, row: TaskFactsRow) {
  const strategies = row.strategies.map(strategyOf);
  const strategy = strategyOfTask(ready.task, strategies);
  const { planned = 0, changed = false } = strategies[strategy] ?? {};
  const made = madeOutput(forwards.name(row.forward), strategies, strategy);
  return {
    runId: ready.runId,
    step: ready.step,
    definitionId: row.definition_id,
    version: row.version,
    labels: labelsOf(row.labels),
    input: payloadOf(row.input_type, row.input_json, row.input_data),
    lastDetails: payloadOf(row.details_type, row.details_json, row.details_data),
    items: row.items,
    strategy,
    planned,
    changed,
    output: made ? payloadOf(row.output_type, row.output_json, row.output_data) : null,
    effectOf: row.of_run,
    trace: traceOf(row),
  };
}

type Place = Pick<TaskFacts, "runId" | "step">;

/** A task of one claim is named by its run and step: the strategy follows from it. */
function placeOf({ runId, step }: Place): string {
  return `${runId}/${step}`;
}

/** Asked for only where somebody changed one: a plain task costs no statement here. */
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
    columns(
      of,
      (one) => one.runId,
      (one) => one.step,
      (one) => one.strategy,
    ),
  );
  return new Map(
    rows.map((row) => [
      placeOf({ runId: row.run_id, step: row.step_no }),
      payloadOf(row.input_type, row.input_json, row.input_data),
    ]),
  );
}
