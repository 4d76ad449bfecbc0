/** `drover agent cordon`, `uncordon`, `cordons`: agents that get no new tasks. */
import {
  type Cordon,
  CordonAgentResponseSchema,
  CordonSchema,
  ListCordonsResponseSchema,
  UncordonAgentResponseSchema,
} from "@drover/proto/drover/v1/circuit_pb.ts";
import type { Command } from "commander";
import { instanceOf, instanceWords } from "../agent-instances.ts";
import {
  addChangeOptions,
  type ByOptions,
  personOf,
  type ReasonOptions,
} from "../change-options.ts";
import type { Connection } from "../client.ts";
import { contextOf } from "../context.ts";
import { uncordonCommand } from "../cordon-words.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import { addList, documentOf } from "../list-verb.ts";
import { clean, timeWords } from "../words.ts";

interface OfOptions {
  readonly agentVersion?: string;
  readonly instance?: string;
}

interface CordonOptions extends OfOptions, ByOptions, ReasonOptions {}

export function addCordonVerbs(agent: Command, ended: Ended): void {
  addCordon(agent, ended);
  addUncordon(agent, ended);
  addCordonList(agent, ended);
}

function addCordon(agent: Command, ended: Ended): void {
  addChangeOptions(agent.command("cordon"), { by: true, reason: "optional" })
    .description(
      "stop giving tasks to an agent, one instance of it, or all agents of a version; they finish what they have",
    )
    .argument("[agent]", "id of the agent")
    .option("--instance <id>", "only this instance: the first characters of its session")
    .option("--agent-version <version>", "all agents of this version instead")
    .action(async (id: string | undefined, options: CordonOptions, command: Command) => {
      const by = personOf(options, command);
      const { output, connect } = contextOf(command);
      const connection = connect();
      const of = await ofWhat(connection, id, options, "drover agent cordon --help");
      const { operator, namespace } = connection;
      const answer = await operator.cordonAgent({ namespace, of, by, why: options.reason });
      output.data(CordonAgentResponseSchema, answer);
      const { cordon } = answer;
      if (output.format === "table" && cordon) {
        const because = cordon.why === "" ? "" : `: ${clean(cordon.why)}`;
        const since = timeWords(cordon.cordonedTime);
        output.line(
          `${nameOf(cordon.of, cordon.sessionAgentId)} cordoned by ${clean(cordon.cordonedBy)} at ${since}${because}`,
        );
      }
      if (cordon) output.next(uncordonCommand(cordon));
      ended(exitCodes.done);
    });
}

function addUncordon(agent: Command, ended: Ended): void {
  agent
    .command("uncordon")
    .description("give tasks again to an agent, one instance of it, or all agents of a version")
    .argument("[agent]", "id of the agent")
    .option("--instance <id>", "only this instance: the first characters of its session")
    .option("--agent-version <version>", "all agents of this version instead")
    .action(async (id: string | undefined, options: OfOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const connection = connect();
      const of = await ofWhat(connection, id, options, "drover agent uncordon --help");
      const { operator, namespace } = connection;
      const answer = await operator.uncordonAgent({ namespace, of });
      output.data(UncordonAgentResponseSchema, answer);
      const words = answer.uncordoned ? "uncordoned" : "was not cordoned";
      if (output.format === "table") output.line(`${nameOf(of, id ?? "")} ${words}`);
      ended(exitCodes.done);
    });
}

function addCordonList(agent: Command, ended: Ended): void {
  const verb = agent.command("cordons").description("list cordoned agents, instances and versions");
  addList(verb, ended, {
    headers: ["CORDONED", "BY", "SINCE", "REASON"],
    async read({ operator, namespace }) {
      const { cordons } = await operator.listCordons({ namespace });
      return { items: cordons, nextPageToken: "" };
    },
    item: CordonSchema,
    document: ({ items: cordons }) => documentOf(ListCordonsResponseSchema, { cordons }),
    row: (one, output) => [
      nameOf(one.of, one.sessionAgentId),
      clean(one.cordonedBy),
      output.when(one.cordonedTime),
      clean(one.why),
    ],
    none: "no agent is cordoned",
  });
}

type Of = Exclude<Cordon["of"], { case: undefined }>;

async function ofWhat(
  connection: Connection,
  id: string | undefined,
  { agentVersion, instance }: OfOptions,
  help: string,
): Promise<Of> {
  if (id !== undefined && agentVersion === undefined) {
    if (instance === undefined) return { case: "agentId", value: id };
    return { case: "session", value: (await instanceOf(connection, id, instance)).session };
  }
  if (id === undefined && agentVersion !== undefined && instance === undefined)
    return { case: "version", value: agentVersion };
  throw usageFailure(
    "name an agent, with --instance for one instance of it, or give --agent-version and a version",
    help,
  );
}

/** `agentId`: of the instance. */
function nameOf(of: Cordon["of"], agentId: string): string {
  switch (of.case) {
    case "version":
      return `version ${clean(of.value)}`;
    case "session":
      return `instance ${instanceWords(of.value)} of agent ${clean(agentId)}`;
    default:
      return `agent ${clean(of.value ?? "")}`;
  }
}
