// What an overview counts.
import type { Moment } from "../../core/attempt.ts";
import type { Rule } from "../../core/history.ts";
import type { EndKind, RunState } from "../../core/model.ts";
import {
  type Activity,
  INTERVENTIONS_COUNTED_MAX,
  minuteOf,
  OPEN_RUNS_COUNTED_MAX,
  OPEN_RUNS_OF_NAMESPACE_MAX,
  type OpenRuns,
  type RunCount,
  type WorkflowEnds,
} from "../activity.ts";
import { createTable, type Table } from "./table.ts";
import type { Tables } from "./tables.ts";
import type { Journal, Transactions } from "./transactions.ts";

export interface RunCountRow extends RunCount {
  readonly namespaceId: number;
  readonly workflow: string;
}

export interface ActivityTables {
  readonly runCount: Table<RunCountRow, "namespace">;
}

export function createTablesOfActivity(journal: Journal): ActivityTables {
  return {
    runCount: createTable<RunCountRow, "namespace">(journal, {
      name: "run_count",
      key: keyOf,
      indexes: { namespace: (row) => row.namespaceId },
    }),
  };
}

function keyOf({ namespaceId, minute, event, workflow }: Omit<RunCountRow, "runs">): string {
  return `${namespaceId}/${minute}/${event}/${workflow}`;
}

/** One more run that was accepted, or ended, then. */
export function countRun(
  { runCount }: ActivityTables,
  { namespaceId, workflow }: Pick<RunCountRow, "namespaceId" | "workflow">,
  event: RunCount["event"],
  at: Moment,
): void {
  const of = { namespaceId, workflow, event, minute: minuteOf(at) };
  runCount.put({ ...of, runs: (runCount.get(keyOf(of))?.runs ?? 0) + 1 });
}

export function createActivity(tables: Tables, run: Transactions["run"]): Activity {
  return {
    openRuns: (namespaceId) => run(() => openRuns(tables, namespaceId)),
    runCounts: (namespaceId, since) => run(() => runCounts(countsOf(tables, namespaceId, since))),
    unsuccessfulWorkflows: (namespaceId, since, limit) =>
      run(() => unsuccessful(countsOf(tables, namespaceId, since)).slice(0, limit)),
    countInterventions: (namespaceId, since) =>
      run(() => countInterventions(tables, namespaceId, since)),
  };
}

export function openRuns(tables: Tables, namespaceId: number | null): OpenRuns {
  const isAll = namespaceId === null;
  const runs = tables.runOpen
    .all()
    .filter(({ runId }) => isAll || tables.run.get(runId)?.namespaceId === namespaceId);
  const states = new Map<RunState["kind"], number>();
  for (const { run } of runs) states.set(run.state.kind, (states.get(run.state.kind) ?? 0) + 1);
  const groups = Map.groupBy(runs, ({ partition }) => (isAll ? partition : null));
  const max = isAll ? OPEN_RUNS_COUNTED_MAX : OPEN_RUNS_OF_NAMESPACE_MAX;
  return { openRuns: states, allCounted: groups.values().every((of) => of.length < max) };
}

function countsOf(tables: Tables, namespaceId: number, since: Moment): readonly RunCountRow[] {
  return tables.runCount.where("namespace", namespaceId).filter(({ minute }) => minute >= since);
}

function runCounts(rows: readonly RunCountRow[]): readonly RunCount[] {
  const groups = Map.groupBy(rows, ({ minute, event }) => `${minute}/${event}`).values();
  return [...groups]
    .flatMap(([first, ...others]) =>
      first ? [{ minute: first.minute, event: first.event, runs: sum([first, ...others]) }] : [],
    )
    .sort((a, b) => a.minute - b.minute);
}

function unsuccessful(rows: readonly RunCountRow[]): readonly WorkflowEnds[] {
  const of = (group: readonly RunCountRow[], event: EndKind) =>
    sum(group.filter((row) => row.event === event));
  const bad = ({ ends }: WorkflowEnds) => ends.FAILED + ends.COMPENSATED + ends.CANCELLED;
  return [...Map.groupBy(rows, ({ workflow }) => workflow)]
    .map(([workflow, group]): WorkflowEnds => {
      const [COMPLETED, FAILED] = [of(group, "COMPLETED"), of(group, "FAILED")];
      const [COMPENSATED, CANCELLED] = [of(group, "COMPENSATED"), of(group, "CANCELLED")];
      return { workflow, ends: { COMPLETED, FAILED, COMPENSATED, CANCELLED } };
    })
    .filter((one) => bad(one) > 0)
    .sort((a, b) => bad(b) - bad(a) || (a.workflow < b.workflow ? -1 : 1));
}

function sum(rows: readonly RunCountRow[]): number {
  return rows.reduce((total, { runs }) => total + runs, 0);
}

function countInterventions(
  tables: Tables,
  namespaceId: number,
  since: Moment,
): ReadonlyMap<Rule, number> {
  const counted = new Map<Rule, number>();
  for (const { runId, rule, actedAt } of tables.intervention.all()) {
    if (actedAt < since || tables.run.expect(runId).namespaceId !== namespaceId) continue;
    counted.set(rule, Math.min(INTERVENTIONS_COUNTED_MAX, (counted.get(rule) ?? 0) + 1));
  }
  return counted;
}
