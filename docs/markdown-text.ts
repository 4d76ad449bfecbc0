// Plain text as Markdown: what is no code in it means nothing to Markdown, HTML or Vue.

/** The text of a comment or a description; `code` in it stays code. */
export function markdownText(text: string): string {
  return outsideCode(text, (part) => part.replace(/[<*\\]|\{(?=\{)/g, "\\$&"));
}

/** The same on one line, for a cell of a table: a bar would end it. */
export function cellText(text: string): string {
  return markdownText(text.trim())
    .replace(/\n\s*\n/g, "<br>")
    .replace(/\s*\n\s*/g, " ")
    .replaceAll("|", "\\|");
}

export function codeCell(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]) {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function outsideCode(text: string, change: (part: string) => string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 1 ? part : change(part)))
    .join("");
}
