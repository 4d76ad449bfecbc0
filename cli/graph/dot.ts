/** A graph of a workflow in the language of Graphviz, for `dot -Tpng` and similar commands. */
import { clean } from "../words.ts";
import { legendOf, type Sample } from "./legend.ts";
import { linesOf, undoLinesOf } from "./lines.ts";
import type { NodeKind } from "./marks.ts";
import type { NodeStyle } from "./status.ts";
import { LIGHT } from "./svg-style.ts";
import type { WorkflowGraph } from "./workflow-graph.ts";

const shapes: Readonly<Record<NodeKind | "undo", string>> = {
  task: "box",
  wait: "ellipse",
  signal: "cds",
  approval: "octagon",
  run: "component",
  map: "box3d",
  undo: "note",
  unknown: "box",
};

const edgeStyles = { needs: "solid", last: "dotted" } as const;

export function dotOf(graph: WorkflowGraph): string {
  const numbers = new Map(graph.nodes.map(({ id }, no) => [id, no]));
  const heading = graph.subtitle === "" ? graph.title : `${graph.title}\n${graph.subtitle}`;
  return [
    "digraph workflow {",
    `  graph [label=${quoted(heading)}, labelloc=t, fontname="monospace", rankdir=TB];`,
    '  node [fontname="monospace", fontsize=11, style=filled, fillcolor="#f9fafb"];',
    '  edge [fontname="monospace", fontsize=10];',
    ...graph.nodes.flatMap((node, no) => [
      `  n${no} [shape=${shapes[node.kind]}, label=${left(linesOf(node))}${look(node.status?.look)}];`,
      ...(node.undo
        ? [
            `  u${no} [shape=note, label=${left(undoLinesOf(node.undo))}${look(node.undo.status?.look)}];`,
            `  n${no} -> u${no} [style=dashed, constraint=false];`,
            `  { rank=same; n${no}; u${no}; }`,
          ]
        : []),
    ]),
    ...graph.edges.map(
      ({ from, to, kind }) =>
        `  n${numbers.get(from)} -> n${numbers.get(to)} [style=${edgeStyles[kind]}];`,
    ),
    `  legend [shape=plaintext, style="", label=${left(["how to read it", ...legendOf(graph).map(legendLine)])}];`,
    "}",
    "",
  ].join("\n");
}

const edgeWords = { needs: "solid line", last: "dotted line", "undo-edge": "dashed line" } as const;

function legendLine({ of, text }: Sample): string {
  switch (of.kind) {
    case "shape":
      return `${shapes[of.shape]}: ${text}`;
    case "edge":
      return `${edgeWords[of.edge]}: ${text}`;
    case "look":
      return `${borders[of.look]} border: ${text}`;
    case "note":
      return text;
  }
}

const borders: Readonly<Record<NodeStyle, string>> = {
  ahead: "dashed",
  moving: "thick blue",
  waiting: "cyan",
  trouble: "amber",
  person: "double magenta",
  well: "green",
  badly: "thick red",
  undone: "violet",
  "left-out": "dotted",
};

function look(of: NodeStyle | undefined): string {
  if (of === undefined) return "";
  const { line, fill } = LIGHT[of];
  const style = of === "ahead" ? "filled,dashed" : of === "left-out" ? "filled,dotted" : "filled";
  const width = of === "moving" || of === "badly" ? 3 : 1.5;
  const twice = of === "person" ? ", peripheries=2" : "";
  return `, style="${style}", color="${line}", fillcolor="${fill}", penwidth=${width}${twice}`;
}

/** Left-aligned lines of a node; backslashes are escaped. */
function left(lines: readonly string[]): string {
  return `"${lines.map((line) => `${escaped(clean(line))}\\l`).join("")}"`;
}

function quoted(text: string): string {
  return `"${text
    .split("\n")
    .map((line) => escaped(clean(line)))
    .join("\\n")}"`;
}

/** Ampersands are escaped, too: Graphviz reads `&lt;` and other entities in any label. */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("&", "&amp;");
}
