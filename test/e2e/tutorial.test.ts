/**
 * The tutorial is played as it is on the page, in its order: its files are written and its
 * commands are run, with a server, agents and a command line that are processes of their own. Each
 * line that the page shows of an output must be in the output.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTestFolder } from "../support/global-postgres.ts";
import { until } from "../support/until.ts";

const root = join(import.meta.dirname, "../..");
const blocks = blocksOf(readFileSync(join(root, "docs/TUTORIAL.md"), "utf8"));

/** On a machine with other work: the agents of the page alone work for some 20 s. */
const tutorialMsMax = 300_000;
/** The server makes a database first. */
const outputMsMax = 60_000;

/** A fenced block of the page, and the file that the sentence before it names. */
interface Block {
  readonly fence: string;
  readonly text: string;
  readonly file: string | null;
}

function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map((found) => {
    const [, fence = "", text = ""] = found;
    const [, file = null] = /`([\w.]+)`:\n\n$/.exec(page.slice(0, found.index)) ?? [];
    return { fence, text, file };
  });
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

interface Running {
  readonly ended: Promise<Ended>;
  /** Its output so far, as soon as it contains the text. */
  wrote(text: string): Promise<string>;
  stop(): Promise<void>;
}

function runShell(command: string, cwd: string, env: Readonly<Record<string, string>>): Running {
  const child = spawn("sh", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let isOver = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      isOver = true;
      resolve({ code, output });
    });
  });
  const written = (text: string) => () => {
    if (output.includes(text)) return output;
    if (isOver) throw new Error(`it ended without "${text}": ${output}`);
    return null;
  };
  return {
    ended,
    wrote: (text) => until(`${command.trim()} writes "${text}"`, written(text), outputMsMax),
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** A folder beside which the packages of the clone are found, and the environment of its shells. */
function createFolder() {
  const folder = makeTestFolder();
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  // What npx does with a program of node_modules, without the half second that npm takes for it.
  const programs = join(folder, "programs");
  mkdirSync(programs);
  writeFileSync(join(programs, "npx"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const bins = [programs, join(root, "node_modules/.bin"), dirname(process.execPath)];
  const path = [...bins, process.env.PATH ?? ""].join(delimiter);
  // Nothing else of the environment: it may name another server or database.
  return { folder, env: { PATH: path, DROVER_DATA_DIR: join(folder, "data") } };
}

/** A reader of the page, who takes one block after the other. */
function createReader() {
  const { folder, env } = createFolder();
  const left = [...blocks];
  const started: Running[] = [];
  let cwd = folder;
  let address = "127.0.0.1:0";
  onTestFinished(async () => {
    for (const one of started.reverse()) await one.stop();
    rmSync(folder, { recursive: true });
  });

  /** The next block, which has to begin so. */
  function take(fence: string, begins = ""): Block {
    const block = left.shift();
    if (block?.fence === fence && block.text.startsWith(begins)) return block;
    throw new Error(`"${begins}" (${fence}) is expected on the page before: ${block?.text}`);
  }

  function run(command: string): Running {
    return runShell(command, cwd, { ...env, DROVER_ADDRESS: address });
  }

  return {
    left,
    write(file: string) {
      const block = left.shift();
      if (block?.file !== file) throw new Error(`${file} is expected before: ${block?.text}`);
      writeFileSync(join(cwd, file), block.text);
    },
    /** Makes a folder and goes there, as the shell of a person does. */
    enter(name: string) {
      expect(take("sh").text).toBe(`mkdir ${name} && cd ${name}\n`);
      cwd = join(cwd, name);
      mkdirSync(cwd);
    },
    /** A command that continues until it is stopped. The shell becomes it, to pass signals on. */
    start(begins: string): Running {
      const one = run(`exec ${take("sh", begins).text}`);
      started.push(one);
      return one;
    },
    /** The address that all later commands call. */
    serverIsAt(found: string) {
      address = found;
    },
    async run(begins: string, code = 0): Promise<string> {
      const { text } = take("sh", begins);
      const ended = await run(`set -e\n${text}`).ended;
      expect(ended.code, `${text}${ended.output}`).toBe(code);
      return ended.output;
    },
    /** Runs a command again until its output has what the page shows of it. */
    async runUntilPrinted(begins: string): Promise<void> {
      const { text } = take("sh", begins);
      const expected = take("text");
      await until(`${text.trim()} says ${expected.text}`, async () => {
        const { code, output } = await run(text).ended;
        expect(code, output).toBe(0);
        return missingIn(output, expected).length === 0 ? output : null;
      });
    },
    shows(output: string) {
      expect(missingIn(output, take("text")), output).toEqual([]);
    },
  };
}

/** The lines of the block that the output has not. */
function missingIn(output: string, { text }: Block): readonly string[] {
  const lines = text.trimEnd().split("\n");
  return lines.filter((line) => !output.includes(line));
}

test("the tutorial works as it is written", { timeout: tutorialMsMax }, async () => {
  const reader = createReader();
  reader.enter("tutorial");

  const ready = await reader.start("npx drover dev").wrote("next: drover run list");
  reader.serverIsAt(/server +([\d.:]+): /.exec(ready)?.[1] ?? "");
  reader.write("order.yaml");
  reader.shows(await reader.run("npx drover workflow check"));

  reader.write("agent.ts");
  const agent = reader.start("npx node agent.ts");
  await agent.wrote("the agent polls for tasks");
  expect(await reader.run("npx drover run start order --key order-1")).toContain("run: completed");
  expect(await reader.run("npx drover run show key:order-1")).toMatch(/^pay +succeeded /m);

  const failed = await reader.run("npx drover run start order --key order-2", 1);
  expect(failed).toContain("run: compensated");
  await agent.wrote("the item is released");
  reader.shows(await reader.run("npx drover run show key:order-2"));

  await reader.run("npx drover run start order --key order-3");
  await agent.wrote("checking the customer for 15 s");
  await reader.run("kill -9");
  await agent.ended;
  await reader.runUntilPrinted("npx drover run why key:order-3");

  await reader.start("npx node agent.ts").wrote("checking the customer for 15 s");
  const story = await reader.run("npx drover run watch key:order-3");
  expect(story).toContain("run: completed");
  expect(story).toMatch(/^\S+ \S+ +check +lease /m);
  expect(story).toMatch(/^\S+ \S+ +check +perform .* unknown +drover\.lost/m);
  expect(story.match(/^\S+ \S+ +reserve +perform /gm)).toHaveLength(1);

  reader.write("order.scenarios.yaml");
  reader.shows(await reader.run("npx drover workflow test order.yaml"));
  expect(reader.left).toEqual([]);
});

test("the agent of the tutorial compiles", () => {
  const folder = join(root, ".drover", `tutorial-${process.pid}-types`);
  mkdirSync(folder, { recursive: true });
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const agent = blocks.find(({ file }) => file === "agent.ts");
  writeFileSync(join(folder, "agent.ts"), agent?.text ?? "");
  const config = { extends: "../../tsconfig.json", include: ["agent.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { stdio: "pipe" });
});
