// The agents: one row for each start of an agent process.

import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { AgentInfo } from "@drover/proto/drover/v1/agent_info_pb.ts";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { Badge, type Status } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { circuitStatus } from "../../words/circuit-words.ts";
import { numberWords } from "../../words/counts.ts";

const PAGE = 200;
const EVERY_MS = 3_000;

export function agentAddress({ session }: Pick<AgentInfo, "session">): string {
  return `/queues?agent=${session.toHex()}`;
}

/**
 * Servers record the agents that call them every 20 s, and agents send heartbeats or polls more
 * often.
 */
const SILENT_MS = 60_000;

/** Why the agent gets no tasks, or its work. */
export function agentStatus(agent: AgentInfo): Status {
  const { cordons, circuits, held, lastSeenTime, silentSinceTime } = agent;
  if (silentSinceTime || (lastSeenTime && Date.now() - timestampMs(lastSeenTime) > SILENT_MS))
    return { tone: "idle", word: "silent" };
  if (cordons.length > 0) return { tone: "paused", word: "cordoned" };
  if (circuits.some((one) => circuitStatus(one).tone !== "ok"))
    return { tone: "bad", word: "circuit open" };
  return held > 0 ? { tone: "moving", word: "working" } : { tone: "ok", word: "ready" };
}

/** `any of mail`, `send, print of mail` */
export function asksFor({ queues, tasks }: AgentInfo): string {
  const where = queues.join(", ");
  return where === "" ? "none yet" : `${tasks.join(", ") || "any task"} of ${where}`;
}

const columns: readonly Column<AgentInfo>[] = [
  {
    title: "Agent",
    width: "minmax(9rem, 1.2fr)",
    cell: (agent) => <Link href={agentAddress(agent)}>{agent.id}</Link>,
  },
  { title: "State", width: "11rem", cell: (agent) => <Badge {...agentStatus(agent)} /> },
  { title: "Version", width: "minmax(5rem, 8rem)", cell: ({ version }) => version || "–" },
  {
    title: "Polls for",
    width: "minmax(10rem, 2fr)",
    cell: (agent) => <span title={asksFor(agent)}>{asksFor(agent)}</span>,
  },
  { title: "In progress", width: "4.5rem", align: "end", cell: ({ held }) => numberWords(held) },
  { title: "Last seen", width: "7rem", cell: ({ lastSeenTime }) => <Ago at={lastSeenTime} /> },
  {
    title: "Last success",
    width: "7rem",
    cell: ({ lastSuccessTime }) => <Ago at={lastSuccessTime} />,
  },
];

export function AgentList() {
  const namespace = useNamespace();
  const list = useList(
    `agents ${namespace}`,
    async (pageToken, signal) => {
      const page = await operator.listAgents({ namespace, pageSize: PAGE, pageToken }, { signal });
      return { rows: page.agents, nextPageToken: page.nextPageToken };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <Panel title="Agents">
      <Shown of={{ ...list.state, again: list.again }} what="the agents">
        {() =>
          list.rows.length === 0 ? (
            <EmptyState
              title="No agent has called in the last 10 minutes"
              text="Start one: drover init creates a project with an agent."
            />
          ) : (
            <DataTable
              name="Agents"
              columns={columns}
              rows={list.rows}
              keyOf={({ session }) => session.toHex()}
              hrefOf={agentAddress}
              onEnd={list.more}
              complete={list.complete}
            />
          )
        }
      </Shown>
    </Panel>
  );
}
