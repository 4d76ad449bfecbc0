/** What `--format` of a graph takes; apart from what draws them, which most commands never need. */
export const graphFormats = ["svg", "dot", "mermaid"] as const;
export type GraphFormat = (typeof graphFormats)[number];
