/** The languages in which a graph is written, by the names that `--format` takes. */
import { dotOf } from "./dot.ts";
import { mermaidOf } from "./mermaid.ts";
import { svgOf } from "./svg.ts";
import type { WorkflowGraph } from "./workflow-graph.ts";

export const graphFormats = ["svg", "dot", "mermaid"] as const;
export type GraphFormat = (typeof graphFormats)[number];

export function graphText(graph: WorkflowGraph, format: GraphFormat): string {
  switch (format) {
    case "svg":
      return svgOf(graph);
    case "dot":
      return dotOf(graph);
    case "mermaid":
      return mermaidOf(graph);
  }
}
