/** `drover agent cordon`, `uncordon`, `cordons`: agents that get no new tasks. */
import {
  type Cordon,
  CordonAgentResponseSchema,
  CordonSchema,
  ListCordonsResponseSchema,
  UncordonAgentResponseSchema,
} from "@drover/proto/drover/v1/circuit_pb.ts";
import type { Command } from "commander";
import {
  addChangeOptions,
  type ByOptions,
  personOf,
  type ReasonOptions,
} from "../change-options.ts";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import { addList, documentOf } from "../list-verb.ts";
import { clean, timeWords } from "../words.ts";

interface OfOptions {
  readonly agentVersion?: string;
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
      "stop giving tasks to an agent, or to all agents of a version; they finish what they have",
    )
    .argument("[agent]", "id of the agent")
    .option("--agent-version <version>", "all agents of this version instead")
    .action(async (id: string | undefined, options: CordonOptions, command: Command) => {
      const of = ofWhat(id, options, "drover agent cordon --help");
      const by = personOf(options);
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.cordonAgent({ namespace, of, by, why: options.reason });
      output.data(CordonAgentResponseSchema, answer);
      const { cordon } = answer;
      if (output.format === "table" && cordon) {
        const because = cordon.why === "" ? "" : `: ${clean(cordon.why)}`;
        const since = timeWords(cordon.cordonedTime);
        output.line(
          `${nameOf(cordon)} cordoned by ${clean(cordon.cordonedBy)} at ${since}${because}`,
        );
      }
      const what = of.case === "version" ? `--agent-version ${clean(of.value)}` : clean(of.value);
      output.next(`drover agent uncordon ${what}`);
      ended(exitCodes.done);
    });
}

function addUncordon(agent: Command, ended: Ended): void {
  agent
    .command("uncordon")
    .description("give tasks again to an agent, or to all agents of a version")
    .argument("[agent]", "id of the agent")
    .option("--agent-version <version>", "all agents of this version instead")
    .action(async (id: string | undefined, options: OfOptions, command: Command) => {
      const of = ofWhat(id, options, "drover agent uncordon --help");
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.uncordonAgent({ namespace, of });
      output.data(UncordonAgentResponseSchema, answer);
      const words = answer.uncordoned ? "uncordoned" : "was not cordoned";
      const what =
        of.case === "version" ? `version ${clean(of.value)}` : `agent ${clean(of.value)}`;
      if (output.format === "table") output.line(`${what} ${words}`);
      ended(exitCodes.done);
    });
}

function addCordonList(agent: Command, ended: Ended): void {
  const verb = agent.command("cordons").description("list cordoned agents and versions");
  addList(verb, ended, {
    headers: ["CORDONED", "BY", "SINCE", "REASON"],
    async read({ operator, namespace }) {
      const { cordons } = await operator.listCordons({ namespace });
      return { items: cordons, nextPageToken: "" };
    },
    item: CordonSchema,
    document: ({ items: cordons }) => documentOf(ListCordonsResponseSchema, { cordons }),
    row: (one, output) => [
      nameOf(one),
      clean(one.cordonedBy),
      output.when(one.cordonedTime),
      clean(one.why),
    ],
    none: "no agent is cordoned",
  });
}

type Of =
  | { readonly case: "agentId"; readonly value: string }
  | { readonly case: "version"; readonly value: string };

function ofWhat(id: string | undefined, { agentVersion }: OfOptions, help: string): Of {
  if (id !== undefined && agentVersion === undefined) return { case: "agentId", value: id };
  if (id === undefined && agentVersion !== undefined)
    return { case: "version", value: agentVersion };
  throw usageFailure("name an agent, or give --agent-version and a version", help);
}

function nameOf({ of }: Cordon): string {
  return of.case === "version" ? `version ${clean(of.value)}` : `agent ${clean(of.value ?? "")}`;
}
