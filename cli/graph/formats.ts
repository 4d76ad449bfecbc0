/** The formats in which a graph is written. */
import { dotOf } from "./dot.ts";
import type { GraphFormat } from "./format-names.ts";
import { mermaidOf } from "./mermaid.ts";
import { svgOf } from "./svg.ts";
import type { WorkflowGraph } from "./workflow-graph.ts";

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
