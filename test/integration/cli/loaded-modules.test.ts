// The start of a command costs what it loads, and scripts start hundreds.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProgram } from "../../../cli/program.ts";
import { drover } from "../../support/drover-process.ts";

const recorder = fileURLToPath(new URL("../../support/loaded-modules.ts", import.meta.url));
const tree = new URL("../../../", import.meta.url).href;
const nowhere = ["--address", "127.0.0.1:1"];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "drover-loaded-"));
  writeFileSync(join(folder, "w.yaml"), "workflow: w\nsteps:\n  - id: a\n    task: t\n");
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Packages by name, and folders of the tree, as `server/store`. */
async function loadedBy(...args: string[]): Promise<readonly string[]> {
  const LOADED_MODULES = join(folder, "loaded.json");
  const env = { LOADED_MODULES };
  await drover(args, { env, cwd: folder, nodeOptions: ["--import", recorder] });
  const urls: unknown = JSON.parse(readFileSync(LOADED_MODULES, "utf8"));
  if (!Array.isArray(urls)) throw new Error("the recorder wrote no list");
  return [...new Set(urls.flatMap((url) => partOf(String(url))))].toSorted();
}

function partOf(url: string): readonly string[] {
  if (!url.startsWith("file:")) return [];
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  return [name ?? url.slice(tree.length).split("/").slice(0, 2).join("/")];
}

describe("the words of the program", () => {
  it("are listed by its help as they are when all of them are loaded", async () => {
    const ended = () => undefined;
    const [outline, whole] = await Promise.all([
      createProgram("0", ended, ["--help"]),
      createProgram("0", ended),
    ]);
    expect(outline.helpInformation()).toBe(whole.helpInformation());
  });

  it("have their verbs where a noun is typed, wherever that is", async () => {
    const args = ["--address", "127.0.0.1:1", "run", "list"];
    const { commands } = await createProgram("0", () => undefined, args);
    const withVerbs = commands.filter((noun) => noun.commands.length > 0);
    expect(withVerbs.map((noun) => noun.name())).toEqual(["run"]);
  });
});

describe("a command loads no more than it needs:", () => {
  it.each([["--help"], ["--version"]])("drover %s nothing but its words", async (flag) => {
    expect(await loadedBy(flag)).toEqual([
      "cli/bin",
      "cli/examples.ts",
      "cli/failure.ts",
      "cli/global-options.ts",
      "cli/main.ts",
      "cli/nouns.ts",
      "cli/program.ts",
      "commander",
    ]);
  });

  it("and keeps what was compiled only where there is room for it", async () => {
    const { code, stdout } = await drover(["--version"], {
      env: { TMPDIR: join(folder, "w.yaml") },
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d/) });
  });

  it("drover run list no server, no database, no YAML and no drawing", async () => {
    const loaded = await loadedBy("run", "list", ...nowhere);
    expect(loaded).toContain("@connectrpc/connect");
    const heavy = ["yaml", "pg", "kysely", "@grpc/grpc-js", "@dagrejs/dagre", "server/core"];
    for (const name of [...heavy, "@modelcontextprotocol/server", "zod"])
      expect(loaded).not.toContain(name);
  });

  it("drover run list -o yaml writes YAML, and loads it for that", async () => {
    expect(await loadedBy("run", "list", "-o", "yaml", ...nowhere)).toContain("yaml");
  });

  it("drover mcp its protocol and a client, and no server before a definition is checked", async () => {
    const loaded = await loadedBy("mcp", "--read-only", ...nowhere);
    expect(loaded).toContain("@modelcontextprotocol/server");
    for (const heavy of ["pg", "kysely", "yaml", "server/core", "server/store", "server/main.ts"])
      expect(loaded).not.toContain(heavy);
  });

  it("drover workflow check the rules of the server, and nothing of its store or its port", async () => {
    const loaded = await loadedBy("workflow", "check", "w.yaml");
    expect(loaded).toContain("server/core");
    for (const heavy of ["pg", "kysely", "@grpc/grpc-js", "server/store", "server/main.ts"])
      expect(loaded).not.toContain(heavy);
  });
});
