/**
 * The words of the command line: noun, verb, arguments, options. What each verb does is in verbs/.
 *
 * An option wins over the environment, that over the file, and that over the default.
 */
import { Command, type CommanderError } from "commander";
import { addConfigFile } from "./config-file.ts";
import { addGlobalOptions } from "./context.ts";
import { EXAMPLES } from "./examples.ts";
import { type Ended, usageFailure } from "./failure.ts";
import { addAgentVerbs } from "./verbs/agent.ts";
import { addCordonVerbs } from "./verbs/agent-cordon.ts";
import { addBench } from "./verbs/bench.ts";
import { addCircuitVerbs } from "./verbs/circuit.ts";
import { addCompletion } from "./verbs/completion.ts";
import { addConfigVerbs } from "./verbs/config.ts";
import { addDbVerbs } from "./verbs/db.ts";
import { addDev } from "./verbs/dev.ts";
import { addDoctor } from "./verbs/doctor.ts";
import { addEscalationVerbs } from "./verbs/escalation.ts";
import { addRunGraph } from "./verbs/graph.ts";
import { addHookVerbs } from "./verbs/hook.ts";
import { addInit } from "./verbs/init.ts";
import { addInterventionVerbs } from "./verbs/intervention.ts";
import { addMigrate } from "./verbs/migrate.ts";
import { addNamespaceVerbs } from "./verbs/namespace.ts";
import { addPartitionVerbs } from "./verbs/partition.ts";
import { addQueueVerbs } from "./verbs/queue.ts";
import { addRunBulk } from "./verbs/run-bulk.ts";
import { addRunCancel } from "./verbs/run-cancel.ts";
import { addRunDecide } from "./verbs/run-decide.ts";
import { addRunItems } from "./verbs/run-items.ts";
import { addRunList } from "./verbs/run-list.ts";
import { addRunPause } from "./verbs/run-pause.ts";
import { addRunRetry } from "./verbs/run-retry.ts";
import { addRunShow } from "./verbs/run-show.ts";
import { addRunSignal } from "./verbs/run-signal.ts";
import { addRunStart } from "./verbs/run-start.ts";
import { addRunStartMany } from "./verbs/run-start-many.ts";
import { addRunWatch } from "./verbs/run-watch.ts";
import { addRunWhy } from "./verbs/run-why.ts";
import { addScheduleVerbs } from "./verbs/schedule.ts";
import { addServer } from "./verbs/server.ts";
import { addStatus } from "./verbs/status.ts";
import { addSupervisor } from "./verbs/supervisor.ts";
import { addTokenVerbs } from "./verbs/token.ts";
import { addTriggerVerbs } from "./verbs/trigger.ts";
import { addWorkflowVerbs } from "./verbs/workflow.ts";

const moreHelp = `
Begin with:
  drover init hello --lang typescript      a workflow and an agent (or: go, python)
  drover dev                               a server with a database of its own, in ./.drover
  drover workflow test .                   play the scenarios that are here, without a server
  drover workflow apply book-holiday.yaml  register a workflow
  drover run start book-holiday --watch    start a run and follow it

Exit codes: 0 done, 1 run failed or request refused, 2 usage, 3 cannot connect, 4 not found.
Options win over the environment (DROVER_..., DATABASE_URL), that over drover.yaml or --config FILE,
and that over the defaults: drover config show.`;

export function createProgram(version: string, ended: Ended): Command {
  const program = new Command("drover")
    .description("Gets every step of a distributed job done, and chases the strays.")
    .version(version, "-V", "print the version")
    .addHelpText("after", moreHelp);
  addGlobalOptions(program);
  addInit(program, ended);
  addDev(program, ended);
  addServer(program, ended);
  addSupervisor(program, ended);
  addMigrate(program, ended);
  addStatus(program, ended);
  addDoctor(program, version, ended);
  addBench(program, ended);
  addDbVerbs(program.command("db").description("the database"), ended);
  addWorkflowVerbs(
    program.command("workflow").description("workflows: check, test, apply, versions, default"),
    ended,
  );
  const run = program.command("run").description("runs: start, follow, steer and stop them");
  addRunStart(run, ended);
  addRunStartMany(run, ended);
  addRunList(run, ended);
  addRunShow(run, ended);
  addRunItems(run, ended);
  addRunWhy(run, ended);
  addRunGraph(run, ended);
  addRunWatch(run, ended);
  addRunSignal(run, ended);
  addRunDecide(run, ended);
  addRunPause(run, ended);
  addRunCancel(run, ended);
  addRunRetry(run, ended);
  addRunBulk(run, ended);
  addEscalationVerbs(program.command("escalation").description("questions to people"), ended);
  addNamespaceVerbs(
    program.command("namespace").description("namespaces: create, retention, limits, pause"),
    ended,
  );
  const queue = program.command("queue").description("queues: what waits, pause, resume");
  addQueueVerbs(queue, ended);
  addCircuitVerbs(queue, ended);
  addScheduleVerbs(program.command("schedule").description("runs by the calendar"), ended);
  const agent = program.command("agent").description("agents: who performs tasks, cordon");
  addAgentVerbs(agent, ended);
  addCordonVerbs(agent, ended);
  addInterventionVerbs(
    program.command("intervention").description("what supervisors did, and why"),
    ended,
  );
  addPartitionVerbs(
    program.command("partition").description("who watches which runs, and who did"),
    ended,
  );
  addHookVerbs(program.command("hook").description("webhooks: who is told of what"), ended);
  addTriggerVerbs(
    program.command("trigger").description("triggers: what sets off runs by itself"),
    ended,
  );
  addTokenVerbs(program.command("token").description("API tokens: who may call"), ended);
  addCompletion(program, ended);
  addConfigVerbs(program, ended);
  addConfigFile(program);
  prepareAll(program);
  return program;
}

/** Commander would print errors and exit by itself; here every end goes one way, through main. */
function prepareAll(command: Command, parents = ""): void {
  const name = `${parents}${command.name()}`;
  command.exitOverride((error) => {
    if (isNoMistake(error)) throw error;
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

function isNoMistake({ code }: CommanderError): boolean {
  return ["commander.helpDisplayed", "commander.help", "commander.version"].includes(code);
}
