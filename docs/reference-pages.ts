/** All pages of docs/reference, which is generated as a whole. */
import { join } from "node:path";
import { apiPages } from "./api-pages.ts";
import { contractFiles } from "./contract-files.ts";
import { errorPages } from "./errors-pages.ts";
import { settingsPage } from "./settings-page.ts";

export const referenceFolder = join(import.meta.dirname, "reference");

/** By their paths in the folder. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const files = contractFiles();
  const within = (folder: string, pages: ReadonlyMap<string, string>) =>
    [...pages].map(([name, text]) => [`${folder}/${name}`, text] as const);
  return new Map([
    ["SETTINGS.md", await settingsPage()],
    ...within("api", apiPages(files)),
    ...within("errors", errorPages(files)),
  ]);
}
