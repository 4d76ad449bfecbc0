// A story of agents-examples as a user runs it: a process of its own, on a database of the test.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { RunDetails } from "@drover/sdk";
import { onTestFinished } from "vitest";
import type { Fact } from "../../agents-examples/stage/books.ts";
import type { Problem } from "../../agents-examples/stage/story.ts";
import { createTestDatabase } from "./postgres.ts";

/** On a machine with other work; alone a story takes ten seconds. */
export const storyMsMax = 60_000;

const examples = join(import.meta.dirname, "../../agents-examples");

export interface StoryResult {
  readonly code: number | null;
  readonly output: string;
  readonly problems: readonly Problem[];
  /** By key, as JSON has them: times are texts. */
  readonly runs: ReadonlyMap<string, RunDetails>;
  readonly facts: readonly Fact[];
}

export async function runStory(name: string, ...args: readonly string[]): Promise<StoryResult> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const folder = mkdtempSync(join(tmpdir(), "story-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const report = join(folder, "report.json");
  const options = ["--database-url", database.connectionString, "--json", report, ...args];
  const child = spawn(process.execPath, [join(examples, "example.ts"), name, ...options], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  const output = stdout + stderr;
  if (code !== 0 && code !== 1) throw new Error(`ended with ${code}:\n${output}`);
  const { problems, runs, facts } = readReport(report, output);
  const byKey = new Map<string, RunDetails>(
    runs.map((run: RunDetails & { readonly key: string }) => [run.key, run]),
  );
  return { code, output, problems, runs: byKey, facts };
}

function readReport(file: string, output: string) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new Error(`the story did not run to its end:\n${output}`, { cause });
  }
}

/** Lines of the story's README that are not so: in no output, or not in the workflow. */
export function untrueLines(name: string, outputs: readonly StoryResult[]): readonly string[] {
  const read = (file: string) => readFileSync(join(examples, name, file), "utf8");
  const lines = (fence: string) =>
    [...read("README.md").matchAll(new RegExp(`^\`\`\`${fence}\\n(.*?)^\`\`\`$`, "gms"))]
      .flatMap(([, block = ""]) => block.split("\n"))
      .filter((line) => line.trim() !== "");
  const [workflow, printed] = [read("workflow.yaml"), outputs.map(({ output }) => output).join()];
  return [
    ...lines("yaml").filter((line) => !workflow.includes(line)),
    ...lines("text").filter((line) => !printed.includes(line)),
  ];
}
