/**
 * `drover agent list` and `show`: the instances of agents, what they poll for, how their attempts
 * ended, and the tasks that they hold.
 */
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
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
import {
  attemptsWords,
  clockWords,
  instanceOf,
  instanceWords,
  listInstances,
  sessionHex,
} from "../agent-instances.ts";
import type { Connection } from "../client.ts";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax } from "../lists.ts";
import type { Output } from "../output.ts";
import { progressWords } from "../progress-words.ts";
import { printPairs, printTable } from "../table.ts";
import { clean, counted, labelWords, phrase, timeWords } from "../words.ts";
import { isClosed, stateWords } from "./circuit.ts";

interface ListOptions {
  readonly id?: string;
  readonly limit: number;
}

interface ShowOptions {
  readonly instance?: string;
}

export function addAgentVerbs(agent: Command, ended: Ended): void {
  addAgentList(agent, ended);
  agent
    .command("show")
    .description("show one agent with its attempts and its tasks in progress")
    .argument("<agent>", "its name, or its session")
    .option("--instance <id>", "the first characters of its session, if several have its name")
    .action(async (named: string, { instance }: ShowOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const connection = connect();
      const { operator, namespace } = connection;
      const session = await sessionOf(connection, named, instance);
      const answer = await operator.getAgent({ namespace, session });
      output.data(GetAgentResponseSchema, answer);
      if (output.format === "table") printAgent(answer, output);
      ended(exitCodes.done);
    });
}

const sessionText = /^[0-9a-f]{32}$/i;

async function sessionOf(
  connection: Connection,
  named: string,
  instance: string | undefined,
): Promise<Uint8Array> {
  if (sessionText.test(named)) return Buffer.from(named, "hex");
  return (await instanceOf(connection, named, instance)).session;
}

function addAgentList(agent: Command, ended: Ended): void {
  const verb = agent
    .command("list")
    .description(
      "list the agents of the namespace, one line for each instance (start of a process)",
    )
    .option("--id <name>", "only agents of this name")
    .option("--limit <n>", "most agents to list", wholeNumber(1, limitMax), 1_000);
  addList(verb, ended, {
    headers: [
      "AGENT",
      "INSTANCE",
      "VERSION",
      "HOST",
      "PID",
      "STARTED",
      "QUEUES",
      "TASKS",
      "HOLDS",
      "LAST HOUR",
      "STATE",
      "SILENT SINCE",
      "KEPT",
    ],
    read: (connection, { id = "", limit }: ListOptions) => listInstances(connection, id, limit),
    item: AgentInfoSchema,
    document: ({ items: agents, nextPageToken }) =>
      documentOf(ListAgentsResponseSchema, { agents, nextPageToken }),
    row: (one, output) => [
      clean(one.id),
      instanceWords(one.session),
      clean(one.version),
      clean(one.host),
      one.pid === 0 ? "" : String(one.pid),
      output.when(one.startedTime),
      clean(one.queues.join(" ")),
      taskWords(one),
      heldWords(one),
      attemptsWords(one.attempts),
      stateWithClock(one),
      output.when(silentSince(one)),
      restrictionWords(one),
    ],
    nameOf: ({ id }) => id,
    none: "no agent has called in the last 10 minutes",
    notes({ items }, output) {
      for (const twins of severalLive(items)) output.note(twins);
    },
  });
}

/** `3 of 10`; without a capacity that the agent states: `3` */
function heldWords({ held, capacity }: AgentInfo): string {
  return capacity === 0 ? String(held) : `${held} of ${capacity}`;
}

/** Agents of one name may be on purpose; that a person has started one too many looks the same. */
function severalLive(agents: readonly AgentInfo[]): readonly string[] {
  const live = agents.filter((agent) => !silentSince(agent));
  return [...Map.groupBy(live, ({ id }) => id)].flatMap(([id, of]) =>
    of.length > 1 ? [`agent "${clean(id)}" has ${of.length} live instances`] : [],
  );
}

/**
 * Servers record the agents that call them every 20 s, and agents send heartbeats or polls more
 * often.
 */
const silentMs = 60_000;

/** `alive, clock 1h00m behind` */
function stateWithClock(agent: AgentInfo): string {
  const clock = clockWords(agent);
  const state = silentSince(agent) ? "silent" : "alive";
  return clock === "" ? state : `${state}, clock ${clock}`;
}

/**
 * A silent agent does not count as polling: it lost a lease or its connection, or has stopped
 * calling. Undefined: it is alive.
 */
function silentSince({ silentSinceTime, lastSeenTime }: AgentInfo): Timestamp | undefined {
  if (silentSinceTime) return silentSinceTime;
  const isOld = lastSeenTime && Date.now() - timestampMs(lastSeenTime) > silentMs;
  return isOld ? lastSeenTime : undefined;
}

function lifeWords(agent: AgentInfo): string {
  const since = silentSince(agent);
  return since ? `silent since ${timeWords(since)}` : "alive";
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
    ["session", sessionHex(agent.session)],
    ["version", clean(agent.version)],
    ["host", clean(agent.host)],
    ["pid", agent.pid === 0 ? "" : String(agent.pid)],
    ["started", timeWords(agent.startedTime)],
    ["capacity", agent.capacity === 0 ? "" : counted(agent.capacity, "task")],
    ["labels", labelWords(agent.labels)],
    ["queues", clean(agent.queues.join(" "))],
    ["tasks", taskWords(agent)],
    ["server", clean(agent.server)],
    ["first seen", timeWords(agent.firstSeenTime)],
    ["last seen", timeWords(agent.lastSeenTime)],
    ["state", lifeWords(agent)],
    ["clock", clockWords(agent) && `${clockWords(agent)}; run NTP on its machine`],
    ["last heartbeat", timeWords(agent.lastHeartbeatTime)],
    ["last success", timeWords(agent.lastSuccessTime)],
    ["last hour", attemptsWords(agent.attempts) || "no attempt ended"],
    ["in progress", counted(agent.held, "task")],
    ...agent.cordons.map((one): [string, string] => ["cordoned", cordonWords(one)]),
    ...agent.circuits.map((one): [string, string] => ["circuit", circuitWords(one)]),
  ]);
  printTaskAttempts(agent, output);
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

function printTaskAttempts({ taskAttempts }: AgentInfo, output: Output): void {
  if (taskAttempts.length === 0) return;
  output.line("");
  const rows = taskAttempts.map(({ queue, task, attempts }) => [
    clean(queue),
    clean(task),
    String(attempts?.ended ?? 0),
    String(attempts?.failed ?? 0),
    String(attempts?.unknown ?? 0),
  ]);
  printTable(output, ["QUEUE", "TASK", "LAST HOUR", "FAILED", "UNKNOWN"], rows);
}

/** by ada at 2026-01-31 12:00:05Z: disk full */
function cordonWords({ of, cordonedBy, cordonedTime, why }: Cordon): string {
  const what = { agentId: "", version: "its version, ", session: "this instance, " };
  const because = why === "" ? "" : `: ${clean(why)}`;
  return `${of.case ? what[of.case] : ""}by ${clean(cordonedBy)} at ${timeWords(cordonedTime)}${because}`;
}

function circuitWords(circuit: Circuit): string {
  const { task, queue } = circuit;
  return `of ${clean(task)} in ${clean(queue)} ${stateWords(circuit)}`;
}
