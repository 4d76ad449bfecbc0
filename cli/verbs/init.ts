/** `drover init`: writes a small project with a workflow and an agent that runs without changes. */
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, Option } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";

const languages = ["go", "java", "python", "typescript"] as const;
type Language = (typeof languages)[number];

const projectsFolder = fileURLToPath(new URL("../projects", import.meta.url));
/** The ending of files that a tool would otherwise read in the folder of templates. */
const templateEnding = /\.template$/;
const nodeVersion = "24.21.0";
const PYTHON_PACKAGE = "drover-sdk";
const GO_MODULE = "github.com/drover-dev/drover/sdk/go";

/** For the README of the project. */
interface Lines {
  /** Run once. */
  readonly setup: string;
  readonly agent: string;
  /** A sentence about tests of the handlers. */
  readonly tests: string;
}

const testedBy = (command: string): string => `\`${command}\` tests the handlers.\n\n`;

const lines: Readonly<Record<Language, Lines>> = Object.freeze({
  go: { setup: "go mod tidy", agent: "go run .", tests: testedBy("go test") },
  java: {
    setup: "mvn -q test",
    agent: "mvn -q compile exec:java",
    tests: testedBy("mvn -q test"),
  },
  python: {
    setup: "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
    agent: ".venv/bin/python agent.py",
    tests: testedBy(".venv/bin/python -m unittest"),
  },
  typescript: {
    setup: "npm install",
    agent: "npm run agent",
    tests: "`npm test` tests the handlers, and `npm run typecheck` checks their types.\n\n",
  },
});

/** Where a project gets the SDK of its language from. */
interface Sdks {
  readonly npm: (folder: string) => string;
  readonly python: string;
  readonly java: string;
  /** Commands that make the SDK available, before those of the project. */
  readonly javaSetup: string;
  readonly go: string;
  /** After the requirements of go.mod. */
  readonly goReplace: string;
  /** A sentence for the README of the project. */
  readonly origin: string;
}

/** From the clone in which this command runs, if it runs in one; else as they are published. */
function sdksOf(version: string): Sdks {
  const clone = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
  if (!existsSync(join(clone, "sdk/typescript/package.json")))
    return {
      npm: () => version,
      python: `${PYTHON_PACKAGE}==${version}`,
      java: version,
      javaSetup: "",
      go: `v${version}`,
      goReplace: "",
      origin: `The SDK has the version of the \`drover\` command that wrote this project, ${version}.`,
    };
  return {
    npm: (folder) => `file:${join(clone, folder)}`,
    python: `${PYTHON_PACKAGE} @ file://${join(clone, "sdk/python")}`,
    java: version,
    javaSetup: `mvn -q -f ${join(clone, "sdk/java/pom.xml")} install -DskipTests && `,
    go: "v0.0.0",
    goReplace: `\nreplace ${GO_MODULE} => ${join(clone, "sdk/go")}\n`,
    origin: `The SDK comes from the clone of Drover in which the \`drover\` command runs, \`${clone}\`.`,
  };
}

export function addInit(program: Command, ended: Ended, version: string): void {
  program
    .command("init")
    .description("create a small project: a workflow and an agent")
    .argument("<folder>", "a new or an empty folder; its name becomes the project's")
    .addOption(
      new Option("--lang <language>", "the language of the agent")
        .choices(languages)
        .makeOptionMandatory(),
    )
    .action((folder: string, { lang }: { readonly lang: Language }, command: Command) => {
      const { output } = contextOf(command);
      const to = resolve(folder);
      const name = basename(to);
      checkEmpty(folder, to);
      checkName(name);
      const { npm, javaSetup, ...sdks } = sdksOf(version);
      const { agent, tests } = lines[lang];
      const setup = `${lang === "java" ? javaSetup : ""}${lines[lang].setup}`;
      const npmPackages = { proto: npm("proto"), typescript: npm("sdk/typescript") };
      const words = { name, setup, agent, tests, node: nodeVersion, ...npmPackages, ...sdks };
      for (const file of [...filesOf("shared"), ...filesOf(lang)]) write(file, to, words);
      output.line(`created ${folder}: a workflow and an agent in ${namesOf[lang]}`);
      output.note(`  next: cd ${folder} && ${setup} && ${agent}`);
      output.note("  in a second terminal: drover dev");
      ended(exitCodes.done);
    });
}

const namesOf: Readonly<Record<Language, string>> = Object.freeze({
  go: "Go",
  java: "Java",
  python: "Python",
  typescript: "TypeScript",
});

interface ProjectFile {
  readonly folder: string;
  /** The path inside the folder. */
  readonly path: string;
}

function filesOf(of: Language | "shared"): readonly ProjectFile[] {
  const folder = join(projectsFolder, of);
  return globSync("**/*.*", { cwd: folder }).map((path) => ({ folder, path }));
}

function write(
  { folder, path }: ProjectFile,
  to: string,
  words: Readonly<Record<string, string>>,
): void {
  const text = readFileSync(join(folder, path), "utf8");
  const file = join(to, path.replace(templateEnding, ""));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    text.replaceAll(/\{\{(\w+)\}\}/g, (_, word: string) => words[word] ?? ""),
  );
}

/** The name becomes the name of a package, for npm and for Go. */
function checkName(name: string): void {
  if (/^[a-z][a-z0-9._-]{0,63}$/.test(name)) return;
  throw usageFailure(
    `"${name}" cannot be the name of a project: use lower-case letters, digits, ".", "_" and "-"`,
    "drover init hello --lang typescript",
  );
}

function checkEmpty(folder: string, path: string): void {
  if (!existsSync(path)) return;
  const found = readdirSync(path);
  if (found.length === 0) return;
  throw usageFailure(
    `${folder} is not empty (${found[0]}): nothing was written`,
    "drover init with the name of a new folder",
  );
}
