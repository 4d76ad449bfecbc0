// Facts by plain reads: what granted tasks carry, and what expressions see.
import type { Facts, RunFacts, StepFacts } from "../../core/model/facts.ts";
import { movingSide } from "../../core/model/model.ts";
import type { Payload } from "../../core/model/payload.ts";
import type { PageStep } from "../../core/page/page.ts";
import { detailsWanted, FINAL, madeOutput, strategyOfTask } from "../facts.ts";
import { errorIn, lastDetailsIn, outputIn } from "../page-reads.ts";
import type { FactsWanted, Granted, RunId, TaskFacts } from "../store.ts";
import { attemptsOf, payloadReader } from "./pages.ts";
import { overrideKey, pageStepOf, type RunRow, stepKey, type Tables } from "./tables.ts";

export function taskFacts(tables: Tables, granted: Granted): readonly TaskFacts[] {
  const { runId, step, task } = granted.ready;
  const of = pageStepOf(tables, runId, step);
  const lease = of && movingSide(of.step)?.state;
  if (!of || lease?.kind !== "LEASED" || lease.secret !== granted.secret) return [];
  const { definitionId, version, labels, input, trace = null } = tables.run.expect(runId);
  const { strategies, forward, items } = of.step;
  const strategy = strategyOfTask(task, strategies);
  const { planned = 0, changed = false } = strategies[strategy] ?? {};
  const override = changed
    ? tables.override.get(overrideKey({ runId, step, strategy }))
    : undefined;
  const made = task === "compensate" && madeOutput(forward.kind, strategies, strategy);
  const attempts = attemptsOf(tables, runId, of);
  const payloadOf = payloadReader(tables, runId);
  const facts: TaskFacts = {
    runId,
    step,
    definitionId,
    version,
    labels,
    input,
    trace,
    lastDetails: lastDetailsIn(step, attempts, detailsWanted(granted), payloadOf),
    items,
    strategy,
    planned,
    changedInput: override ? { payload: override.input } : null,
    output: made ? outputIn(of, attempts, payloadOf) : null,
    effectOf:
      task === "compensate"
        ? (tables.reusedSteps.get(stepKey(runId, step))?.madeByRun ?? null)
        : null,
  };
  return [facts];
}

export function outputOf(tables: Tables, runId: RunId, of: PageStep): Payload | null {
  return outputIn(of, attemptsOf(tables, runId, of), payloadReader(tables, runId));
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
      const of = pageStepOf(tables, runId, no);
      const status = FINAL.find((final) => final === of?.step.forward.kind);
      if (!of || !status) return [];
      const error = status === "FAILED" ? errorIn(attemptsOf(tables, runId, of)) : null;
      return [[no, { status, output: outputOf(tables, runId, of), error }]];
    }),
  );
}
