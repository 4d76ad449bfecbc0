/**
 * The words of the command line: noun, verb, arguments, options. The verbs are implemented in
 * verbs/, and loaded only for the nouns that are typed: loading all of them takes ten times as long
 * as printing a help text.
 *
 * An option wins over the environment, that over the file, and that over the default.
 */
import { existsSync } from "node:fs";
import { Command, type CommanderError, Help } from "commander";
import { EXAMPLES } from "./examples.ts";
import { type Ended, usageFailure } from "./failure.ts";
import {
  addGlobalOptions,
  contextsFile,
  defaultConfigFile,
  type GlobalOptions,
} from "./global-options.ts";
import { NOUNS, needsAll, pluralOf } from "./nouns.ts";

const moreHelp = `
Start with:
  drover init hello --lang typescript      a workflow and an agent (or: go, java, python)
  drover dev                               a server with an embedded database, in ./.drover
  drover workflow test .                   run the scenarios of this folder, without a server
  drover workflow apply book-holiday.yaml  register a workflow
  drover run start book-holiday --watch    start a run and follow it

Exit codes: 0 done, 1 run failed or request refused, 2 usage, 3 cannot connect, 4 not found,
5 only a person can move the run.
Options win over the environment (DROVER_..., DATABASE_URL), that over the context (drover context),
that over drover.yaml or --config FILE, and that over the defaults: drover config show.`;

/**
 * The program with the verbs of the nouns among the arguments; without arguments, with all verbs.
 */
export async function createProgram(
  version: string,
  ended: Ended,
  args?: readonly string[],
): Promise<Command> {
  const program = new Command("drover")
    .description(
      "Runs multi-step jobs across unreliable services until each completes, is rolled back, or is escalated.",
    )
    .version(version, "-V", "print the version")
    .addHelpText("after", moreHelp);
  addGlobalOptions(program);
  const all = args === undefined || args.some(needsAll);
  const loaded = await Promise.all(
    NOUNS.map(async (noun) => {
      const plural = pluralOf(noun);
      const isTyped = all || args.some((word) => word === noun.name || word === plural);
      return { ...noun, plural, add: isTyped ? await noun.load() : undefined };
    }),
  );
  const outlines = new Map<Command, string>();
  for (const { name, plural, more, description, add } of loaded) {
    // A noun that is a verb itself creates its own command.
    if (add && more !== undefined) add(program, ended, version);
    else {
      const command = program.command(name).description(description);
      if (plural !== undefined) command.alias(plural);
      add?.(command, ended, version);
      if (!add) outlines.set(command, [name, more ?? ""].join(" ").trim());
    }
  }
  program.hook("preAction", async (_, verb) => {
    const { config } = program.opts<GlobalOptions>();
    if (config !== undefined || existsSync(defaultConfigFile)) {
      const { applyConfig } = await import("./config-file.ts");
      applyConfig(verb, { program, whole: all ? program : await createProgram(version, ended) });
    }
    if (takesContext(verb, program)) {
      const { applyContext } = await import("./saved-contexts.ts");
      applyContext(program);
    }
    const { prepareOutput } = await import("./output.ts");
    await prepareOutput(program.opts<GlobalOptions>().output);
  });
  prepareAll(program);
  const help = new Help();
  program.configureHelp({
    showGlobalOptions: true,
    // Without its plural.
    subcommandTerm: (command) =>
      outlines.get(command) ?? help.subcommandTerm(command).replace(/\|\S+/, ""),
  });
  return program;
}

/**
 * For servers, --address is where to listen. Verbs of contexts must work if the current one does
 * not.
 */
function takesContext(verb: Command, program: Command): boolean {
  const listens = verb.parent === program && LISTENING.has(verb.name());
  if (listens || verb.parent?.name() === "context") return false;
  const file = contextsFile();
  return program.opts<GlobalOptions>().context !== undefined || (!!file && existsSync(file));
}

const LISTENING: ReadonlySet<string> = new Set(["dev", "server", "supervisor"]);

/** Commander would print errors and exit by itself; here every error goes through main. */
function prepareAll(command: Command, parents = ""): void {
  const name = `${parents}${command.name()}`;
  command.exitOverride((error) => {
    if (isNoMistake(error)) throw error;
    if (error.code === "commander.unknownCommand" && command.parent === null)
      refuseVerbFirst(command.args);
    const message = error.message.replace(/^error: /, "").replace(/\.$/, "");
    throw usageFailure(message, `${name} --help`);
  });
  command.configureOutput({ outputError: () => undefined });
  command.configureHelp({ showGlobalOptions: true });
  const examples = EXAMPLES[name.replace(/^drover /, "")] ?? [];
  if (examples.length > 0)
    command.addHelpText(
      "after",
      ["", "Examples:", ...examples.map((one) => `  ${one}`)].join("\n"),
    );
  for (const child of command.commands) prepareAll(child, `${name} `);
}

/** Verbs that other command lines take first, as `kubectl get pods`. */
const verbs: ReadonlySet<string> = new Set(
  "get list ls describe show create apply start delete rm cancel pause resume logs".split(" "),
);

/** A name that looks like the verb would be no help. */
function refuseVerbFirst([verb = "", typed = ""]: readonly string[]): void {
  if (!verbs.has(verb)) return;
  const noun = NOUNS.find((one) => typed === one.name || typed === pluralOf(one));
  throw usageFailure(
    `"${verb}" is not a noun: the noun comes first, as in drover run list`,
    noun ? `drover ${noun.name} --help` : "drover --help",
  );
}

function isNoMistake({ code }: CommanderError): boolean {
  return ["commander.helpDisplayed", "commander.help", "commander.version"].includes(code);
}
