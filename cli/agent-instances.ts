/**
 * Instances of agents: one for each start of an agent's process. An instance is named by the first
 * characters of its session.
 */
import { durationMs } from "@bufbuild/protobuf/wkt";
import type {
  AgentInfo,
  AttemptCounts,
  FailingAgent,
} from "@drover/proto/drover/v1/agent_info_pb.ts";
import type { Connection } from "./client.ts";
import { CliFailure, exitCodes, usageFailure } from "./failure.ts";
import { limitMax, readPages } from "./lists.ts";
import { clean, counted, durationWords } from "./words.ts";

const shownLength = 8;

export function sessionHex(session: Uint8Array): string {
  return Buffer.from(session).toString("hex");
}

/** `3f2a91bc` */
export function instanceWords(session: Uint8Array): string {
  return sessionHex(session).slice(0, shownLength);
}

/** The agents of this id; empty: all. */
export function listInstances({ operator, namespace }: Connection, agentId: string, limit: number) {
  return readPages<AgentInfo>(limit, async (page) => {
    const answer = await operator.listAgents({ namespace, agentId, ...page });
    return { items: answer.agents, nextPageToken: answer.nextPageToken };
  });
}

/**
 * The one instance of the agent, or the one whose session begins with `instance`. Throws if there
 * is none, or more than one.
 */
export async function instanceOf(
  connection: Connection,
  agentId: string,
  instance: string | undefined,
): Promise<AgentInfo> {
  const { items } = await listInstances(connection, agentId, limitMax);
  const start = (instance ?? "").toLowerCase();
  const found = items.filter(({ session }) => sessionHex(session).startsWith(start));
  const [first, second] = found;
  const all = `drover agent list --id ${clean(agentId)}`;
  const named = instance === undefined ? "" : `instance ${clean(instance)} of `;
  if (!first)
    throw new CliFailure(`there is no ${named}agent "${clean(agentId)}"`, {
      code: exitCodes.notFound,
      next: items.length > 0 ? all : "drover agent list",
    });
  if (second)
    throw usageFailure(
      instance === undefined
        ? `agent "${clean(agentId)}" has ${found.length} instances: name one with --instance`
        : `${found.length} instances of agent "${clean(agentId)}" begin with "${clean(instance)}": name more of it`,
      all,
    );
  return first;
}

/** A smaller difference may be the way of the call. */
const clockMs = 5_000;

/** `1h00m behind`; empty: the agent's clock is the server's, or is not known. */
export function clockWords({ clockAhead }: Pick<AgentInfo, "clockAhead">): string {
  const ms = clockAhead ? durationMs(clockAhead) : 0;
  if (Math.abs(ms) < clockMs) return "";
  return `${durationWords(Math.abs(ms))} ${ms > 0 ? "ahead" : "behind"}`;
}

/** `200`, `3 of 200 failed, 2 unknown`; empty if no attempt ended. */
export function attemptsWords(counts: AttemptCounts | undefined): string {
  const { ended, failed, unknown } = counts ?? { ended: 0, failed: 0, unknown: 0 };
  if (ended === 0) return "";
  if (failed + unknown === 0) return String(ended);
  if (unknown === 0) return `${failed} of ${ended} failed`;
  return failed === 0
    ? `${unknown} of ${ended} unknown`
    : `${failed} of ${ended} failed, ${unknown} unknown`;
}

/**
 * `agent "mail-1" (host pc-7, pid 12, instance 3f2a91bc) failed 38 of 38 attempts at "send" of
 * queue "mail" in the last hour, 4 of them with an unknown outcome; other agents succeed with
 * 98 % of theirs`
 */
export function failingWords(agent: FailingAgent): string {
  const { agentId, task, queue, attempts, others } = agent;
  const { failed, unknown, ended } = attempts ?? { failed: 0, unknown: 0, ended: 0 };
  const what = `failed ${failed + unknown} of ${counted(ended, "attempt")}`;
  const open = unknown === 0 ? "" : `, ${unknown} of them with an unknown outcome`;
  return `agent "${clean(agentId)}" (${whereWords(agent)}) ${what} at "${clean(task)}" of queue "${clean(queue)}" in the last hour${open}; ${othersWords(others)}`;
}

/** `host pc-7, pid 12, instance 3f2a91bc` */
export function whereWords({ host, pid, session }: Pick<AgentInfo, "host" | "pid" | "session">) {
  return [
    ...(host === "" ? [] : [`host ${clean(host)}`]),
    ...(pid === 0 ? [] : [`pid ${pid}`]),
    `instance ${instanceWords(session)}`,
  ].join(", ");
}

function othersWords(others: AttemptCounts | undefined): string {
  if (!others || others.ended === 0) return "no other agent attempted it";
  const { ended, failed, unknown } = others;
  // Rounded down, so that 100 means all.
  const share = Math.floor((100 * (ended - failed - unknown)) / ended);
  return `other agents succeed with ${share} % of theirs`;
}

export function cordonInstanceCommand({ agentId, session }: FailingAgent): string {
  return `drover agent cordon ${clean(agentId)} --instance ${instanceWords(session)} --by NAME`;
}
