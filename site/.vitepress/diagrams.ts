// Mermaid blocks as pictures, drawn when the site is built: a reader's browser runs no library.
import { renderMermaidSVG } from "beautiful-mermaid";
import type { MarkdownRenderer } from "vitepress";

/** Colours of the theme, so that a picture follows it from light to dark. */
const COLOURS = { bg: "var(--vp-c-bg)", fg: "var(--vp-c-text-1)", transparent: true };

export function diagrams(md: MarkdownRenderer): void {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, at, ...rest) => {
    const token = tokens[at];
    if (token?.info.trim() !== "mermaid") return fence?.(tokens, at, ...rest) ?? "";
    // As a text: Vue leaves out the style of a picture that it renders itself.
    const picture = md.utils.escapeHtml(JSON.stringify(drawn(token.content)));
    return `<div class="diagram" tabindex="0" v-html="${picture}"></div>\n`;
  };
}

/** Of its own size: smaller, it could not be read, and is moved within its frame instead. */
const LEAST_SCALE = 0.65;

function drawn(text: string): string {
  const svg = renderMermaidSVG(text, COLOURS);
  const [, width = "0"] = /^<svg [^>]*\bwidth="([\d.]+)"/.exec(svg) ?? [];
  return (
    svg
      // Its style begins with an import of a font from another host.
      .replace(/@import url\([^)]*\);/, "")
      .replaceAll("'Inter', ", "")
      .replace('style="', `style="min-width:${Math.ceil(Number(width) * LEAST_SCALE)}px;`)
  );
}
