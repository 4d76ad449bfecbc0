/**
 * The layout of a graph: layers by dagre, from top to bottom, or from left to right if top to
 * bottom would be too wide.
 */
import { Graph, layout } from "@dagrejs/dagre";
import { type Box, boxOfStep, boxOfUndo } from "./boxes.ts";
import type { GraphEdge, GraphNode, WorkflowGraph } from "./workflow-graph.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A box with its upper left corner. */
export interface PlacedBox extends Box, Point {}

export interface PlacedNode {
  readonly node: GraphNode;
  readonly box: PlacedBox;
  readonly undo: PlacedBox | null;
}

export interface PlacedEdge extends GraphEdge {
  readonly points: readonly Point[];
}

export interface Placed {
  readonly direction: Direction;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  /** From a step to its compensation. */
  readonly undoEdges: readonly (readonly [Point, Point])[];
  readonly width: number;
  readonly height: number;
}

export type Direction = "down" | "right";

interface Sized {
  readonly node: GraphNode;
  readonly box: Box;
  readonly undo: Box | null;
}

/** Between a step and its compensation. */
const undoGap = 26;
const nodeGap = 26;
const rankGap = 46;
/** How many times wider than high a drawing may be before it is laid out from left to right. */
const widerMax = 2.5;

export function placed(graph: WorkflowGraph): Placed {
  const sized = graph.nodes.map((node) => ({
    node,
    box: boxOfStep(node),
    undo: node.undo ? boxOfUndo(node.undo) : null,
  }));
  return placedBy(sized, graph.edges, directionOf(sized, graph.edges));
}

function placedBy(
  sized: readonly Sized[],
  edges: readonly GraphEdge[],
  direction: Direction,
): Placed {
  const laid =
    edges.length > dagreEdgesMax
      ? byLayers(sized, edges, direction)
      : byDagre(sized, edges, direction);
  const nodes = sized.map((one, no) => {
    const { x, y } = laid.centres[no] ?? { x: 0, y: 0 };
    const { width, height } = together(one, direction);
    return placedNode(one, { x: x - width / 2, y: y - height / 2 }, direction);
  });
  const boxes = new Map(nodes.map(({ node, box }) => [node.id, box]));
  const drawn = edges.flatMap((edge, no) => {
    const from = boxes.get(edge.from);
    const to = boxes.get(edge.to);
    if (!from || !to) return [];
    const bends = laid.bends[no] ?? [];
    return [{ ...edge, points: [leaving(from, direction), ...bends, entering(to, direction)] }];
  });
  const all = nodes.flatMap(({ box, undo }) => (undo ? [box, undo] : [box]));
  return {
    direction,
    nodes,
    edges: drawn,
    undoEdges: nodes.flatMap(({ box, undo }) => (undo ? [undoEdge(box, undo, direction)] : [])),
    width: Math.max(0, ...all.map(({ x, width }) => x + width)),
    height: Math.max(0, ...all.map(({ y, height }) => y + height)),
  };
}

/** The centres of the nodes, and the bends of each edge between its ends. */
interface Laid {
  readonly centres: readonly Point[];
  readonly bends: readonly (readonly Point[])[];
}

function byDagre(sized: readonly Sized[], edges: readonly GraphEdge[], direction: Direction): Laid {
  const drawing = new Graph();
  drawing.setGraph({
    rankdir: direction === "down" ? "TB" : "LR",
    nodesep: nodeGap,
    ranksep: rankGap,
  });
  drawing.setDefaultEdgeLabel(() => ({}));
  // Ids may be any text, even __proto__, so dagre gets numbers.
  const names = new Map(sized.map(({ node }, no) => [node.id, `n${no}`]));
  const ends = edges.map(({ from, to }) => [names.get(from) ?? "", names.get(to) ?? ""] as const);
  for (const [no, one] of sized.entries())
    drawing.setNode(`n${no}`, { ...together(one, direction) });
  for (const [from, to] of ends) drawing.setEdge(from, to, {});
  layout(drawing);
  return {
    centres: sized.map((_, no) => pointOf(drawing.node(`n${no}`))),
    bends: ends.map(([from, to]) => bendsOf(drawing.edge(from, to))),
  };
}

/** More edges would keep dagre busy for minutes, and a reader could not distinguish them. */
const dagreEdgesMax = 1_500;

/** Each layer in the order of the definition; edges may cross. */
function byLayers(
  sized: readonly Sized[],
  edges: readonly GraphEdge[],
  direction: Direction,
): Laid {
  const isDown = direction === "down";
  const ranks = ranksOf(sized, edges);
  const layers = [...Map.groupBy(sized, ({ node }) => ranks.get(node.id) ?? 0)].sort(
    ([a], [b]) => a - b,
  );
  const centres = new Map<Sized, Point>();
  let along = 0;
  for (const [, layer] of layers) {
    const sizes = layer.map((one) => together(one, direction));
    const depth = Math.max(...sizes.map(({ width, height }) => (isDown ? height : width)));
    let across = 0;
    for (const [no, one] of layer.entries()) {
      const { width, height } = sizes[no] ?? { width: 0, height: 0 };
      const middle = across + (isDown ? width : height) / 2;
      centres.set(
        one,
        isDown ? { x: middle, y: along + depth / 2 } : { x: along + depth / 2, y: middle },
      );
      across += (isDown ? width : height) + nodeGap;
    }
    along += depth + 4 * rankGap;
  }
  return { centres: sized.map((one) => centres.get(one) ?? { x: 0, y: 0 }), bends: [] };
}

/**
 * The size of a step with its compensation. They are laid out as one node, side by side across the
 * direction of the drawing.
 */
function together({ box, undo }: Sized, direction: Direction) {
  if (!undo) return { width: box.width, height: box.height };
  return direction === "down"
    ? { width: box.width + undoGap + undo.width, height: Math.max(box.height, undo.height) }
    : { width: Math.max(box.width, undo.width), height: box.height + undoGap + undo.height };
}

function placedNode({ node, box, undo }: Sized, { x, y }: Point, direction: Direction): PlacedNode {
  const beside =
    direction === "down" ? { x: x + box.width + undoGap, y } : { x, y: y + box.height + undoGap };
  return { node, box: { ...box, x, y }, undo: undo && { ...undo, ...beside } };
}

function undoEdge(box: PlacedBox, undo: PlacedBox, direction: Direction): readonly [Point, Point] {
  if (direction === "down") {
    const y = undo.y + Math.min(box.height, undo.height) / 2;
    return [
      { x: box.x + box.width, y },
      { x: undo.x, y },
    ];
  }
  const x = undo.x + Math.min(box.width, undo.width) / 2;
  return [
    { x, y: box.y + box.height },
    { x, y: undo.y },
  ];
}

function leaving({ x, y, width, height }: PlacedBox, direction: Direction): Point {
  return direction === "down"
    ? { x: x + width / 2, y: y + height }
    : { x: x + width, y: y + height / 2 };
}

function entering({ x, y, width, height }: PlacedBox, direction: Direction): Point {
  return direction === "down" ? { x: x + width / 2, y } : { x, y: y + height / 2 };
}

/** dagre's types are imprecise, so its results are checked. */
function pointOf(label: unknown): Point {
  const { x, y } =
    typeof label === "object" && label !== null ? { x: 0, y: 0, ...label } : { x: 0, y: 0 };
  return { x: Number(x), y: Number(y) };
}

/**
 * The bends on the layers between the ends of an edge. Bends next to an end are dropped: they lead
 * to the middle of the combined node.
 */
function bendsOf(label: unknown): readonly Point[] {
  if (typeof label !== "object" || label === null || !("points" in label)) return [];
  return Array.isArray(label.points) ? label.points.slice(2, -2).map(pointOf) : [];
}

/**
 * Estimates from the layers alone, which is cheap, how wide and high a drawing from top to bottom
 * would be.
 */
function directionOf(sized: readonly Sized[], edges: readonly GraphEdge[]): Direction {
  const ranks = ranksOf(sized, edges);
  const layers = new Map<number, { width: number; height: number }>();
  for (const one of sized) {
    const rank = ranks.get(one.node.id) ?? 0;
    const layer = layers.get(rank) ?? { width: 0, height: 0 };
    const { width, height } = together(one, "down");
    layers.set(rank, {
      width: layer.width + width + nodeGap,
      height: Math.max(layer.height, height),
    });
  }
  const all = [...layers.values()];
  const width = Math.max(0, ...all.map((layer) => layer.width));
  const height = all.reduce((sum, layer) => sum + layer.height + rankGap, 0);
  return width > widerMax * height ? "right" : "down";
}

function ranksOf(
  sized: readonly Sized[],
  edges: readonly GraphEdge[],
): ReadonlyMap<string, number> {
  const before = Map.groupBy(edges, ({ to }) => to);
  const ranks = new Map<string, number>();
  const rankOf = (id: string): number => {
    const known = ranks.get(id);
    if (known !== undefined) return known;
    ranks.set(id, 0);
    const rank = Math.max(0, ...(before.get(id) ?? []).map(({ from }) => rankOf(from) + 1));
    ranks.set(id, rank);
    return rank;
  };
  for (const { node } of sized) rankOf(node.id);
  return ranks;
}
