/** Scenario files: found by a path of the command line, read, and checked with their workflows. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Definition } from "@drover/server/core/definition/definition.ts";
import type { Play } from "@drover/simulator/play-scenario.ts";
import { readScenarios, type ScenarioFile } from "@drover/simulator/scenario-file.ts";
import { unknownNames } from "@drover/simulator/scenario-names.ts";
import { STUB_QUEUE, stubWorkflow } from "@drover/simulator/stub-workflow.ts";
import { namesIn } from "@drover/simulator/workflow-names.ts";
import { checkText } from "./check-text.ts";
import { exitCodes, usageFailure } from "./failure.ts";
import { readText } from "./input.ts";
import { textRefusal } from "./text-refusal.ts";

const endings = ["yaml", "yml", "json"];
const isScenarioFile = /\.scenarios\.(?:ya?ml|json)$/;

/**
 * For a scenario file, itself; for a workflow, the file beside it; for a folder, all files below
 * it.
 */
export function scenarioFilesOf(path: string): readonly string[] {
  if (!existsSync(path)) {
    readText(path);
    return [];
  }
  if (statSync(path).isDirectory()) {
    const found = globSync(`**/*.scenarios.{${endings.join(",")}}`, {
      cwd: path,
      exclude: (name) => /(?:^|\/)(?:node_modules|\.[^/]+)$/.test(name),
    });
    if (found.length > 0) return found.sort().map((one) => (path === "." ? one : join(path, one)));
    throw usageFailure(
      `${path} contains no scenarios: a scenario file is called NAME.scenarios.yaml`,
      "write one next to your workflow, as docs/TESTING.md shows",
    );
  }
  if (isScenarioFile.test(path)) return [path];
  const beside = endings.map((ending) => path.replace(/\.[^./]+$/, `.scenarios.${ending}`));
  const found = beside.find((one) => existsSync(one));
  if (found !== undefined) return [found];
  const first = beside[0] ?? "";
  if (!readFileSync(path, "utf8").includes("scenarios:"))
    throw usageFailure(
      `${path} is not a scenario file, and there is no ${first} next to it`,
      `write ${first}, as docs/TESTING.md shows`,
    );
  return [path];
}

export interface LoadedScenarios {
  readonly file: ScenarioFile;
  readonly play: Play;
}

/** Throws the problems of the file, or of a workflow that it names. */
export function loadScenarios(path: string): LoadedScenarios {
  const next = `correct the file, then drover workflow test ${path}`;
  const read = readScenarios(readText(path));
  if (read.kind === "bad") throw textRefusal(path, read.problems, exitCodes.usage, next);
  const { file } = read;
  const main = loadWorkflow(path, file, file.workflow, "workflow");
  const others = file.workflows.map((one, at) => loadWorkflow(path, file, one, `workflows[${at}]`));
  const names = namesIn(main.stored);
  const otherNames = others.map(({ stored }) => namesIn(stored));
  const problems = unknownNames(file, names, otherNames);
  if (problems.length > 0) throw textRefusal(path, problems, exitCodes.usage, next);
  const all = [names, ...otherNames];
  const given = new Set(all.map(({ workflow }) => workflow));
  const stubs = [...new Set(all.flatMap(({ begins }) => [...begins]))].filter(
    (name) => !given.has(name),
  );
  const queues = new Set(all.flatMap((one) => [...one.queues]));
  if (stubs.length > 0) queues.add(STUB_QUEUE);
  const play = {
    workflow: main.text,
    workflows: [...others.map(({ text }) => text), ...stubs.map(stubWorkflow)],
    queues: [...queues],
    findsQueues: all.some(({ findsQueues }) => findsQueues),
    approvers: names.approvers,
    maps: names.maps,
  };
  return { file, play };
}

interface LoadedWorkflow {
  readonly text: string;
  readonly stored: Definition;
}

function loadWorkflow(
  path: string,
  { locate }: ScenarioFile,
  name: string,
  field: string,
): LoadedWorkflow {
  const found = join(dirname(path), name);
  if (!existsSync(found)) {
    const { line, column } = locate(field);
    const message = `there is no file ${found}: its path is relative to ${path} (line ${line}, column ${column})`;
    throw textRefusal(path, [{ path: field, message }], exitCodes.usage, `correct ${path}`);
  }
  const text = readText(found);
  const checked = checkText(text);
  if (checked.kind === "bad") throw textRefusal(found, checked.problems, exitCodes.usage);
  return { text, stored: checked.stored };
}
