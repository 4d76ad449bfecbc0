/** Nodes as boxes of text: their lines, and their size in a fixed-width font. */
import { clean, clip } from "../words.ts";
import type { NodeStyle, StateView } from "./status.ts";
import type { GraphNode, UndoNode } from "./workflow-graph.ts";

export interface TextLine {
  readonly look: "id" | "does" | "mark" | "state" | "detail";
  /** Precedes the text, set apart; empty: no label. */
  readonly label: string;
  readonly text: string;
}

export interface Box {
  readonly lines: readonly TextLine[];
  /** null: no run is drawn, or the run does not have this node. */
  readonly status: NodeStyle | null;
  readonly width: number;
  readonly height: number;
}

export const LINE_HEIGHT = 17;
export const PADDING = 11;
/** A little wider than the widest common fixed-width font at 12 pixels. */
const characterWidth = 7.3;
const lineShownMax = 46;
const widthMin = 110;
/** Room for the sign right of the state's word. */
const signWidth = 20;

export function boxOfStep({ id, does, marks, status }: GraphNode): Box {
  const lines: TextLine[] = [
    plain("id", id),
    plain("does", does),
    ...marks.map(({ label, text }) => ({ look: "mark" as const, ...line(label, text) })),
    ...statusLines(status),
  ];
  return boxOf(lines, status?.look ?? null);
}

export function boxOfUndo({ does, status }: UndoNode): Box {
  return boxOf([plain("does", does), ...statusLines(status)], status?.look ?? null);
}

function statusLines(status: StateView | null): readonly TextLine[] {
  if (status === null) return [];
  return [plain("state", status.word), ...status.details.map((detail) => plain("detail", detail))];
}

function boxOf(lines: readonly TextLine[], status: NodeStyle | null): Box {
  const widest = Math.max(...lines.map(widthOf));
  return {
    lines,
    status,
    width: Math.ceil(Math.max(widest, widthMin) + 2 * PADDING),
    height: Math.ceil(lines.length * LINE_HEIGHT + 2 * PADDING - 5),
  };
}

function plain(look: TextLine["look"], text: string): TextLine {
  return { look, ...line("", text) };
}

function line(label: string, text: string): Pick<TextLine, "label" | "text"> {
  return { label, text: clip(clean(text), lineShownMax - label.length) };
}

function widthOf({ look, label, text }: TextLine): number {
  const gap = label === "" ? 0 : 1;
  return (
    textWidth(label) + textWidth(text) + gap * characterWidth + (look === "state" ? signWidth : 0)
  );
}

/** East Asian characters and emoji take two columns. */
export function textWidth(text: string): number {
  const columns = [...text].map((one) => ((one.codePointAt(0) ?? 0) >= 0x11_00 ? 2 : 1));
  return columns.reduce((sum, one) => sum + one, 0) * characterWidth;
}
