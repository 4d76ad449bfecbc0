// `npm run release:version`: the next version of all packages, by the changesets in `.changeset`.
// Each is a sentence of CHANGELOG.md then, and its file is gone. The packages of other languages
// follow those of npm, whose versions are changed by the changesets' own command.
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import readChangesets from "@changesets/read";
import { PLACES, theVersion, versionsFound } from "./versions.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

/** Files that the changesets' command does not know. */
const FOLLOWERS: typeof PLACES = [["package.json", /"version": "(.+)",/], ...PLACES];

function rewrite(file: string, change: (text: string) => string): void {
  const path = join(root, file);
  const before = readFileSync(path, "utf8");
  const after = change(before);
  if (after === before) throw new Error(`${file} has no place for the new version`);
  writeFileSync(path, after);
}

const changesets = await readChangesets(root);
if (changesets.length === 0)
  throw new Error("there is no changeset, so nothing to release: npm run changeset");
await run(process.execPath, [join(root, "node_modules/@changesets/cli/bin.js"), "version"], {
  cwd: root,
});
const version = versionsFound().get("proto/package.json");
if (version === undefined) throw new Error("proto/package.json has no version");
for (const [file, place] of FOLLOWERS)
  rewrite(file, (text) =>
    text.replace(place, (whole, before: string) => whole.replace(before, version)),
  );
const sentences = changesets.map(({ summary }) => `- ${summary.replaceAll("\n", "\n  ")}\n`);
const today = new Date().toISOString().slice(0, 10);
rewrite("CHANGELOG.md", (text) =>
  text.replace(/(?=^## )/m, `## [${version}]: ${today}\n\n${sentences.join("")}\n`),
);
await run("npm", ["install", "--package-lock-only", "--ignore-scripts"], { cwd: root });
process.stdout.write(`all packages have version ${theVersion()}: read CHANGELOG.md, and commit\n`);
