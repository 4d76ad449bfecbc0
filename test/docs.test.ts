// What the pages show works: workflows are checked, agents are compiled, links lead somewhere,
// commands and functions exist.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createRequestCheck } from "../server/api/calls/request-check.ts";
import { triggerOfText } from "../server/api/trigger/trigger-definition.ts";
import { definitionOfText } from "../server/api/workflow/definition-source.ts";
import { compileTrigger } from "../server/expressions/trigger-mapping.ts";
import { RPC_DEFAULTS } from "../server/rpc-config.ts";
import { callDrover } from "./support/drover-call.ts";

const ROOT = join(import.meta.dirname, "..");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const workflows = readFileSync(join(ROOT, "docs/WORKFLOWS.md"), "utf8");

function blocks(language: string, text = readme): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(
    ([, text = ""]) => text,
  );
}

describe("the README", () => {
  test("names the two lines, in this form, near its top", () => {
    const top = readme.split("\n").slice(0, 12).join("\n");
    expect(top).toMatch(/^npm ci && npm run demo\b/m);
    expect(top).toMatch(/^npm ci && npm test\b/m);
  });

  test("shows a workflow that the server takes", () => {
    const [text = ""] = blocks("yaml");
    const definition = definitionOfText(text, createRequestCheck(RPC_DEFAULTS), () => []);
    expect(definition.steps.map(({ id }) => id)).toEqual(["flight", "hotel", "car"]);
  });

  test("shows an agent that compiles", () => {
    const folder = join(ROOT, ".drover", `readme-${process.pid}-types`);
    mkdirSync(folder, { recursive: true });
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [text = ""] = blocks("ts");
    writeFileSync(join(folder, "agent.ts"), text);
    const config = { extends: "../../tsconfig.json", include: ["agent.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    execFileSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", folder], { stdio: "pipe" });
  });

  test("leads to the index of docs", () => {
    expect(readme).toContain("(docs/README.md)");
  });

  test("names commands that the command line has", async () => {
    const lines = blocks("sh").flatMap((text) => text.split("\n"));
    const verbs = lines.flatMap((line) => {
      const found = /\bdrover (?:db )?([a-z]+(?: [a-z]+)?)/.exec(line);
      return found ? [found[0].replace("drover ", "").split(" ")] : [];
    });
    expect(verbs.length).toBeGreaterThan(4);
    for (const verb of verbs) {
      const known = verb.filter((word) => !["holiday", "book"].includes(word));
      const { code } = await callDrover([...known, "--help"]);
      expect(code, verb.join(" ")).toBe(0);
    }
  });
});

describe("the README of the server", () => {
  const page = readFileSync(join(ROOT, "server/README.md"), "utf8");
  const section = (heading: string) =>
    page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";

  test("explains fifteen terms at most", () => {
    const lines = section("Terms").split("\n");
    const rows = lines.filter((line) => line.startsWith("| "));
    // Two of them are the head of the table.
    expect(rows.length).toBeGreaterThan(2);
    expect(rows.length - 2).toBeLessThanOrEqual(15);
  });

  test("follows a run through ten files", () => {
    const steps = [...section("Follow a run").matchAll(/^(\d+)\. `([^`]+\.ts)`/gm)];
    expect(steps.map(([, no]) => Number(no))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(new Set(steps.map(([, , path]) => path)).size).toBe(10);
  });

  test("names functions that the file named before them exports", () => {
    const names = section("Follow a run").matchAll(/`([\w/.-]+\.ts|\w+\(\))`/g);
    let file = "";
    let text = "";
    let functions = 0;
    for (const [, name = ""] of names) {
      if (name.endsWith(".ts")) {
        [file, text] = [name, readFileSync(join(ROOT, "server", name), "utf8")];
        continue;
      }
      const there = new RegExp(`^export (?:async )?function ${name.replace("()", "")}\\b`, "m");
      expect(there.test(text), `${file} exports ${name}`).toBe(true);
      functions++;
    }
    expect(functions).toBeGreaterThan(10);
  });
});

describe.for(["OPERATING", "RUNBOOKS"])("the page %s", (name) => {
  test("names commands and options that the command line has", async () => {
    const page = readFileSync(join(ROOT, `docs/${name}.md`), "utf8");
    const commands = new Map<string, Set<string>>();
    for (const [, verb = "", rest = ""] of page.matchAll(/drover ([a-z]+(?: [a-z]+)?)(.*)/g)) {
      const options = commands.get(verb) ?? new Set();
      const line = rest.split("`")[0] ?? "";
      for (const [option] of line.matchAll(/--[a-z]+/g)) options.add(option);
      commands.set(verb, options);
    }
    expect(commands.size).toBeGreaterThan(6);
    for (const [verb, options] of commands) {
      const { code, stdout } = await callDrover([...verb.split(" "), "--help"]);
      expect(code, verb).toBe(0);
      for (const option of options) expect(stdout, verb).toContain(option);
    }
  });
});

test("the page of deploying sizes by figures that the page of performance has", () => {
  const read = (name: string) => readFileSync(join(ROOT, `docs/${name}.md`), "utf8");
  const [, section = ""] = /^## Sizing\n(.*?)^## /ms.exec(read("DEPLOYING")) ?? [];
  const rows = [...section.matchAll(/^\|[^|]+\|([^|]+)\|[^|]+\|$/gm)].slice(2);
  const figures = rows.flatMap(([, measured = ""]) => measured.match(/\d[\d,.]*\d|\d/g) ?? []);
  expect(figures.length).toBeGreaterThan(10);
  const known = read("PERFORMANCE");
  const isKnown = (figure: string) =>
    new RegExp(`(?<![\\d.,])${figure}(?![\\d,.]*\\d)`).test(known);
  expect(figures.filter((figure) => !isKnown(figure))).toEqual([]);
});

describe("the page of what a workflow can say", () => {
  const check = createRequestCheck(RPC_DEFAULTS);
  const shown = blocks("yaml", workflows).map((text) =>
    text.startsWith("workflow:") ? text : `workflow: shown\nsteps:\n${text}`,
  );

  test.for(shown)("shows steps that the server takes: %#", (text) => {
    expect(definitionOfText(text, check, () => []).steps).not.toEqual([]);
  });

  test("leaves out no field", () => {
    const schema: Schema = JSON.parse(
      readFileSync(join(ROOT, "docs/workflow.schema.json"), "utf8"),
    );
    const fields = [schema, ...Object.values(schema.definitions)].flatMap((one) =>
      Object.keys(one.properties),
    );
    expect(fields.length).toBeGreaterThan(70);
    expect(fields.filter((field) => !new RegExp(`\\b${field}\\b`).test(workflows))).toEqual([]);
  });
});

describe("the page of testing a workflow", () => {
  const page = readFileSync(join(ROOT, "docs/TESTING.md"), "utf8");
  const shown = blocks("yaml", page);
  const [printed = ""] = blocks("text", page);

  /** A file of the page, beside the workflow that it is about. */
  async function play(text: string) {
    const cwd = mkdtempSync(join(tmpdir(), "drover-testing-"));
    onTestFinished(() => rmSync(cwd, { recursive: true }));
    copyFileSync(join(ROOT, "agents-examples/holiday/holiday.yaml"), join(cwd, "holiday.yaml"));
    writeFileSync(join(cwd, "holiday.scenarios.yaml"), text);
    return await callDrover(["workflow", "test", "holiday.yaml"], { cwd });
  }

  test.for(shown.slice(0, -1))("shows scenarios that pass: %#", async (text) => {
    const { code, stdout } = await play(text);
    expect(code, stdout).toBe(0);
  });

  test("shows what one that fails says, to the letter", async () => {
    const { code, stdout } = await play(shown.at(-1) ?? "");
    const plain = (text: string) => text.replaceAll(/in \d+ ms/g, "in some ms");
    expect(code).toBe(1);
    expect(plain(stdout)).toBe(plain(printed));
  });
});

describe("the page of triggers", () => {
  const page = readFileSync(join(ROOT, "docs/TRIGGERS.md"), "utf8");
  const deps = { check: createRequestCheck(RPC_DEFAULTS), triggers: { compile: compileTrigger } };

  test.for(blocks("yaml", page))("shows triggers that the server takes: %#", (text) => {
    expect(triggerOfText(deps, text).definition.name).not.toBe("");
  });

  test("names commands that the command line has", async () => {
    const verbs = [...page.matchAll(/drover (trigger [a-z]+)/g)].map(([, verb = ""]) => verb);
    expect(new Set(verbs).size).toBe(3);
    for (const verb of new Set(verbs))
      expect((await callDrover([...verb.split(" "), "--help"])).code, verb).toBe(0);
  });
});

interface Schema {
  readonly properties: object;
  readonly definitions: Readonly<Record<string, { readonly properties: object }>>;
}
