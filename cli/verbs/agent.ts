/** `drover agent list` and `show`: the agents, what they poll for, and the tasks that they hold. */
import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type AgentInfo,
  AgentInfoSchema,
  type GetAgentResponse,
  GetAgentResponseSchema,
  ListAgentsResponseSchema,
} from "@drover/proto/drover/v1/agent_info_pb.ts";
import type { Circuit, Cordon } from "@drover/proto/drover/v1/circuit_pb.ts";
import { TaskKindSchema } from "@drover/proto/drover/v1/task_pb.ts";
import type { Command } from "commander";
import type { Connection } from "../client.ts";
import { contextOf, wholeNumber } from "../context.ts";
import { CliFailure, type Ended, exitCodes, usageFailure } from "../failure.ts";
import { limitMax, noteMore, readPages, writeList } from "../lists.ts";
import type { Output } from "../output.ts";
import { progressWords } from "../progress-words.ts";
import { printPairs, printTable } from "../table.ts";
import { clean, counted, labelWords, phrase, timeWords } from "../words.ts";
import { isClosed, stateWords } from "./circuit.ts";

interface ListOptions {
  readonly id?: string;
  readonly limit: number;
}

export function addAgentVerbs(agent: Command, ended: Ended): void {
  agent
    .command("list")
    .description("list the agents of the namespace, one line for each agent process")
    .option("--id <name>", "only agents of this name")
    .option("--limit <n>", "most agents to list", wholeNumber(1, limitMax), 1_000)
    .action(async ({ id, limit }: ListOptions, command: Command) => {
      const { output, connect } = contextOf(command, { names: true });
      const page = await list(connect(), id ?? "", limit);
      const { items: agents, nextPageToken } = page;
      const answer = create(ListAgentsResponseSchema, { agents, nextPageToken });
      writeList(output, [ListAgentsResponseSchema, answer], [AgentInfoSchema, agents]);
      output.names([...new Set(agents.map((one) => one.id))]);
      if (output.format === "table") printAgents(agents, output);
      if (agents.length === 0) output.note("no agent has called in the last 10 minutes");
      noteMore(page, limit, output);
      ended(exitCodes.done);
    });
  agent
    .command("show")
    .description("show one agent with its tasks in progress")
    .argument("<agent>", "its session, or its name if it is unique")
    .action(async (named: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const connection = connect();
      const { operator, namespace } = connection;
      const session = await sessionOf(connection, named);
      const answer = await operator.getAgent({ namespace, session });
      output.data(GetAgentResponseSchema, answer);
      if (output.format === "table") printAgent(answer, output);
      ended(exitCodes.done);
    });
}

function list({ operator, namespace }: Connection, agentId: string, limit: number) {
  return readPages<AgentInfo>(limit, async (page) => {
    const answer = await operator.listAgents({ namespace, agentId, ...page });
    return { items: answer.agents, nextPageToken: answer.nextPageToken };
  });
}

const sessionText = /^[0-9a-f]{32}$/i;

async function sessionOf(connection: Connection, named: string): Promise<Uint8Array> {
  if (sessionText.test(named)) return Buffer.from(named, "hex");
  const { items } = await list(connection, named, 2);
  const [first, second] = items;
  const next = second ? `drover agent list --id ${clean(named)}` : "drover agent list";
  if (!first)
    throw new CliFailure(`there is no agent "${clean(named)}"`, {
      code: exitCodes.notFound,
      next,
    });
  if (second)
    throw usageFailure(`several agents are called "${clean(named)}": name a session`, next);
  return first.session;
}

function hex(session: Uint8Array): string {
  return Buffer.from(session).toString("hex");
}

function printAgents(agents: readonly AgentInfo[], output: Output): void {
  const headers = [
    "AGENT",
    "SESSION",
    "VERSION",
    "QUEUES",
    "TASKS",
    "HOLDS",
    "LAST SEEN",
    "STATE",
    "KEPT",
  ];
  const rows = agents.map((agent) => [
    clean(agent.id),
    hex(agent.session),
    clean(agent.version),
    clean(agent.queues.join(" ")),
    taskWords(agent),
    String(agent.held),
    timeWords(agent.lastSeenTime),
    lifeWords(agent),
    restrictionWords(agent),
  ]);
  printTable(output, headers, rows);
}

/**
 * Servers record the agents that call them every 20 s, and agents send heartbeats or polls more
 * often.
 */
const silentMs = 60_000;

/**
 * A silent agent does not count as polling: it lost a lease or its connection, or has stopped
 * calling.
 */
function lifeWords({ silentSinceTime, lastSeenTime }: AgentInfo): string {
  if (silentSinceTime) return `silent since ${timeWords(silentSinceTime)}`;
  const isOld = lastSeenTime && Date.now() - timestampMs(lastSeenTime) > silentMs;
  return isOld ? `silent since ${timeWords(lastSeenTime)}` : "alive";
}

/** Why it gets no new tasks, or not all of them: `cordoned; circuit of charge` */
function restrictionWords({ cordons, circuits }: AgentInfo): string {
  const open = circuits.filter((one) => !isClosed(one)).map(({ task }) => clean(task));
  return [
    ...(cordons.length > 0 ? ["cordoned"] : []),
    ...(open.length > 0 ? [`circuit of ${open.join(" ")}`] : []),
  ].join("; ");
}

function taskWords({ queues, tasks }: AgentInfo): string {
  return tasks.length === 0 && queues.length > 0 ? "any" : clean(tasks.join(" "));
}

function printAgent({ agent, tasks }: GetAgentResponse, output: Output): void {
  if (!agent) return;
  printPairs(output, [
    ["agent", clean(agent.id)],
    ["session", hex(agent.session)],
    ["version", clean(agent.version)],
    ["labels", labelWords(agent.labels)],
    ["queues", clean(agent.queues.join(" "))],
    ["tasks", taskWords(agent)],
    ["server", clean(agent.server)],
    ["first seen", timeWords(agent.firstSeenTime)],
    ["last seen", timeWords(agent.lastSeenTime)],
    ["state", lifeWords(agent)],
    ["last heartbeat", timeWords(agent.lastHeartbeatTime)],
    ["last success", timeWords(agent.lastSuccessTime)],
    ["in progress", counted(agent.held, "task")],
    ...agent.cordons.map((one): [string, string] => ["cordoned", cordonWords(one)]),
    ...agent.circuits.map((one): [string, string] => ["circuit", circuitWords(one)]),
  ]);
  if (tasks.length === 0) return;
  output.line("");
  const headers = ["SINCE", "RUN", "STEP", "KIND", "TASK", "ATTEMPT", "UNTIL", "PROGRESS", ""];
  const rows = tasks.map((task) => [
    timeWords(task.grantedTime),
    clean(task.runId),
    clean(task.stepId),
    phrase(TaskKindSchema, task.kind),
    `${clean(task.task)} of ${clean(task.queue)}`,
    String(task.attempt),
    timeWords(task.attemptDeadlineTime),
    progressWords(task.progress),
    task.cancelling ? "asked to stop" : "",
  ]);
  printTable(output, headers, rows);
}

/** by ada at 2026-01-31 12:00:05Z: disk full */
function cordonWords({ of, cordonedBy, cordonedTime, why }: Cordon): string {
  const what = of.case === "version" ? "its version, " : "";
  const because = why === "" ? "" : `: ${clean(why)}`;
  return `${what}by ${clean(cordonedBy)} at ${timeWords(cordonedTime)}${because}`;
}

function circuitWords(circuit: Circuit): string {
  const { task, queue } = circuit;
  return `of ${clean(task)} in ${clean(queue)} ${stateWords(circuit)}`;
}
