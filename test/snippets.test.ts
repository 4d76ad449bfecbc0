/**
 * What the pages show to be copied is true: each fenced block is run by a test of its page, or
 * checked here by its language. A block that no test knows fails.
 */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { renderMermaidSVG } from "beautiful-mermaid";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { theVersion } from "../release/versions.ts";
import { createClientIdentities } from "../server/api/auth/client-identities.ts";
import { createRequestCheck } from "../server/api/calls/request-check.ts";
import { definitionOfText } from "../server/api/workflow/definition-source.ts";
import { RPC_DEFAULTS } from "../server/rpc-config.ts";
import { problemOfLine } from "./support/drover-line.ts";
import { blocksOf, type FencedBlock, fencedBlocks } from "./support/fenced-blocks.ts";
import { handClock } from "./support/hand-clock.ts";
import { createTestDatabase, type TestDatabase } from "./support/postgres.ts";
import { endForLack } from "./support/required-tools.ts";
import { shellCommands } from "./support/shell-commands.ts";
import { treeRoot } from "./support/tree.ts";

/** Blocks that a test of their page runs as they are there, by language. */
const RUN: readonly (readonly [page: RegExp, languages: string, by: string])[] = [
  [/^docs\/TUTORIAL\.md$/, "sh yaml ts text", "test/e2e/tutorial.test.ts"],
  [/^docs\/how-to\//, "sh yaml ts json sql go python text", "test/e2e/how-to/pages.test.ts"],
  [/^docs\/(?:WORKFLOWS|TRIGGERS)\.md$/, "yaml", "test/docs.test.ts"],
  [/^docs\/TESTING\.md$/, "yaml text", "test/docs.test.ts"],
  [/^docs\/SCHEDULES\.md$/, "sh", "test/integration/cli/schedule.test.ts"],
  [/^README\.md$/, "yaml ts", "test/docs.test.ts"],
  [/^docs\/KUBERNETES\.md$/, "yaml", "test/e2e/helm-chart.test.ts"],
  [/^docs\/READY-AGENTS\.md$/, "yaml", "test/e2e/ready-agents.test.ts"],
  [/^sdk\/typescript\/README\.md$/, "ts", "test/e2e/sdk-readme.test.ts"],
  [/^sdk\/java\/README\.md$/, "java", "test/e2e/java-sdk.test.ts"],
  [/^sdk\/python\/README\.md$/, "python", "sdk/python/tests/test_readme.py"],
  [/^agents-examples\/(?!stubs)\w+\/README\.md$/, "yaml text", "test/support/story-run.ts"],
];

/** Blocks that show what a program prints, and that no test compares; with their number. */
const OUTPUTS: Readonly<Record<string, number>> = { "docs/TRACES.md": 3 };

/** Languages with a check below. */
const CHECKED = ["xml", "sh", "yaml", "json", "ts", "python", "go", "sql", "ini", "mermaid"];

const all = fencedBlocks();
const isRun = ({ page, language }: FencedBlock) =>
  RUN.some(([pages, languages]) => pages.test(page) && languages.split(" ").includes(language));
const left = (language: string) => all.filter((one) => one.language === language && !isRun(one));
const named = (blocks: readonly FencedBlock[]) =>
  blocks.map((block) => [`${block.page}:${block.line}`, block] as const);

describe("every block", () => {
  test("is found, with its language and its line", () => {
    const text = "a\n\n```sh\nls\n```\n\n  ```yaml x\n  a: 1\n  ```\n\n```\nb\n```\n";
    expect(blocksOf("x.md", text)).toEqual([
      { page: "x.md", line: 3, language: "sh", text: "ls\n" },
      { page: "x.md", line: 7, language: "yaml", text: "a: 1\n" },
      { page: "x.md", line: 11, language: "", text: "b\n" },
    ]);
    expect(all.length).toBeGreaterThan(200);
  });

  test("is run by a test, checked by its language, or listed as an output", () => {
    const unknown = all.filter(
      (one) => !isRun(one) && !CHECKED.includes(one.language) && !(one.page in OUTPUTS),
    );
    const help = "name its language after the fence; a new one needs a check in this file";
    expect(
      named(unknown).map(([where]) => where),
      help,
    ).toEqual([]);
  });

  test("that is an output is counted", () => {
    const outputs = Map.groupBy(left("text"), ({ page }) => page);
    expect(Object.fromEntries([...outputs].map(([page, of]) => [page, of.length]))).toEqual(
      OUTPUTS,
    );
  });

  test("that a test runs has that test", () => {
    for (const [pages, , by] of RUN)
      if (all.some(({ page }) => pages.test(page)))
        expect(existsSync(join(treeRoot, by)), by).toBe(true);
  });
});

describe("commands of a shell", () => {
  const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(treeRoot, "package.json"), "utf8"),
  );
  const folders = readdirSync(treeRoot, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

  async function problemsOf([program = "", ...words]: readonly string[]) {
    const problems: string[] = [];
    const command = program === "npx" ? (words[0] ?? "") : program;
    const args = program === "npx" ? words.slice(1) : words;
    if (command === "drover") {
      const problem = await problemOfLine(args);
      if (problem !== null) problems.push(`drover ${args.join(" ")}: ${problem}`);
    } else if (program === "npx" && !existsSync(join(treeRoot, "node_modules/.bin", command)))
      problems.push(`npx ${command}: there is no such program`);
    const script = program === "npm" && args[0] === "run" ? args.find((one) => one in scripts) : "";
    if (script === undefined) problems.push(`npm ${args.join(" ")}: there is no such script`);
    for (const word of args) {
      const [folder = ""] = word.replace(/^\.\//, "").split("/");
      const path = word.replace(/\[\w+\]$/, "").replace(/\/?\*.*$/, "");
      if (word.includes("/") && folders.includes(folder) && !existsSync(join(treeRoot, path)))
        problems.push(`${path}: there is no such file`);
    }
    return problems;
  }

  test.each([
    ["drover run cancle key:a", /run has no verb cancle/],
    ["npx drover run start w --wach", /start has no option --wach/],
    ["drover run cancel a b c", /takes .* arguments/],
    ['psql "$(drover db ulr)" -c x', /db has no verb ulr/],
    ["A=1 drover nowhere && true", /has no verb nowhere/],
    ["npm run nothing", /no such script/],
    ["sh sdk/nothing.sh", /sdk\/nothing\.sh: there is no such file/],
  ])("%s is refused", async (line, says) => {
    const problems = await Promise.all(shellCommands(line).map(problemsOf));
    expect(problems.flat().join()).toMatch(says);
  });

  test("are the words that a shell makes of them", () => {
    const text = 'A=1 x \'b c\' "d e" \\\n  f  # g\nh | i > j && k "$(l m)"';
    expect(shellCommands(text)).toEqual([
      ["x", "b c", "d e", "f"],
      ["h"],
      ["i"],
      ["l", "m"],
      ["k", "$(l m)"],
    ]);
  });

  test.for(named(all.filter(({ language }) => language === "sh")))(
    "%s has commands, options and files that exist",
    async ([, { text }]) => {
      const problems = await Promise.all(shellCommands(text).map(problemsOf));
      expect(problems.flat()).toEqual([]);
    },
  );
});

describe("data", () => {
  test.for(named(left("yaml")))("%s is read by the server", ([, { page, text }]) => {
    const value: unknown = parse(text);
    const keys = Object.keys(typeof value === "object" && value !== null ? value : {});
    if (keys.includes("workflow"))
      expect(definitionOfText(text, createRequestCheck(RPC_DEFAULTS), () => []).steps).not.toEqual(
        [],
      );
    else {
      expect(keys, `${page}: a new kind of YAML needs a check here`).toEqual(["identities"]);
      const file = join(scratch("identities"), "identities.yaml");
      writeFileSync(file, text);
      const log = { info: unheard, warn: unheard, error: unheard };
      createClientIdentities(file, { clock: handClock(), log });
    }
  });

  test.for(named(left("json")))("%s is JSON", ([, { text }]) => {
    JSON.parse(text);
  });

  test.for(named(left("mermaid")))("%s can be drawn", ([, { text }]) => {
    expect(renderMermaidSVG(text)).toMatch(/^<svg /);
  });
});

describe("programs", () => {
  test("in TypeScript compile", async () => {
    const folder = scratch("types");
    for (const [no, { text }] of left("ts").entries())
      writeFileSync(join(folder, `block-${no}.ts`), `${text}\nexport {};\n`);
    const config = { extends: "../../tsconfig.json", include: ["*.ts"] };
    const unused = { noUnusedLocals: false, noUnusedParameters: false };
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ ...config, compilerOptions: unused }),
    );
    const tsc = join(treeRoot, "node_modules/typescript/bin/tsc");
    await promisify(execFile)(process.execPath, [tsc, "-p", folder]);
  });

  test.for(named(left("python")))("%s is Python", ([, { text }], context) => {
    if (!runs("python3", ["--version"])) endForLack(context, "python3", "python3 is not here");
    execFileSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], {
      input: text,
    });
  });

  test.for(named(left("go")))("%s is Go", ([, { text }], context) => {
    // A part of a program is formatted, too.
    if (!runs("gofmt", ["-h"])) endForLack(context, "go", "gofmt is not here");
    execFileSync("gofmt", ["-e"], { input: text, stdio: "pipe" });
  });
});

test("a dependency of Maven has the version of this commit", () => {
  const blocks = left("xml");
  expect(blocks.length).toBeGreaterThan(0);
  for (const { text } of blocks) expect(text).toContain(`<version>${theVersion()}</version>`);
});

describe("what PostgreSQL reads", () => {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    // Who makes roles and grants rights is an administrator.
    const url = new URL(inject("testAdminUrl"));
    url.pathname = new URL(database.connectionString).pathname;
    client = new Client({ connectionString: url.href });
    await client.connect();
  });
  afterAll(async () => {
    await client?.end();
    await database?.drop();
  });

  /** A statement about a role: it does nothing if the role is there, or is not, as it should be. */
  const about = (statement: string) =>
    `do $$ begin ${statement}; exception when duplicate_object or undefined_object then null; end $$`;

  test.for(named(left("sql")))("%s is accepted, over the real schema", async ([, { text }]) => {
    await client.query("begin");
    try {
      if (/^create schema drover/m.test(text)) await client.query("drop schema drover cascade");
      for (const [, role = ""] of text.matchAll(/\bcreate role (\w+)/g))
        await client.query(about(`alter role ${role} rename to ${role}_before`));
      for (const [, role = ""] of text.matchAll(/(?:\bto |\balter role )(\w+)/g))
        await client.query(about(`create role ${role}`));
      // What PostgreSQL refuses within a transaction is left out.
      await client.query(text.replace(/^create database .*$/gm, ""));
    } finally {
      await client.query("rollback");
    }
  });

  test.for(named(left("ini")))("%s has settings of PostgreSQL", async ([, { text }]) => {
    const names = [...text.matchAll(/^(\w+) = /gm)].map(([, name]) => name);
    const { rows } = await client.query("select name from pg_settings where name = any($1)", [
      names,
    ]);
    expect(rows.map(({ name }) => name).sort()).toEqual([...names].sort());
  });
});

function unheard(): never {
  return expect.unreachable();
}

/** A folder of this test within the tree, where imports of packages lead somewhere. */
function scratch(name: string): string {
  const folder = join(treeRoot, ".drover", `snippets-${process.pid}-${name}`);
  mkdirSync(folder, { recursive: true });
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function runs(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch (error) {
    return !(error instanceof Error && Reflect.get(error, "code") === "ENOENT");
  }
}
