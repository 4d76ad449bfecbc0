// The steps of a definition as a picture: what needs what, from left to right. It says nothing that
// a table beside it does not: the picture is one image to those who cannot see it.
import { Graph, layout } from "@dagrejs/dagre";
import type { StepDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import { useMemo } from "react";
import { counted } from "../words/counts.ts";
import { stepDoes } from "../words/workflow-words.ts";

const NODE = { width: 184, height: 46 };
const SHOWN_CHARACTERS = 24;
const MARGIN = 8;

interface Placed {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly {
    readonly step: StepDefinition;
    readonly x: number;
    readonly y: number;
  }[];
  /** Paths of SVG, by the two ends. */
  readonly edges: readonly { readonly name: string; readonly path: string }[];
}

export function DefinitionGraph({ steps }: { readonly steps: readonly StepDefinition[] }) {
  const { width, height, nodes, edges } = useMemo(() => placed(steps), [steps]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
    <section className="graph" tabIndex={0} aria-label="Graph of the steps">
      <svg
        role="img"
        aria-label={`${counted(steps.length, "step")} and what each needs`}
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
      >
        {edges.map(({ name, path }) => (
          <path key={name} d={path} className="graph-edge" />
        ))}
        {nodes.map(({ step, x, y }) => (
          <g key={step.id} transform={`translate(${x} ${y})`} data-kind={step.kind.case}>
            <title>{`${step.id}: ${stepDoes(step)}`}</title>
            <rect className="graph-node" width={NODE.width} height={NODE.height} rx="6" />
            <text className="graph-name" x="10" y="19">
              {clipped(step.id)}
            </text>
            <text className="graph-does" x="10" y="36">
              {clipped(stepDoes(step))}
            </text>
          </g>
        ))}
      </svg>
    </section>
  );
}

function placed(steps: readonly StepDefinition[]): Placed {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 44, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of steps) graph.setNode(id, { ...NODE });
  for (const { id, needs } of steps) for (const need of needs) graph.setEdge(need, id);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    nodes: steps.map((step) => {
      const { x, y } = graph.node(step.id);
      return { step, x: x - NODE.width / 2, y: y - NODE.height / 2 };
    }),
    edges: graph.edges().map((edge) => {
      const [from, to] = [graph.node(edge.v), graph.node(edge.w)];
      const between = graph.edge(edge).points.slice(1, -1);
      // From the middle of one side to the middle of the other.
      const first = { x: from.x + NODE.width / 2, y: from.y };
      const last = { x: to.x - NODE.width / 2, y: to.y };
      return { name: `${edge.v} ${edge.w}`, path: pathThrough([first, ...between, last]) };
    }),
  };
}

/** A line that leaves and arrives level. */
function pathThrough(points: readonly { readonly x: number; readonly y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let [at, path] = [first, `M${first.x} ${first.y}`];
  for (const next of rest) {
    const middle = (at.x + next.x) / 2;
    path += `C${middle} ${at.y} ${middle} ${next.y} ${next.x} ${next.y}`;
    at = next;
  }
  return path;
}

function clipped(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 1)}…` : text;
}
