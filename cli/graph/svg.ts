/**
 * A graph of a workflow as one self-contained SVG file: text, shapes, a legend, and colours for
 * dark and light mode of the reader's system. The same graph gives the same bytes.
 */
import { LINE_HEIGHT, PADDING, type TextLine, textWidth } from "./boxes.ts";
import { type Direction, type PlacedBox, type PlacedEdge, type Point, placed } from "./layout.ts";
import { legendOf, type Sample } from "./legend.ts";
import type { NodeKind } from "./marks.ts";
import { SIGNS, STYLE } from "./svg-style.ts";
import type { GraphNode, WorkflowGraph } from "./workflow-graph.ts";

const margin = 24;
const headHeight = 46;
const sampleHeight = 26;
const legendWidthMin = 560;

export function svgOf(graph: WorkflowGraph): string {
  const { direction, nodes, edges, undoEdges, ...size } = placed(graph);
  const samples = legendOf(graph);
  const columns = legendColumns(samples, Math.max(size.width, legendWidthMin));
  const width = Math.ceil(Math.max(size.width, columns.width, headWidth(graph)) + 2 * margin);
  const legendTop = headHeight + size.height + 2 * margin;
  const height = Math.ceil(legendTop + columns.height + margin);
  const name = graph.subtitle === "" ? graph.title : `${graph.title}, ${graph.subtitle}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${xml(name)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    textAt({ x: margin, y: margin + 10 }, "title", graph.title),
    textAt({ x: margin, y: margin + 30 }, "subtitle", graph.subtitle),
    `<g transform="translate(${margin} ${headHeight + margin})">`,
    ...edges.map((edge) => edgePath(edge, direction)),
    ...undoEdges.map(([from, to]) => line(from, to, "undo-edge")),
    ...nodes.flatMap(({ node, box, undo }) => [
      nodeGroup(node, box),
      ...(undo && node.undo ? [group(undo, "undo", node.undo.does)] : []),
    ]),
    "</g>",
    `<g transform="translate(${margin} ${legendTop})">`,
    ...columns.drawn,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/**
 * Escapes text between tags and in attributes; control characters are not allowed in XML at all.
 */
export function xml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function headWidth({ title, subtitle }: WorkflowGraph): number {
  return Math.max(textWidth(title) * 1.4, textWidth(subtitle));
}

function nodeGroup(node: GraphNode, box: PlacedBox): string {
  const { id, does, marks, status } = node;
  const lines = [
    id,
    does,
    ...marks.map(({ label, text }) => `${label} ${text}`),
    ...(status ? [status.word, ...status.details] : []),
  ];
  return group(box, node.kind, lines.join("\n"));
}

type Shape = NodeKind | "undo";

function group(box: PlacedBox, shape: Shape, lines: string): string {
  const look = box.status === null ? "" : ` ${box.status}`;
  return [
    `<g class="node ${shape}${look}" transform="translate(${at(box.x)} ${at(box.y)})">`,
    `<title>${xml(lines)}</title>`,
    shapeOf(shape, box.width, box.height),
    ...box.lines.map((line, no) => textLine(line, no, box)),
    "</g>",
  ].join("");
}

/** Each kind has its own outline, so that kinds differ without colours. */
export function shapeOf(shape: Shape, width: number, height: number): string {
  const rect = (radius: number) =>
    `<rect class="box" width="${width}" height="${height}" rx="${radius}"/>`;
  const cut = 9;
  switch (shape) {
    case "wait":
      return rect(Math.min(height / 2, 22));
    case "signal":
      return `<path class="box" d="M0 0H${width - cut}L${width} ${height / 2}L${width - cut} ${height}H0Z"/>`;
    case "approval":
      return `<path class="box" d="M${cut} 0H${width - cut}L${width} ${cut}V${height - cut}L${width - cut} ${height}H${cut}L0 ${height - cut}V${cut}Z"/>`;
    case "run":
      return `${rect(3)}<path class="side" d="M5 0V${height}M${width - 5} 0V${height}"/>`;
    case "map":
      return `<rect class="box behind" x="5" y="5" width="${width}" height="${height}" rx="4"/>${rect(4)}`;
    case "undo":
      return `<path class="box" d="M0 0H${width - cut}L${width} ${cut}V${height}H0Z"/><path class="side" d="M${width - cut} 0V${cut}H${width}"/>`;
    default:
      return rect(4);
  }
}

function textLine({ look, label, text }: TextLine, no: number, box: PlacedBox): string {
  const y = PADDING + 10 + no * LINE_HEIGHT;
  const before = label === "" ? "" : `<tspan class="label">${xml(label)}</tspan> `;
  const sign =
    look === "state" && box.status !== null
      ? `<path class="sign" transform="translate(${PADDING} ${y - 10})" d="${SIGNS[box.status]}"/>`
      : "";
  const x = sign === "" ? PADDING : PADDING + 18;
  return `${sign}<text class="${look}" x="${x}" y="${y}">${before}${xml(text)}</text>`;
}

/** The path leaves and enters boxes straight, in the direction of the drawing. */
function edgePath({ points, kind }: PlacedEdge, direction: Direction): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (!first || !last) return "";
  const isDown = direction === "down";
  const stop = isDown
    ? { x: last.x, y: last.y - headLength }
    : { x: last.x - headLength, y: last.y };
  const curves = [...rest.slice(0, -1), stop].map((to, no) => {
    const from = points[no] ?? first;
    const middle = isDown ? (from.y + to.y) / 2 : (from.x + to.x) / 2;
    const bends = isDown
      ? [
          { x: from.x, y: middle },
          { x: to.x, y: middle },
        ]
      : [
          { x: middle, y: from.y },
          { x: middle, y: to.y },
        ];
    return `C${[...bends, to].map(pair).join(" ")}`;
  });
  return `<path class="edge ${kind}" d="M${pair(first)}${curves.join("")}"/>${head(stop, last, kind)}`;
}

function line(from: Point, to: Point, name: string): string {
  return `<path class="edge ${name}" d="M${pair(from)}L${pair(to)}"/>${head(from, to, name)}`;
}

const headLength = 8;

/** The arrow head is drawn as a path: not every viewer of SVG supports markers. */
function head(before: Point, tip: Point, name: string): string {
  const length = Math.hypot(tip.x - before.x, tip.y - before.y) || 1;
  const along = (tip.x - before.x) / length;
  const across = (tip.y - before.y) / length;
  const corner = (side: number) => ({
    x: tip.x - headLength * along + (side * headLength * across) / 2,
    y: tip.y - headLength * across - (side * headLength * along) / 2,
  });
  return `<path class="head ${name}" d="M${pair(tip)}L${pair(corner(1))}L${pair(corner(-1))}Z"/>`;
}

/** Samples side by side, as many as fit. */
function legendColumns(samples: readonly Sample[], widthMax: number) {
  const widest = Math.max(...samples.map(({ text }) => textWidth(text))) + 64;
  const columns = Math.max(1, Math.floor(widthMax / widest));
  const drawn = samples.map((sample, no) => {
    const x = (no % columns) * widest;
    const y = Math.floor(no / columns) * sampleHeight;
    return `<g transform="translate(${at(x)} ${at(y)})">${sampleDrawing(sample)}${textAt({ x: 44, y: 14 }, "legend", sample.text)}</g>`;
  });
  return {
    drawn,
    width: Math.min(columns, samples.length) * widest,
    height: Math.ceil(samples.length / columns) * sampleHeight,
  };
}

function sampleDrawing({ of }: Sample): string {
  switch (of.kind) {
    case "shape":
      return `<g class="node ${of.shape}">${shapeOf(of.shape, 34, 18)}</g>`;
    case "look":
      return `<g class="node ${of.look}"><rect class="box" width="34" height="18" rx="4"/><path class="sign" transform="translate(11 3)" d="${SIGNS[of.look]}"/></g>`;
    case "edge":
      return line({ x: 0, y: 9 }, { x: 34, y: 9 }, of.edge);
    case "note":
      return "";
  }
}

function textAt({ x, y }: Point, name: string, text: string): string {
  return text === "" ? "" : `<text class="${name}" x="${x}" y="${y}">${xml(text)}</text>`;
}

function pair({ x, y }: Point): string {
  return `${at(x)} ${at(y)}`;
}

/** Rounded to tenths of a pixel. */
function at(value: number): string {
  return String(Math.round(value * 10) / 10);
}
