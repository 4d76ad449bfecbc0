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
  ["approval", "waits for approval"],
];

export const LOOK_WORDS: Readonly<Record<NodeStyle, string>> = {
  ahead: "not started",
  moving: "in its queue, or with an agent",
  waiting: "waits for an event",
  trouble: "to be retried, or being verified",
  person: "a person must answer",
  well: "done",
  badly: "failed",
  undone: "undone",
  "left-out": "skipped or cancelled",
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
    ...(lines.has("needs") ? [edge("needs", "starts when the step before has ended")] : []),
    ...(lines.has("last") ? [edge("last", "starts when all other steps have ended")] : []),
    ...(undone ? [edge("undo-edge", "is compensated by, in reverse order")] : []),
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
