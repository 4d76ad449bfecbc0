/**
 * Completion of the command line: nouns, verbs, flags, choices, and names that the server or the
 * file of contexts knows, found by walking the program itself. The scripts of the shells call it
 * through `drover complete`.
 */
import { StepKind } from "@drover/proto/drover/v1/run_pb.ts";
import type { Argument, Command, Option } from "commander";
import type { Connection } from "./client.ts";
import { runRefOf } from "./run-ref.ts";
import { readContexts } from "./saved-contexts.ts";
import { stepStateWord } from "./state-words.ts";
import { clean } from "./words.ts";

export interface Candidate {
  readonly text: string;
  readonly about: string;
}

/** Kinds of steps of the run that was typed before. */
type NamedStep = "step" | "map" | "approval";

/** Kinds of names that a server can list. */
export type Named =
  | NamedStep
  | "workflow"
  | "queue"
  | "run"
  | "agent"
  | "escalation"
  | "schedule"
  | "hook"
  | "trigger"
  | "namespace";

/** What is expected at the cursor. */
interface Place {
  readonly command: Command;
  /** The option whose value is being typed. */
  readonly typedFor: Option | undefined;
  readonly argument: Argument | undefined;
  /** Arguments that were typed before the cursor. */
  readonly typed: readonly string[];
  /** Options that were typed before the cursor. */
  readonly given: Readonly<Record<string, string>>;
}

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** The kind of names that also fits here; contexts are in a file, the others on the server. */
  readonly named: Named | "context" | undefined;
  /** The run that was typed; undefined: none. */
  readonly run: string | undefined;
  readonly given: Readonly<Record<string, string>>;
}

/** The last word is the one being typed; it is empty between words. */
export function completionOf(program: Command, words: readonly string[]): Completion {
  const partial = words.at(-1) ?? "";
  const place = placeOf(program, words.slice(0, -1));
  const { given, typed, command } = place;
  const at = command.registeredArguments.findIndex((one) => one.name() === "run");
  const fits = ({ text }: Candidate) => text.startsWith(partial);
  const found = (candidates: readonly Candidate[], named?: Completion["named"]) => ({
    candidates: candidates.filter(fits),
    named,
    run: typed[at],
    given,
  });
  if (place.typedFor) return found(choicesOf(place.typedFor), namedBy(place.typedFor, command));
  if (partial.startsWith("-")) return found(flagsOf(place.command));
  const verbs = place.command.commands.flatMap(verbOf);
  if (verbs.length > 0) return found(verbs);
  return found(choicesOf(place.argument), namedOf(place));
}

function placeOf(program: Command, words: readonly string[]): Place {
  let command = program;
  const typed: string[] = [];
  let typedFor: Option | undefined;
  const given: Record<string, string> = {};
  for (const word of words) {
    if (typedFor) {
      given[typedFor.attributeName()] = word;
      typedFor = undefined;
    } else if (word.startsWith("-")) {
      const [flag = "", value] = word.split("=", 2);
      const option = optionsOf(command).find(({ long, short }) => flag === long || flag === short);
      if (option && value !== undefined) given[option.attributeName()] = value;
      else if (option?.required) typedFor = option;
    } else {
      const child = command.commands.find(
        (one) => one.name() === word || one.aliases().includes(word),
      );
      if (child) command = child;
      else typed.push(word);
    }
  }
  const all = command.registeredArguments;
  const last = all.at(-1);
  const argument = all[typed.length] ?? (last?.variadic ? last : undefined);
  return { command, typedFor, argument, typed, given };
}

/** The options of the command, then those of the commands above it. */
function optionsOf(command: Command): readonly Option[] {
  return [...command.options, ...(command.parent ? optionsOf(command.parent) : [])];
}

function flagsOf(command: Command): readonly Candidate[] {
  const flags = optionsOf(command)
    .filter(({ hidden }) => !hidden)
    .map(({ long, short, description }) => ({ text: long ?? short ?? "", about: description }));
  return [...flags, { text: "--help", about: "what it does, with examples" }];
}

function verbOf(command: Command): readonly Candidate[] {
  return isHidden(command) ? [] : [{ text: command.name(), about: command.description() }];
}

export const hiddenVerb = "complete";

/** For scripts alone; `drover run complete` is another command. */
export function isHidden(command: Command): boolean {
  return command.name() === hiddenVerb && command.parent?.parent === null;
}

function choicesOf(of: Argument | Option | undefined): readonly Candidate[] {
  return (of?.argChoices ?? []).map((text) => ({ text, about: "" }));
}

const namedByFlag: Readonly<Record<string, Completion["named"]>> = {
  "--context": "context",
  "--workflow": "workflow",
  "--namespace": "namespace",
  "--notify": "hook",
  "--hook": "hook",
  "--agent": "agent",
  "--run": "run",
  "--parent": "run",
};

function namedBy({ long }: Option, command: Command): Completion["named"] {
  if (command.name() === "rerun" && long === "--from") return "step";
  return namedByFlag[long ?? ""];
}

const namedByArgument: Readonly<Record<string, Named>> = {
  workflow: "workflow",
  queue: "queue",
  run: "run",
  agent: "agent",
  escalation: "escalation",
  schedule: "schedule",
  hook: "hook",
  trigger: "trigger",
};

function namedOf({ command, argument }: Place): Completion["named"] {
  const name = argument?.name() ?? "";
  const verb = command.name();
  const noun = command.parent?.name();
  // A new object has no name that could be completed.
  if (["create", "put", "init", "add"].includes(verb) && name !== "workflow") return undefined;
  if (name === "name" && (noun === "workflow" || noun === "context")) return noun;
  if (name === "step" && (verb === "decide" || noun === "approval")) return "approval";
  if (name === "step") return verb === "items" ? "map" : "step";
  return namedByArgument[name];
}

const namesMax = 200;
const askMsMax = 1_500;

/** The contexts of the user. */
export function contextNames(): readonly Candidate[] {
  const { contexts } = readContexts();
  return Object.entries(contexts).map(([name, { address }]) => candidate(name, address));
}

/**
 * Empty if no server answers soon: a completion must not make the user wait. Throws if it does not
 * answer, or if names of steps are asked without a run.
 */
export async function namesOf(
  named: Named,
  { scheduler, operator, namespace }: Connection,
  { run, key }: { readonly run?: string | undefined; readonly key?: string | undefined } = {},
): Promise<readonly Candidate[]> {
  const asked = { namespace, pageSize: namesMax };
  const soon = { timeoutMs: askMsMax };
  switch (named) {
    case "workflow":
      return (await scheduler.listWorkflows(asked, soon)).workflows.map((one) =>
        candidate(one.name, `default v${one.defaultVersion}`),
      );
    case "step":
    case "map": {
      const answer = await scheduler.getRun({ namespace, run: runRefOf(run, { key }) }, soon);
      return answer.steps
        .filter(({ kind }) => named === "step" || kind === StepKind.MAP)
        .map((one) => candidate(one.id, stepStateWord(one.state)));
    }
    case "approval": {
      const of = { namespace, run: runRefOf(run, { key }) };
      return (await operator.listApprovals(of, soon)).approvals.map((one) =>
        candidate(one.stepId, one.approvers.join(", ")),
      );
    }
    case "queue":
      return (await operator.listQueues(asked, soon)).queues.map((one) =>
        candidate(one.name, `${one.depth} wait`),
      );
    case "run":
      return (await scheduler.listRuns(asked, soon)).runs.map((one) =>
        candidate(one.runId, one.workflow),
      );
    case "agent":
      return (await operator.listAgents(asked, soon)).agents.map((one) =>
        candidate(one.id, one.version),
      );
    case "escalation":
      return (await operator.listEscalations(asked, soon)).escalations.map((one) =>
        candidate(`${one.runId}/${one.id}`, one.reason),
      );
    case "schedule":
      return (await scheduler.listSchedules(asked, soon)).schedules.map((one) =>
        candidate(one.name, ""),
      );
    case "hook":
      return (await operator.listHooks({ namespace }, soon)).hooks.map((one) =>
        candidate(one.name, one.url),
      );
    case "trigger":
      return (await operator.listTriggers({ namespace }, soon)).triggers.map((one) =>
        candidate(one.definition?.trigger ?? "", ""),
      );
    case "namespace":
      return (await operator.listNamespaces({ pageSize: namesMax }, soon)).namespaces.map((one) =>
        candidate(one.name, one.region),
      );
  }
}

function candidate(text: string, about: string): Candidate {
  return { text, about: clean(about) };
}
