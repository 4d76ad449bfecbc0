/** Nodes as lines of text, for formats that lay out text themselves. */
import { clip } from "../words.ts";
import type { GraphNode, UndoNode } from "./workflow-graph.ts";

const lineShownMax = 60;

export function linesOf({ id, does, marks, standing }: GraphNode): readonly string[] {
  return [
    id,
    does,
    ...marks.map(({ label, text }) => `${label}: ${text}`),
    ...(standing ? [`[${standing.word}]`, ...standing.details] : []),
  ].map((line) => clip(line, lineShownMax));
}

export function undoLinesOf({ does, standing }: UndoNode): readonly string[] {
  return [does, ...(standing ? [`[${standing.word}]`, ...standing.details] : [])].map((line) =>
    clip(line, lineShownMax),
  );
}
