/** A graph of a workflow as a Mermaid flowchart, which many Markdown viewers draw. */
import { clean } from "../words.ts";
import { legendOf, type Sample } from "./legend.ts";
import { linesOf, undoLinesOf } from "./lines.ts";
import type { NodeKind } from "./marks.ts";
import type { NodeStyle } from "./status.ts";
import { LIGHT } from "./svg-style.ts";
import type { WorkflowGraph } from "./workflow-graph.ts";

const shapes: Readonly<Record<NodeKind | "undo", readonly [open: string, close: string]>> = {
  task: ["[", "]"],
  wait: ["([", "])"],
  signal: [">", "]"],
  approval: ["{{", "}}"],
  run: ["[[", "]]"],
  map: ["[/", "/]"],
  undo: ["(", ")"],
  unknown: ["[", "]"],
};

const arrows = { needs: "-->", last: "-.->|last|" } as const;
/** Mermaid's default limit of edges. */
export const MERMAID_EDGES_MAX = 500;

export function mermaidOf(graph: WorkflowGraph): string {
  const numbers = new Map(graph.nodes.map(({ id }, no) => [id, no]));
  const styles = new Map<NodeStyle, string[]>();
  const mark = (of: NodeStyle | undefined, id: string) => {
    if (of !== undefined) styles.set(of, [...(styles.get(of) ?? []), id]);
  };
  const nodes = graph.nodes.flatMap((node, no) => {
    mark(node.status?.look, `n${no}`);
    mark(node.undo?.status?.look, `u${no}`);
    return [
      `  n${no}${shaped(node.kind, linesOf(node))}`,
      ...(node.undo
        ? [`  u${no}${shaped("undo", undoLinesOf(node.undo))}`, `  n${no} -.-|undo| u${no}`]
        : []),
    ];
  });
  return [
    `%% ${clean(graph.title)}${graph.subtitle === "" ? "" : `, ${clean(graph.subtitle)}`}`,
    "flowchart TD",
    ...nodes,
    ...graph.edges.map(
      ({ from, to, kind }) => `  n${numbers.get(from)} ${arrows[kind]} n${numbers.get(to)}`,
    ),
    `  legend["${text(["how to read it", ...legendOf(graph).flatMap(legendLine)])}"]`,
    ...classes(styles),
    "",
  ].join("\n");
}

export function mermaidEdges({ nodes, edges }: WorkflowGraph): number {
  return edges.length + nodes.filter(({ undo }) => undo !== null).length;
}

const shapeWords: Readonly<Record<NodeKind | "undo", string>> = {
  task: "box",
  wait: "round",
  signal: "flag",
  approval: "hexagon",
  run: "double sides",
  map: "slanted",
  undo: "rounded",
  unknown: "box",
};

const edgeWords = {
  needs: "solid line",
  last: "dotted, last",
  "undo-edge": "dotted, undo",
} as const;

/** Styles are left out: each node shows its state as a word. */
function legendLine({ of, text: meaning }: Sample): readonly string[] {
  switch (of.kind) {
    case "shape":
      return [`${shapeWords[of.shape]}: ${meaning}`];
    case "edge":
      return [`${edgeWords[of.edge]}: ${meaning}`];
    case "look":
      return [];
    case "note":
      return [meaning];
  }
}

function shaped(kind: NodeKind | "undo", lines: readonly string[]): string {
  const [open, close] = shapes[kind];
  return `${open}"${text(lines)}"${close}`;
}

function text(lines: readonly string[]): string {
  return lines.map((line) => escaped(clean(line))).join("<br/>");
}

/** Mermaid's own entities, so that no text is read as Markdown, HTML or the end of the text. */
function escaped(line: string): string {
  return line.replaceAll(/[^\p{L}\p{N} .,:;[\]()'/_-]/gu, (one) => `#${one.codePointAt(0)};`);
}

function classes(styles: ReadonlyMap<NodeStyle, readonly string[]>): readonly string[] {
  return [...styles].flatMap(([look, ids]) => {
    const { line, fill } = LIGHT[look];
    const dashes =
      look === "ahead"
        ? ",stroke-dasharray:5 3"
        : look === "left-out"
          ? ",stroke-dasharray:2 3"
          : "";
    const width = look === "moving" || look === "badly" || look === "person" ? 3 : 1;
    const name = look.replaceAll("-", "");
    return [
      `  classDef ${name} fill:${fill},stroke:${line},color:#111827,stroke-width:${width}px${dashes}`,
      `  class ${ids.join(",")} ${name}`,
    ];
  });
}
