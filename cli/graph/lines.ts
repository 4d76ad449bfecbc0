/** Nodes as lines of text, for formats that lay out text themselves. */
import { clip } from "../words.ts";
import type { GraphNode, UndoNode } from "./workflow-graph.ts";

const lineShownMax = 60;

export function linesOf({ id, does, marks, status }: GraphNode): readonly string[] {
  return [
    id,
    does,
    ...marks.map(({ label, text }) => `${label}: ${text}`),
    ...(status ? [`[${status.word}]`, ...status.details] : []),
  ].map((line) => clip(line, lineShownMax));
}

export function undoLinesOf({ does, status }: UndoNode): readonly string[] {
  return [does, ...(status ? [`[${status.word}]`, ...status.details] : [])].map((line) =>
    clip(line, lineShownMax),
  );
}
