/**
 * A workflow as a graph to be drawn, in words: a node for each step with what it does and what the
 * definition says of it, edges for what comes after what, and over it, for a run, where each step
 * stands. Made of the contract's messages alone and pure, so that whoever draws draws the same.
 *
 *     definition ----\
 *                     workflowGraph -> WorkflowGraph -> svg.ts, dot.ts, mermaid.ts
 *     run and steps -/
 */
import type { Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import type { StepDefinition, WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import { type Mark, marksOf, type StepWords, undoOf, wordsOf, wordsOfRunStep } from "./marks.ts";
import { type Standing, standingOf, undoStandingOf } from "./standing.ts";

export interface WorkflowGraph {
  readonly title: string;
  /** How the run stands; empty: a definition is drawn. */
  readonly subtitle: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Needs that follow from others are left out: there are too many to be told apart. */
  readonly reduced: boolean;
}

export interface GraphNode extends StepWords {
  readonly id: string;
  readonly marks: readonly Mark[];
  /** null: no run is drawn. */
  readonly standing: Standing | null;
  /** null: nothing undoes it. */
  readonly undo: UndoNode | null;
}

/** What undoes a step, drawn beside it. */
export interface UndoNode {
  readonly does: string;
  readonly standing: Standing | null;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** `needs`: begins when the other has ended; `last`: once all that is not `always` has. */
  readonly kind: "needs" | "last";
}

/** Where a run stands; `verdict` is its state in words. */
export interface DrawnRun {
  readonly run: Run;
  readonly steps: readonly Step[];
  readonly verdict: string;
}

/** More lines than these cannot be told apart: those that follow from others are left out. */
const edgesMax = 1_500;

export function workflowGraph(
  definition: WorkflowDefinition,
  version: number,
  drawn: DrawnRun | null,
): WorkflowGraph {
  const standing = new Map(drawn?.steps.map((step) => [step.id, step]));
  const nodes = definition.steps.map((step) => nodeOf(step, standing.get(step.id), drawn !== null));
  return {
    ...heading(definition.workflow, version, drawn),
    nodes,
    ...edgesOf(definition.steps),
  };
}

/** Of a run whose definition is not at hand: what its steps themselves tell. */
export function runGraph(drawn: DrawnRun): WorkflowGraph {
  const { run, steps } = drawn;
  const nodes = steps.map((step) => {
    const undo = undoStandingOf(step);
    return {
      id: step.id,
      ...wordsOfRunStep(step),
      marks: step.queue === "" ? [] : [{ label: "queue", text: step.queue }],
      standing: standingOf(step),
      undo: undo === null ? null : { does: "undo", standing: undo },
    };
  });
  return { ...heading(run.workflow, run.workflowVersion, drawn), nodes, ...edgesOf(steps) };
}

function heading(workflow: string, version: number, drawn: DrawnRun | null) {
  return {
    title: version > 0 ? `${workflow} v${version}` : workflow,
    subtitle: drawn === null ? "" : `run ${drawn.run.runId} ${drawn.verdict}`,
  };
}

function nodeOf(step: StepDefinition, run: Step | undefined, isRun: boolean): GraphNode {
  const undo = undoOf(step);
  return {
    id: step.id,
    ...wordsOf(step),
    marks: marksOf(step),
    standing: run ? standingOf(run) : null,
    undo: undo === "" ? null : { does: undo, standing: isRun && run ? undoStandingOf(run) : null },
  };
}

interface Needing {
  readonly id: string;
  readonly needs: readonly string[];
  /** Steps of a run do not say it. */
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

/** From what nothing else needs to the `always` steps that need nothing. */
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

/** Without those that a longer way says as well. */
function withoutImplied(steps: readonly Needing[], edges: readonly Pair[]): readonly Pair[] {
  const needsOf = new Map(steps.map(({ id, needs }) => [id, needs]));
  const before = new Map<string, ReadonlySet<string>>();
  const allBefore = (id: string): ReadonlySet<string> => {
    const known = before.get(id);
    if (known) return known;
    // Definitions have no cycles; one of a broken server gets a drawing, not an endless loop.
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
