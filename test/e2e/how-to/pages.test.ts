/** Every page of docs/how-to is played as it is written (page-player.ts has the rules). */
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, type TestContext, test } from "vitest";
import { makeTestFolder } from "../../support/global-postgres.ts";
import { makeNextVersion } from "../../support/next-version.ts";
import { createTestDatabase } from "../../support/postgres.ts";
import { preparePython } from "../../support/python-env.ts";
import { endForLack } from "../../support/required-tools.ts";
import { blocksOf, type PageSettings, pageMsMax, playPage, treeRoot } from "./page-player.ts";

type Prepare = (context: TestContext) => Promise<PageSettings>;

const PAGES: Readonly<Record<string, Prepare>> = {
  "ambiguous-payment": async () => ({}),
  "approve-with-a-form": async () => ({}),
  "from-conductor": async () => ({ server: "none" }),
  "from-step-functions": async () => ({ server: "none" }),
  "from-temporal": async (context) => {
    await needs(context, "go", "version");
    return { server: "none" };
  },
  "several-servers": async (context) => {
    await needs(context, "haproxy", "-v");
    return await withDatabase(context);
  },
  "start-a-run-in-your-transaction": async (context) => {
    await needs(context, "psql", "--version");
    await needs(context, "go", "version");
    return { programs: [await pythonPrograms(context)] };
  },
  "test-a-workflow": async (context) => {
    await needs(context, "go", "version");
    return { server: "none", programs: [await pythonPrograms(context)] };
  },
  "tune-detection": async () => ({}),
  "two-regions": withDatabase,
  upgrade: async (context) => ({ ...(await withDatabase(context)), programs: [nextProgram()] }),
};

for (const [page, prepare] of Object.entries(PAGES))
  test(`${page} works as it is written`, { timeout: pageMsMax }, async (context) => {
    await playPage(page, await prepare(context));
  });

describe("a page does not pass", () => {
  const broken = (from: string, to: string) =>
    playPage("from-conductor", {
      server: "none",
      edit(page) {
        expect(page).toContain(from);
        return page.replace(from, to);
      },
    });

  test("with a file that is refused", async () => {
    await expect(broken("needs: [fetch]", "needs: [fetched]")).rejects.toThrow("exit code 0");
  });

  test("with a scenario that fails", async () => {
    await expect(broken("delete-film: 3", "delete-film: 4")).rejects.toThrow("exit code 0");
  });

  test("with an output that differs", async () => {
    await expect(broken("4 scenarios, all", "5 scenarios, all")).rejects.toThrow("the page shows");
  });

  test("with a block that nothing runs", async () => {
    await expect(broken("```sh", "```ruby")).rejects.toThrow("nothing runs");
  });
});

test("the TypeScript of the pages has no type error", async () => {
  const folder = join(treeRoot, ".drover", `how-to-${process.pid}-types`);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const page of Object.keys(PAGES)) {
    const text = readFileSync(join(treeRoot, "docs/how-to", `${page}.md`), "utf8");
    mkdirSync(join(folder, page), { recursive: true });
    for (const block of blocksOf(text))
      if (block.fence === "ts") writeFileSync(join(folder, page, block.file ?? ""), block.text);
  }
  const config = { extends: "../../tsconfig.json", include: ["**/*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(treeRoot, "node_modules/.bin/tsc");
  const found = await promisify(execFile)(tsc, ["-p", folder]).catch((error: unknown) => error);
  expect(found).toMatchObject({ stdout: "" });
});

test("every page is played", () => {
  const pages = readdirSync(join(treeRoot, "docs/how-to")).filter((name) => name !== "README.md");
  expect(pages.map((name) => name.replace(".md", ""))).toEqual([...Object.keys(PAGES)].sort());
});

async function needs(context: TestContext, tool: string, version: string): Promise<void> {
  const found = await promisify(execFile)(tool, [version]).catch(() => null);
  if (found === null) endForLack(context, tool, `${tool} is not on this machine: CONTRIBUTING.md`);
}

/** A database of the page's own, and no server. */
async function withDatabase(context: TestContext): Promise<PageSettings> {
  await needs(context, "curl", "--version");
  const database = await createTestDatabase();
  // The processes of the page end first: hooks run in the opposite order.
  onTestFinished(() => database.drop());
  return { server: "none", env: { DATABASE_URL: database.connectionString } };
}

/** The folder of a Python that has what the pages import. */
async function pythonPrograms(context: TestContext): Promise<string> {
  const prepared = await preparePython(join(import.meta.dirname, "python-requirements.txt"));
  if (prepared.kind === "missing") return endForLack(context, "python3", prepared.why);
  return dirname(prepared.python);
}

/** A folder with `drover-next`: a copy of this version with further migrations. */
function nextProgram(): string {
  const folder = makeTestFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { program } = makeNextVersion(join(folder, "next"));
  const programs = join(folder, "programs");
  mkdirSync(programs);
  writeFileSync(join(programs, "drover-next"), `#!/bin/sh\nexec node ${program} "$@"\n`);
  chmodSync(join(programs, "drover-next"), 0o755);
  return programs;
}
