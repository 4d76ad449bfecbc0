/**
 * The list of how-tos in docs/README.md, between two comments: the title of each page in
 * docs/how-to. The rest of the index is written by hand.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const BEGIN = "<!-- how-to: made by `node docs/generate.ts` from the titles in docs/how-to -->";
const END = "<!-- how-to: end -->";

/** The index with the list as it should be. */
export function withHowTos(index: string): string {
  const [before = "", rest = ""] = index.split(BEGIN);
  const [, after = ""] = rest.split(END);
  return `${before}${BEGIN}\n${links().join("")}${END}${after}`;
}

function links(): readonly string[] {
  return globSync("how-to/*.md", { cwd: import.meta.dirname })
    .sort()
    .map((path) => {
      const text = readFileSync(join(import.meta.dirname, path), "utf8");
      const [, title = path] = /^# (.+)$/m.exec(text) ?? [];
      return `- [${title}](${path})\n`;
    });
}
