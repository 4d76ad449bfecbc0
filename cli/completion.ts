/**
 * Completion of the command line: nouns, verbs, flags, choices, and names that the server knows,
 * found by walking the program itself. The scripts of the shells call it through `drover complete`.
 */
import type { Argument, Command, Option } from "commander";
import type { Connection } from "./client.ts";
import { clean } from "./words.ts";

export interface Candidate {
  readonly text: string;
  readonly about: string;
}

/** Kinds of names that a server can list. */
export type Named =
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
  /** Global options that were typed before the cursor. */
  readonly given: Readonly<Record<string, string>>;
}

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** The kind of server names that also fits here. */
  readonly named: Named | undefined;
  readonly given: Readonly<Record<string, string>>;
}

/** The last word is the one being typed; it is empty between words. */
export function completionOf(program: Command, words: readonly string[]): Completion {
  const partial = words.at(-1) ?? "";
  const place = placeOf(program, words.slice(0, -1));
  const { given } = place;
  const fits = ({ text }: Candidate) => text.startsWith(partial);
  const found = (candidates: readonly Candidate[], named?: Named) => ({
    candidates: candidates.filter(fits),
    named,
    given,
  });
  if (place.typedFor) return found(choicesOf(place.typedFor), namedBy(place.typedFor.long ?? ""));
  if (partial.startsWith("-")) return found(flagsOf(place.command));
  const verbs = place.command.commands.flatMap(verbOf);
  if (verbs.length > 0) return found(verbs);
  return found(choicesOf(place.argument), namedOf(place));
}

function placeOf(program: Command, words: readonly string[]): Place {
  let command = program;
  let position = 0;
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
      else position += 1;
    }
  }
  const all = command.registeredArguments;
  const last = all.at(-1);
  const argument = all[position] ?? (last?.variadic ? last : undefined);
  return { command, typedFor, argument, given };
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

const namedByFlag: Readonly<Record<string, Named>> = {
  "--workflow": "workflow",
  "--namespace": "namespace",
  "--notify": "hook",
  "--hook": "hook",
  "--agent": "agent",
  "--run": "run",
  "--parent": "run",
};

function namedBy(flag: string): Named | undefined {
  return namedByFlag[flag];
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

function namedOf({ command, argument }: Place): Named | undefined {
  const name = argument?.name() ?? "";
  // A new object has no name that could be completed.
  if (["create", "put", "init"].includes(command.name()) && name !== "workflow") return undefined;
  if (name === "name" && command.parent?.name() === "workflow") return "workflow";
  return namedByArgument[name];
}

const namesMax = 200;
const askMsMax = 1_500;

/** Empty if no server answers soon: a completion must not make the user wait. */
export async function namesOf(
  named: Named,
  { scheduler, operator, namespace }: Connection,
): Promise<readonly Candidate[]> {
  const asked = { namespace, pageSize: namesMax };
  const soon = { timeoutMs: askMsMax };
  switch (named) {
    case "workflow":
      return (await scheduler.listWorkflows(asked, soon)).workflows.map((one) =>
        candidate(one.name, `default v${one.defaultVersion}`),
      );
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
