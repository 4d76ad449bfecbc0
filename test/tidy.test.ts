/**
 * The tree keeps its own rules: layers, bans, sizes, names, texts, and that what is generated is up
 * to date. Each rule is shown small bad examples first, since one that cannot fail is no rule.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { statesPage } from "../docs/generate.ts";
import { scenariosPage, scenariosSchemaText } from "../docs/scenarios-page.ts";
import { workflowSchemaText } from "../docs/workflow-schema.ts";
import { isHandwritten, readTree, type SourceFile, scan, treeRoot } from "./support/tree.ts";
import { brokenLayers, type Finding } from "./support/tree-layers.ts";
import { brokenDependencies, deadExports, deadFiles } from "./support/tree-packages.ts";
import {
  brokenBans,
  brokenHeaders,
  brokenNames,
  brokenRemarks,
  brokenSizes,
  brokenStatements,
  brokenTexts,
} from "./support/tree-rules.ts";

const tree = readTree();
const run = promisify(execFile);

/** What a rule says about a file that is not there. */
type Example = readonly [what: string, path: string, text: string, says: RegExp];

function rule(name: string, check: (file: SourceFile) => readonly Finding[], examples: Example[]) {
  describe(name, () => {
    test.each(examples)("finds %s", (_what, path, text, says) => {
      expect(check({ path, text }).join("\n")).toMatch(says);
    });

    test("holds for every file", () => {
      expect(tree.flatMap(check)).toEqual([]);
    });
  });
}

function inLayers({ path }: SourceFile): boolean {
  return !path.startsWith("test/") && path !== "vitest.config.ts";
}

rule(
  "dependencies flow one way",
  (file) => (isHandwritten(file) && inLayers(file) ? brokenLayers(file) : []),
  [
    [
      "a rule of core that asks the store",
      "server/core/decide.ts",
      'import type { Store } from "../store/store.ts";',
      /^server\/core\/decide\.ts:1 imports server\/store\/store\.ts: .*hand the fact in/,
    ],
    [
      "a rule of core that asks the machine",
      "server/core/recovery/retry.ts",
      '// A header.\nimport { hostname } from "node:os";',
      /retry\.ts:2 imports node:os/,
    ],
    [
      "a store that calls a role",
      "server/store/postgres/tx.ts",
      'import { createPlans } from "../../scheduler/advance.ts";',
      /decides nothing/,
    ],
    [
      "a role that reaches into another one",
      "server/supervisor/timers.ts",
      'import type { Waiters } from "../dispatch/waiters.ts";',
      /submit an event to scheduler\/advance\.ts/,
    ],
    [
      "a role that picks its own store",
      "server/dispatch/claims.ts",
      'import { createTx } from "../store/postgres/tx.ts";',
      /imports server\/store\/postgres\/tx\.ts/,
    ],
    [
      "protobuf beyond the edge, also when it is imported later",
      "server/scheduler/schedule.ts",
      'const pb = await import("@drover/proto/drover/v1/run_pb.ts");',
      /imports proto\/gen\/ts\/drover\/v1\/run_pb\.ts/,
    ],
    [
      "an edge that knows how claims work",
      "server/api/agent/agent-service.ts",
      'import {\n  createClaims,\n} from "../../dispatch/claims.ts";',
      /widen one of them/,
    ],
    [
      "an SDK that needs the server",
      "sdk/typescript/client.ts",
      'export { DroverError } from "@drover/server/errors.ts";',
      /contract alone/,
    ],
    [
      "an example that needs the server",
      "agents-examples/holiday/agents/car-agent.ts",
      'import "@drover/server/main.ts";',
      /imports server\/main\.ts: .*import @drover\/sdk/,
    ],
    [
      "a logger that is used where only its type may be",
      "server/supervisor/timers.ts",
      'import { pino } from "pino";',
      /imports pino/,
    ],
    ["a file in a new place", "server/helpers/x.ts", "", /belongs to no layer/],
  ],
);

rule("time, chance and the console have their modules", brokenBans, [
  ["the clock of the machine", "server/loop.ts", "const at = Date.now();", /take a Clock/],
  ["a date of now", "server/core/pass.ts", "const at = new Date();", /take a Clock/],
  ["a timer", "sdk/typescript/polls.ts", "setTimeout(poll, 5);", /Clock\.after/],
  ["chance", "server/core/recovery/retry.ts", "const j = Math.random();", /with the event/],
  ["random bytes", "server/dispatch/token.ts", "const s = randomBytes(16);", /take a Random/],
  ["a print", "server/main.ts", 'console.log("up");', /main\.ts:1 writes to the console/],
  ["an any", "server/main.ts", "const x = y as any;", /say `unknown`/],
  ["a default export", "server/main.ts", "export default 1;", /by its name/],
  ["a spread literal", "server/x.ts", "const a = { ...{ b, c } };", /where they belong/],
  ["a tuple of names", "cli/x.ts", "const [a, b] = [1, 2];", /its own line/],
  ["an enum", "server/main.ts", "enum Kind { A }", /union of strings/],
  ["a word that was given up", "server/x.ts", "const nextFlight = 1;", /use the standard term/],
  ["a barrel", "sdk/typescript/index.ts", 'export * from "./agent.ts";', /name what is passed/],
]);

test("what comments and strings say is no call, what a template computes is one", () => {
  const text =
    'const a = "Date.now()"; // Date.now()\nconst b = /"/; const c = `$' + "{Date.now()}`;";
  expect(brokenBans({ path: "server/x.ts", text })).toEqual([
    "server/x.ts:2 reads the clock of this machine: take a Clock (clock.ts); due times are the database's, from Tx.now",
  ]);
});

rule("nothing is silenced, and nothing is left without an issue", brokenRemarks, [
  ["a silenced compiler", "server/x.ts", `// @${"ts"}-expect-error it is wrong`, /silences/],
  ["a loose end", "cli/x.ts", `const a = 1; // ${"TO"}DO later`, /name the issue/],
]);

const longBody = "  run();\n".repeat(80);

rule("what is read at once is short", brokenSizes, [
  ["a long file", "server/x.ts", "a();\n".repeat(501), /x\.ts:501 goes on to line 501/],
  ["a long statement file", "server/store/postgres/sql/x.sql", "-- a\n".repeat(600), /line 600/],
  ["a long comment", "server/x.ts", `// ${"word ".repeat(25)}`, /x\.ts:1 has 12[78] columns/],
  ["a long function", "server/x.ts", `function a() {\n${longBody}}\n`, /function of 82 lines/],
  ["a long arrow", "cli/x.ts", `const a = () => {\n${longBody}};\n`, /function of 82 lines/],
  [
    "a long function with a long signature",
    "server/x.ts",
    `export async function a(\n  b: string,\n): Promise<void> {\n${longBody}}\n`,
    /x\.ts:1 is a function of 84 lines/,
  ],
  ["a long method", "cli/x.ts", `const a = {\n  b() {\n${longBody}  },\n};\n`, /x\.ts:2 is/],
]);

test("a factory is as long as all that it holds; a describe holds its tests", () => {
  const inner = (name: string) => `  function ${name}() {\n${"    run();\n".repeat(50)}  }\n`;
  const text = `function createX() {\n${inner("a")}${inner("b")}  return { a, b };\n}\n`;
  expect(brokenSizes({ path: "server/x.ts", text }).join()).toMatch(/function of 107 lines/);
  expect(brokenSizes({ path: "test/support/x.ts", text })).toEqual([]);
});

test("a text may be as long as it must be", () => {
  const text = `const a =\n  "${"word ".repeat(40)}";\n`;
  expect(brokenSizes({ path: "server/x.ts", text })).toEqual([]);
});

rule("files are named after what they hold", brokenNames, [
  ["capitals", "server/RunStore.ts", "", /kebab-case/],
  ["a name that fits anything", "server/store-utils.ts", "", /what it holds/],
  ["a name that fits anything by itself", "cli/common.ts", "", /what it holds/],
  ["a word that was given up", "server/flight-size.ts", "", /use the standard term/],
]);

rule("files begin with a map", brokenHeaders, [
  ["a file without one", "server/x.ts", 'import { a } from "./a.ts";', /say what the file is/],
]);

rule("texts are the same on every machine", brokenTexts, [
  ["a registry", "docs/x.md", `from ${"registry"}.example.com`, /package registry/],
  ["a home folder", "README.md", `cd ${"/home"}/ann/drover`, /path of one machine/],
]);

describe("every dependency is used and declared, and every file is asked for", () => {
  const example = (path: string, dependencies: object, file: SourceFile) => [
    { path, text: JSON.stringify({ name: "@drover/x", dependencies }) },
    file,
  ];

  test("finds a dependency that nothing imports", () => {
    const files = example("x/package.json", { pg: "1" }, { path: "x/a.ts", text: "a();" });
    expect(brokenDependencies(files)).toEqual([
      "x/package.json:1 declares pg, which nothing there imports: remove it",
    ]);
  });

  test("finds an import that is not declared", () => {
    const file = { path: "x/a.ts", text: 'import { Pool } from "pg";' };
    expect(brokenDependencies(example("x/package.json", {}, file))).toEqual([
      "x/a.ts:1 imports pg: declare it in x/package.json",
    ]);
  });

  test("finds a tool without a caller", () => {
    const file = { path: "a.test.ts", text: 'import { test } from "vitest";' };
    expect(brokenDependencies(example("package.json", { vitest: "1", knip: "1" }, file))).toEqual([
      "package.json:1 declares knip, which no test, script or setting uses: remove it",
    ]);
  });

  test("finds a file that no other names", () => {
    const named = { path: "x/b.ts", text: 'import "./c.ts"; // a.ts' };
    const files = [
      { path: "x/a.ts", text: "" },
      named,
      { path: "x/c.ts", text: 'import "./b.ts"' },
    ];
    expect(deadFiles(files)).toEqual(["x/a.ts:1 is named by no other file: remove it, or use it"]);
  });

  test("finds an export that nothing imports", () => {
    const files = [
      { path: "server/a.ts", text: "// A.\nexport const one = 1;\nexport const two = 2;" },
      { path: "server/b.ts", text: 'import { two } from "./a.ts";' },
    ];
    expect(deadExports(files)).toEqual(["server/a.ts:2 exports one, which nothing imports"]);
  });

  test("holds for the tree", () => {
    const dead = [...deadFiles(tree), ...deadExports(tree)];
    expect([...brokenDependencies(tree), ...dead]).toEqual([]);
  });
});

rule("every statement is used, and says what it is for", (file) => brokenStatements(file, tree), [
  ["one that no code names", "a/sql/x.sql", "-- name: no_such\nselect 1;\n", /no \.ts file/],
  [
    "a long one without a comment",
    "a/sql/x.sql",
    "-- About.\n\n-- name: lock_runs_wait\nselect\n  1,\n  2,\n  3,\n  4;\n",
    /^a\/sql\/x\.sql:3 lock_runs_wait has no comment/,
  ],
]);

test("the code of every file can be distinguished from its strings and comments", () => {
  const count = (text: string, char: string) => text.split(char).length;
  const unbalanced = tree.filter(isHandwritten).filter(({ text }) => {
    const { code } = scan(text);
    return ["()", "[]", "{}"].some(
      ([open = "", close = ""]) => count(code, open) !== count(code, close),
    );
  });
  expect(unbalanced.map(({ path }) => path)).toEqual([]);
});

describe("what is generated is up to date", () => {
  const env = {
    ...process.env,
    PATH: [join(treeRoot, "node_modules/.bin"), process.env.PATH].join(delimiter),
  };

  test("proto/gen is what `npm run generate` writes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "drover-generated-"));
    try {
      await run("buf", ["generate", "--output", folder], { cwd: treeRoot, env });
      expect(filesOf(join(treeRoot, "proto/gen"))).toEqual(filesOf(join(folder, "proto/gen")));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("docs/STATES.md is what `node docs/generate.ts` writes", () => {
    expect(readFileSync(join(treeRoot, "docs/STATES.md"), "utf8")).toBe(statesPage());
  });

  test("docs/workflow.schema.json is what `node docs/generate.ts` writes", () => {
    const written = readFileSync(join(treeRoot, "docs/workflow.schema.json"), "utf8");
    expect(written).toBe(workflowSchemaText());
  });

  test("docs/SCENARIOS.md and its schema are what `node docs/generate.ts` writes", () => {
    const written = (name: string) => readFileSync(join(treeRoot, "docs", name), "utf8");
    expect(written("SCENARIOS.md")).toBe(scenariosPage());
    expect(written("scenarios.schema.json")).toBe(scenariosSchemaText());
  });
});

function filesOf(folder: string): Readonly<Record<string, string>> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    paths.sort().map((path) => [path.slice(folder.length), readFileSync(path, "utf8")]),
  );
}
