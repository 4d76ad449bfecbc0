// The positions of a graph's nodes: left to right, by dagre. It runs in a worker (graph-worker.ts),
// so that a graph of 500 steps does not block the page.
import dagre from "@dagrejs/dagre";

export const NODE_WIDTH = 196;
export const NODE_HEIGHT = 56;

export interface GraphShape {
  readonly nodes: readonly string[];
  /** From and to. */
  readonly edges: readonly (readonly [string, string])[];
}

export type Positions = Readonly<Record<string, { readonly x: number; readonly y: number }>>;

export function positionsOf({ nodes, edges }: GraphShape): Positions {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 64 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const [from, to] of edges) graph.setEdge(from, to);
  dagre.layout(graph);
  return Object.fromEntries(
    nodes.map((node) => {
      const { x = 0, y = 0 } = graph.node(node);
      return [node, { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 }];
    }),
  );
}
