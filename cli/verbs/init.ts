/** `drover init`: writes a small project with a workflow and an agent that runs without changes. */
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, Option } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";

const languages = ["go", "python", "typescript"] as const;
type Language = (typeof languages)[number];

/** The folder where this command is installed, with the SDKs. */
const droverFolder = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const projectsFolder = join(droverFolder, "agents-examples/projects");
/** The ending of files that a tool would otherwise read in the folder of templates. */
const templateEnding = /\.template$/;
const nodeVersion = "24.21.0";

/** The commands to run in the new folder: the setup once, then the agent. */
const lines: Readonly<Record<Language, { readonly setup: string; readonly agent: string }>> =
  Object.freeze({
    go: { setup: "go mod tidy", agent: "go run ." },
    python: {
      setup: "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
      agent: ".venv/bin/python agent.py",
    },
    typescript: { setup: "npm install", agent: "npm run agent" },
  });

export function addInit(program: Command, ended: Ended): void {
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
      const { setup, agent } = lines[lang];
      const words = { name, setup, agent, drover: droverFolder, node: nodeVersion };
      for (const file of [...filesOf("shared"), ...filesOf(lang)]) write(file, to, words);
      output.line(`created ${folder}: a workflow and an agent in ${namesOf[lang]}`);
      output.note(`  next: cd ${folder} && ${setup} && ${agent}`);
      output.note("  in a second terminal: drover dev");
      ended(exitCodes.done);
    });
}

const namesOf: Readonly<Record<Language, string>> = Object.freeze({
  go: "Go",
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
