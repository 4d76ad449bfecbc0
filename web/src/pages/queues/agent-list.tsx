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
import { attemptsWords, clockWords, instanceWords, processWords } from "../../words/agent-words.ts";
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

export function isLive({ lastSeenTime, silentSinceTime }: AgentInfo): boolean {
  if (silentSinceTime) return false;
  return !lastSeenTime || Date.now() - timestampMs(lastSeenTime) <= SILENT_MS;
}

/** Why the agent gets no tasks, or its work. */
export function agentStatus(agent: AgentInfo): Status {
  const { cordons, circuits, held } = agent;
  if (!isLive(agent)) return { tone: "idle", word: "silent" };
  if (cordons.length > 0) return { tone: "paused", word: "cordoned" };
  if (circuits.some((one) => circuitStatus(one).tone !== "ok"))
    return { tone: "bad", word: "circuit open" };
  if (agent.taskAttempts.some(({ failing }) => failing)) return { tone: "bad", word: "failing" };
  if (clockWords(agent) !== "") return { tone: "warning", word: "wrong clock" };
  return held > 0 ? { tone: "moving", word: "working" } : { tone: "ok", word: "ready" };
}

/** `any of mail`, `send, print of mail` */
export function asksFor({ queues, tasks }: AgentInfo): string {
  const where = queues.join(", ");
  return where === "" ? "none yet" : `${tasks.join(", ") || "any task"} of ${where}`;
}

/** `twins`: how many live instances have the name, by name. */
const columns = (twins: ReadonlyMap<string, number>): readonly Column<AgentInfo>[] => [
  {
    title: "Agent",
    width: "minmax(8rem, 1.2fr)",
    cell: (agent) => {
      const live = twins.get(agent.id) ?? 0;
      return (
        <>
          <Link href={agentAddress(agent)}>{agent.id}</Link>
          {live > 1 && <span className="dim"> {live} instances</span>}
        </>
      );
    },
  },
  {
    title: "Process",
    width: "minmax(7.5rem, 1fr)",
    cell: (agent) => (
      <span title={`instance ${instanceWords(agent.session)}`}>
        {processWords(agent) || instanceWords(agent.session)}
      </span>
    ),
  },
  { title: "Started", width: "5.5rem", cell: ({ startedTime }) => <Ago at={startedTime} /> },
  { title: "State", width: "8rem", cell: (agent) => <Badge {...agentStatus(agent)} /> },
  { title: "Version", width: "minmax(3.5rem, 6rem)", cell: ({ version }) => version || "–" },
  {
    title: "Polls for",
    width: "minmax(7rem, 1.5fr)",
    cell: (agent) => <span title={asksFor(agent)}>{asksFor(agent)}</span>,
  },
  { title: "In progress", width: "5.5rem", align: "end", cell: heldWords },
  {
    title: "Last hour",
    width: "minmax(7.5rem, 1fr)",
    cell: ({ attempts }) => attemptsWords(attempts) || "–",
  },
  {
    title: "Last success",
    width: "6rem",
    cell: ({ lastSuccessTime }) => <Ago at={lastSuccessTime} />,
  },
];

/** `3 of 10`; without a capacity that the agent states: `3` */
export function heldWords({ held, capacity }: AgentInfo): string {
  return capacity === 0 ? numberWords(held) : `${numberWords(held)} of ${numberWords(capacity)}`;
}

/** Live instances by the name of their agent. */
function liveByName(agents: readonly AgentInfo[]): ReadonlyMap<string, number> {
  const byName = Map.groupBy(agents.filter(isLive), ({ id }) => id);
  return new Map([...byName].map(([id, of]) => [id, of.length]));
}

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
              columns={columns(liveByName(list.rows))}
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
