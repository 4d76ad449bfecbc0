/** The meaning of the signs in a drawing: one line for each sign that occurs in it. */
import type { NodeKind } from "./marks.ts";
import type { NodeStyle } from "./status.ts";
import type { GraphEdge, WorkflowGraph } from "./workflow-graph.ts";

export interface Sample {
  readonly of:
    | { readonly kind: "shape"; readonly shape: NodeKind | "undo" }
    | { readonly kind: "edge"; readonly edge: GraphEdge["kind"] | "undo-edge" }
    | { readonly kind: "look"; readonly look: NodeStyle }
    | { readonly kind: "note" };
  readonly text: string;
}

const shapes: readonly (readonly [NodeKind, string])[] = [
  ["task", "an agent performs a task"],
  ["map", "a task for each item of a list"],
  ["run", "a run of a workflow"],
  ["wait", "waits for a time"],
  ["signal", "waits for a signal"],
  ["approval", "waits for people"],
];

export const LOOK_WORDS: Readonly<Record<NodeStyle, string>> = {
  ahead: "not begun",
  moving: "in its queue, or with an agent",
  waiting: "waits for an event",
  trouble: "to be tried again, or looked up",
  person: "a person has to say",
  well: "done",
  badly: "failed",
  undone: "undone",
  "left-out": "left out, or not done any more",
};

const styles: readonly NodeStyle[] = [
  ...(["ahead", "moving", "waiting", "trouble", "person", "well"] as const),
  ...(["badly", "undone", "left-out"] as const),
];

export function legendOf({ nodes, edges, reduced }: WorkflowGraph): readonly Sample[] {
  const kinds = new Set(nodes.map(({ kind }) => kind));
  const shown = new Set(nodes.flatMap(({ status, undo }) => [status?.look, undo?.status?.look]));
  const lines = new Set(edges.map(({ kind }) => kind));
  const undone = nodes.some(({ undo }) => undo !== null);
  return [
    ...shapes
      .filter(([kind]) => kinds.has(kind))
      .map(([shape, text]) => ({ of: { kind: "shape" as const, shape }, text })),
    ...(lines.has("needs") ? [edge("needs", "begins when the one before has ended")] : []),
    ...(lines.has("last") ? [edge("last", "begins when all others have ended")] : []),
    ...(undone ? [edge("undo-edge", "is undone by, last one first")] : []),
    ...styles
      .filter((look) => shown.has(look))
      .map((look) => ({ of: { kind: "look" as const, look }, text: LOOK_WORDS[look] })),
    ...(reduced
      ? [{ of: { kind: "note" as const }, text: "needs that follow from others are left out" }]
      : []),
  ];
}

function edge(kind: GraphEdge["kind"] | "undo-edge", text: string): Sample {
  return { of: { kind: "edge", edge: kind }, text };
}
