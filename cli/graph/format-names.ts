/**
 * The values of `--format` of a graph, separate from the code that draws, which most commands never
 * load.
 */
export const graphFormats = ["svg", "dot", "mermaid"] as const;
export type GraphFormat = (typeof graphFormats)[number];
