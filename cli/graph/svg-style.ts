/**
 * The style of the SVG: colours for light and dark, and for each style a sign that needs no colour.
 */
import type { NodeStyle } from "./status.ts";

/** In a square of 12 pixels. */
export const SIGNS: Readonly<Record<NodeStyle, string>> = {
  ahead: "M6 1a5 5 0 1 0 .01 0Z",
  moving: "M2 1L11 6L2 11Z",
  waiting: "M2 1H10L2 11H10Z",
  trouble: "M10 3A5 5 0 1 0 11 7M11 0V4H7",
  person: "M6 0L12 12H0ZM6 4V8M6 9.5V11",
  well: "M1 6L5 10L11 2",
  badly: "M1 1L11 11M11 1L1 11",
  undone: "M4 1L1 4L4 7M1 4H8A3.5 3.5 0 0 1 8 11H4",
  "left-out": "M1 6H11",
};

interface Colours {
  readonly line: string;
  readonly fill: string;
}

const light: Readonly<Record<NodeStyle, Colours>> = {
  ahead: { line: "#6b7280", fill: "#ffffff" },
  moving: { line: "#1d4ed8", fill: "#dbeafe" },
  waiting: { line: "#0e7490", fill: "#cffafe" },
  trouble: { line: "#92400e", fill: "#fef3c7" },
  person: { line: "#a21caf", fill: "#fae8ff" },
  well: { line: "#166534", fill: "#dcfce7" },
  badly: { line: "#b91c1c", fill: "#fee2e2" },
  undone: { line: "#6d28d9", fill: "#ede9fe" },
  "left-out": { line: "#6b7280", fill: "#f3f4f6" },
};

const dark: Readonly<Record<NodeStyle, Colours>> = {
  ahead: { line: "#9ca3af", fill: "#111827" },
  moving: { line: "#93c5fd", fill: "#172554" },
  waiting: { line: "#67e8f9", fill: "#083344" },
  trouble: { line: "#fcd34d", fill: "#422006" },
  person: { line: "#f0abfc", fill: "#4a044e" },
  well: { line: "#86efac", fill: "#052e16" },
  badly: { line: "#fca5a5", fill: "#450a0a" },
  undone: { line: "#c4b5fd", fill: "#2e1065" },
  "left-out": { line: "#9ca3af", fill: "#1f2937" },
};

/** For formats that cannot follow the reader's system. */
export const LIGHT = light;

function coloursOf(of: Readonly<Record<NodeStyle, Colours>>): string {
  return Object.entries(of)
    .map(([look, { line, fill }]) => `.${look}{--line:${line};--fill:${fill}}`)
    .join("");
}

export const STYLE = [
  "svg{--paper:#fff;--ink:#111827;--faint:#4b5563;--line:#374151;--fill:#f9fafb}",
  coloursOf(light),
  "@media (prefers-color-scheme:dark){svg{--paper:#0b0f19;--ink:#f3f4f6;--faint:#b6bdc9;--line:#9ca3af;--fill:#1a2130}",
  coloursOf(dark),
  "}",
  ".paper{fill:var(--paper)}",
  "text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--ink)}",
  ".title{font-size:17px;font-weight:bold}.id{font-weight:bold}",
  ".does,.mark,.subtitle,.legend,.detail{fill:var(--faint)}.label{font-weight:bold;fill:var(--ink)}",
  ".state{font-weight:bold;fill:var(--line)}",
  ".box{fill:var(--fill);stroke:var(--line);stroke-width:1.5}.side{fill:none;stroke:var(--line)}",
  ".sign{fill:none;stroke:var(--line);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}",
  ".ahead .box{stroke-dasharray:5 3}.left-out .box{stroke-dasharray:2 3}",
  ".moving .box,.person .box,.badly .box{stroke-width:3}",
  ".edge{fill:none;stroke:var(--faint);stroke-width:1.3}.head{fill:var(--faint)}",
  ".last{stroke-dasharray:1 4;stroke-linecap:round}.undo-edge{stroke-dasharray:5 4}.head{stroke:none}",
].join("");
