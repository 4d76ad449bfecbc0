// Finds names in a scenario file that its workflows do not have. With a misspelt name a scenario
// would script no agent, or expect something impossible.

import { shown, suggestion, withPlace } from "@drover/server/definition-text/problems.ts";
import type { FieldProblem } from "@drover/server/errors.ts";
import type { Scenario, ScriptedAction } from "./scenario.ts";
import type { ScenarioFile } from "./scenario-file.ts";
import type { WorkflowNames } from "./workflow-names.ts";

interface Known {
  readonly tasks: readonly string[];
  readonly allSteps: readonly string[];
  readonly main: WorkflowNames;
  readonly queues: readonly string[];
}

/** `main` is the workflow that is run; `others` are the workflows that it begins. */
export function unknownNames(
  file: ScenarioFile,
  main: WorkflowNames,
  others: readonly WorkflowNames[],
): readonly FieldProblem[] {
  const all = [main, ...others];
  const given = new Set(all.map(({ workflow }) => workflow));
  const stubs = all.flatMap(({ begins }) => [...begins]).filter((name) => !given.has(name));
  const known: Known = {
    main,
    tasks: [...new Set([...all.flatMap(({ tasks }) => [...tasks]), ...stubs])],
    allSteps: all.flatMap(({ steps }) => steps),
    queues: all.flatMap(({ queues }) => [...queues]),
  };
  const found = file.scenarios.flatMap((one) =>
    unknownIn(
      one,
      known,
      all.some((w) => w.findsQueues),
    ),
  );
  const seen = new Set<string>();
  return found
    .map(({ path, message }) => ({ path, message: withPlace(message, file.locate(path)) }))
    .filter(({ message }) => !seen.has(message) && seen.add(message));
}

function unknownIn(scenario: Scenario, known: Known, anyQueue: boolean): readonly FieldProblem[] {
  const { path, expect, events, scripts } = scenario;
  const problems: FieldProblem[] = [];
  const ask = (where: string, name: string, what: string, names: readonly string[]): void => {
    if (names.includes(name)) return;
    const message = `${shown(name)} is no ${what} of ${known.main.workflow}: ${suggestion(name, names)}`;
    problems.push({ path: where, message });
  };
  const askStep = (where: string, name: string): void => {
    const [, step = name, item] = /^([^[]+)(?:\[(\d+)\])?$/.exec(name) ?? [];
    ask(where, step, "step", known.main.steps);
    if (item !== undefined && known.main.steps.includes(step) && !known.main.maps.has(step))
      problems.push({ path: where, message: `${step} is no map, and has no items: write ${step}` });
  };
  const askState = (where: string, state: string): void => {
    const [about = ""] = state.split(" ");
    if (about !== "run") askStep(where, about);
  };
  for (const { key, task, step } of scripts) {
    const own = `${path}.agents.${key}`;
    if (task !== "*") ask(own, task, "task", known.tasks);
    if (step !== null) ask(own, step, "step", known.allSteps);
  }
  for (const { on, action, path: where } of events) {
    if (on.kind === "when") askState(`${where}.when`, on.state);
    const about = aboutOf(action);
    if (about?.kind === "step") askStep(where, about.name);
    if (about?.kind === "queue" && !anyQueue) ask(where, about.name, "queue", known.queues);
  }
  const at = `${path}.expect`;
  for (const name of expect.steps.keys()) askStep(`${at}.steps.${name}`, name);
  for (const [place, state] of expect.order.entries()) askState(`${at}.order[${place}]`, state);
  for (const state of expect.times.keys()) askState(`${at}.times.${state}`, state);
  for (const task of expect.calls.keys()) ask(`${at}.calls.${task}`, task, "task", known.tasks);
  for (const [place, name] of (expect.effects ?? []).entries())
    askStep(`${at}.effects[${place}]`, name.replace(/\/\d+$/, ""));
  for (const name of expect.outputs.keys()) askStep(`${at}.outputs.${name}`, name);
  for (const name of expect.inputs.keys())
    ask(`${at}.inputs.${name}`, name.replace(/\[\d+\]$/, ""), "task or step", [
      ...known.tasks,
      ...known.main.steps,
    ]);
  for (const kind of ["interventions", "escalations"] as const)
    for (const [place, sentence] of (expect[kind] ?? []).entries()) {
      const step = / of (\S+)$/.exec(sentence)?.[1];
      if (step !== undefined) askStep(`${at}.${kind}[${place}]`, step);
    }
  return problems;
}

function aboutOf(
  action: ScriptedAction,
): { readonly kind: "step" | "queue"; readonly name: string } | null {
  switch (action.kind) {
    case "decide":
      return { kind: "step", name: action.step };
    case "answer":
      return action.step === null ? null : { kind: "step", name: action.step };
    case "pause":
    case "resume":
      return action.queue === null ? null : { kind: "queue", name: action.queue };
    case "leave":
    case "return":
      return { kind: "queue", name: action.queue };
    default:
      return null;
  }
}
