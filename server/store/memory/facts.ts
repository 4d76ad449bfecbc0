// Facts by plain reads: what granted tasks carry, and what expressions see.
import type { Facts, RunFacts, StepFacts } from "../../core/facts.ts";
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
import {
  attemptKey,
  overrideKey,
  type RunRow,
  type StepRow,
  stepKey,
  type Tables,
} from "./tables.ts";

export function taskFacts(tables: Tables, granted: Granted): readonly TaskFacts[] {
  const { runId, step, task } = granted.ready;
  const held = tables.lease.get(stepKey(runId, step));
  if (held?.lease.secret !== granted.secret) return [];
  const { definitionId, version, labels, input, trace = null } = tables.run.expect(runId);
  const row = tables.step.expect(stepKey(runId, step));
  const strategy = strategyOfTask(task, row.strategies);
  const { planned = 0, changed = false } = row.strategies[strategy] ?? {};
  const override = changed
    ? tables.override.get(overrideKey({ runId, step, strategy }))
    : undefined;
  const made = task === "compensate" && madeOutput(row.forward, row.strategies, strategy);
  const facts: TaskFacts = {
    ...{ runId, step, definitionId, version, labels, input, trace },
    lastDetails: lastDetails(tables, granted),
    items: row.items,
    strategy,
    planned,
    changedInput: override ? { payload: override.input } : null,
    output: made ? outputOf(tables, row) : null,
    effectOf: task === "compensate" ? (tables.kept.get(stepKey(runId, step))?.of ?? null) : null,
  };
  return [facts];
}

function lastDetails(tables: Tables, granted: Granted): Payload | null {
  const { runId, step } = granted.ready;
  const { kind, beforeFence } = detailsWanted(granted);
  const [newest] = tables.attempt
    .where("step", stepKey(runId, step))
    .filter(({ attempt, details }) => {
      return attempt.kind === kind && attempt.fence < beforeFence && details;
    })
    .sort((a, b) => b.attempt.fence - a.attempt.fence);
  return newest?.details ?? null;
}

export function outputOf(tables: Tables, { runId, no, result }: StepRow): Payload | null {
  if (!result) return null;
  const outcome = tables.attempt.get(attemptKey(runId, { step: no, ...result }))?.attempt.outcome;
  return outcome?.kind === "success" ? outcome.output : null;
}

export function factsOf(tables: Tables, wanted: readonly FactsWanted[]): ReadonlyMap<RunId, Facts> {
  return new Map(
    wanted.flatMap(({ runId, steps }) => {
      const run = tables.run.get(runId);
      return run ? [[runId, { run: runFacts(run), steps: stepsFacts(tables, runId, steps) }]] : [];
    }),
  );
}

function runFacts({
  runId: id,
  workflow,
  version,
  key,
  labels,
  createdAt,
  input,
}: RunRow): RunFacts {
  return { id, workflow, version, key, labels, createdAt, input };
}

function stepsFacts(
  tables: Tables,
  runId: RunId,
  steps: readonly number[],
): ReadonlyMap<number, StepFacts> {
  return new Map(
    steps.flatMap((no) => {
      const row = tables.step.get(stepKey(runId, no));
      const status = FINAL.find((final) => final === row?.forward);
      if (!row || !status) return [];
      const error = status === "FAILED" ? errorOf(tables, row) : null;
      return [[no, { status, output: outputOf(tables, row), error }]];
    }),
  );
}

function errorOf(tables: Tables, { runId, no }: StepRow): StepFacts["error"] {
  const [newest] = tables.attempt
    .where("step", stepKey(runId, no))
    .map(({ attempt }) => attempt)
    .filter(({ kind, outcome }) => {
      return ERROR_KINDS.includes(kind) && ERROR_OUTCOMES.includes(outcome.kind);
    })
    .sort(
      (a, b) =>
        b.fence - a.fence ||
        b.endedAt - a.endedAt ||
        ERROR_KINDS.indexOf(b.kind) - ERROR_KINDS.indexOf(a.kind),
    );
  if (newest?.outcome.kind !== "failure" && newest?.outcome.kind !== "unknown") return null;
  const { code, message } = newest.outcome;
  return { code, message };
}
