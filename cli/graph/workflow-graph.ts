/**
 * A workflow as a graph to be drawn, in words: a node for each step with its work and its settings,
 * edges for the order of steps, and for a run the state of each step. It uses only messages of the
 * contract and is pure, so that all formats draw the same graph.
 *
 *     definition ----\
 *                     workflowGraph -> WorkflowGraph -> svg.ts, dot.ts, mermaid.ts
 *     run and steps -/
 */
import type { Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import type { StepDefinition, WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import { type Mark, marksOf, type StepWords, undoOf, wordsOf, wordsOfRunStep } from "./marks.ts";
import { type StateView, statusOf, undoStatusOf } from "./status.ts";

export interface WorkflowGraph {
  readonly title: string;
  /** The state of the run; empty: a definition is drawn. */
  readonly subtitle: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /**
   * There were too many edges to distinguish, so needs that follow from other needs are left out.
   */
  readonly reduced: boolean;
}

export interface GraphNode extends StepWords {
  readonly id: string;
  readonly marks: readonly Mark[];
  /** null: no run is drawn. */
  readonly status: StateView | null;
  /** null: the step has no compensation. */
  readonly undo: UndoNode | null;
}

/** The compensation of a step, drawn beside it. */
export interface UndoNode {
  readonly does: string;
  readonly status: StateView | null;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /**
   * `needs`: starts when the other step has ended; `last`: starts when all steps without `always`
   * have ended.
   */
  readonly kind: "needs" | "last";
}

/** A run and its steps; `outcome` is the run's state in words. */
export interface DrawnRun {
  readonly run: Run;
  readonly steps: readonly Step[];
  readonly outcome: string;
}

/** A reader cannot distinguish more edges: edges that follow from others are left out. */
const edgesMax = 1_500;

export function workflowGraph(
  definition: WorkflowDefinition,
  version: number,
  drawn: DrawnRun | null,
): WorkflowGraph {
  const status = new Map(drawn?.steps.map((step) => [step.id, step]));
  const nodes = definition.steps.map((step) => nodeOf(step, status.get(step.id), drawn !== null));
  return {
    ...heading(definition.workflow, version, drawn),
    nodes,
    ...edgesOf(definition.steps),
  };
}

/** For a run whose definition is not available: only the data of its steps. */
export function runGraph(drawn: DrawnRun): WorkflowGraph {
  const { run, steps } = drawn;
  const nodes = steps.map((step) => {
    const undo = undoStatusOf(step);
    return {
      id: step.id,
      ...wordsOfRunStep(step),
      marks: step.queue === "" ? [] : [{ label: "queue", text: step.queue }],
      status: statusOf(step),
      undo: undo === null ? null : { does: "undo", status: undo },
    };
  });
  return { ...heading(run.workflow, run.workflowVersion, drawn), nodes, ...edgesOf(steps) };
}

function heading(workflow: string, version: number, drawn: DrawnRun | null) {
  return {
    title: version > 0 ? `${workflow} v${version}` : workflow,
    subtitle: drawn === null ? "" : `run ${drawn.run.runId}: ${drawn.outcome}`,
  };
}

function nodeOf(step: StepDefinition, run: Step | undefined, isRun: boolean): GraphNode {
  const undo = undoOf(step);
  return {
    id: step.id,
    ...wordsOf(step),
    marks: marksOf(step),
    status: run ? statusOf(run) : null,
    undo: undo === "" ? null : { does: undo, status: isRun && run ? undoStatusOf(run) : null },
  };
}

interface Needing {
  readonly id: string;
  readonly needs: readonly string[];
  /** Steps of a run do not have it. */
  readonly always?: boolean;
}

function edgesOf(steps: readonly Needing[]): Pick<WorkflowGraph, "edges" | "reduced"> {
  const known = new Set(steps.map(({ id }) => id));
  const all = steps.flatMap(({ id, needs }) =>
    needs.filter((need) => known.has(need)).map((from) => ({ from, to: id })),
  );
  const reduced = all.length > edgesMax;
  const needs = reduced ? withoutImplied(steps, all) : all;
  const edges = needs.map((edge) => ({ ...edge, kind: "needs" as const }));
  return { edges: [...edges, ...lastEdges(steps)], reduced };
}

/** From the steps that no step needs, to the `always` steps that need nothing. */
function lastEdges(steps: readonly Needing[]): readonly GraphEdge[] {
  const needed = new Set(steps.flatMap((step) => step.needs));
  const ends = steps.filter(({ id, always }) => !always && !needed.has(id));
  const lasts = steps.filter(({ needs, always }) => always && needs.length === 0);
  return lasts.flatMap(({ id: to }) => ends.map(({ id: from }) => ({ from, to, kind: "last" })));
}

interface Pair {
  readonly from: string;
  readonly to: string;
}

/** Without edges that a longer path implies. */
function withoutImplied(steps: readonly Needing[], edges: readonly Pair[]): readonly Pair[] {
  const needsOf = new Map(steps.map(({ id, needs }) => [id, needs]));
  const before = new Map<string, ReadonlySet<string>>();
  const allBefore = (id: string): ReadonlySet<string> => {
    const known = before.get(id);
    if (known) return known;
    // Definitions have no cycles; a cycle from a broken server must not cause an endless loop.
    before.set(id, new Set());
    const found = new Set<string>();
    for (const need of needsOf.get(id) ?? []) {
      found.add(need);
      for (const one of allBefore(need)) found.add(one);
    }
    before.set(id, found);
    return found;
  };
  return edges.filter(
    ({ from, to }) =>
      !(needsOf.get(to) ?? []).some((need) => need !== from && allBefore(need).has(from)),
  );
}
