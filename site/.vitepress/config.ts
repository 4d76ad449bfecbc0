/**
 * The documentation site, by VitePress: the pages of docs/ and the READMEs that a user reads, as
 * they are in the repository. It is static, searched in the browser, and asks no other host.
 */
import { defineConfig } from "vitepress";
import { diagrams } from "./diagrams.ts";
import { sidebar } from "./navigation.ts";
import { address, excludedPaths, headingId, repositoryLinks } from "./pages.ts";

export default defineConfig({
  title: "Drover",
  description:
    "Multi-step jobs across unreliable services: each completes, is rolled back, or is escalated",
  // Pages link to each other by their paths in the repository, so its root is the root here too.
  srcDir: "..",
  srcExclude: [...excludedPaths],
  outDir: "dist",
  cacheDir: "../node_modules/.cache/vitepress",
  rewrites: address,
  cleanUrls: true,
  markdown: {
    anchor: { slugify: headingId },
    config: (md) => {
      md.use(repositoryLinks);
      md.use(diagrams);
    },
  },
  vite: { server: { watch: { ignored: ["**/.drover/**", "**/dist/**"] } } },
  themeConfig: {
    search: { provider: "local" },
    outline: { level: [2, 3] },
    sidebar: sidebar(),
    docFooter: { prev: false, next: false },
  },
});
