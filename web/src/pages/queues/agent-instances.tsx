// The instances of one agent side by side, when several are live: what tells them apart, and which
// of them fails.
import type { AgentInfo } from "@drover/proto/drover/v1/agent_info_pb.ts";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { attemptsWords, instanceWords } from "../../words/agent-words.ts";
import { counted } from "../../words/counts.ts";
import { agentAddress, agentStatus, isLive } from "./agent-list.tsx";

const EVERY_MS = 3_000;
const SHOWN_MAX = 200;

/** Nothing while the agent has a single live instance. */
export function AgentInstances({ agent }: { readonly agent: AgentInfo }) {
  const namespace = useNamespace();
  const seen = useCall(
    `instances ${namespace} ${agent.id}`,
    (signal) =>
      operator.listAgents({ namespace, agentId: agent.id, pageSize: SHOWN_MAX }, { signal }),
    { everyMs: EVERY_MS },
  );
  if (seen.kind !== "loaded") return null;
  const { agents, nextPageToken } = seen.value;
  const live = agents.filter(isLive);
  if (live.length < 2) return null;
  const all = nextPageToken === "" ? "" : ` of more than ${SHOWN_MAX}`;
  return (
    <Panel
      title={`${counted(live.length, "live instance")}${all}`}
      beside={<span className="dim">{differenceWords(live)}</span>}
    >
      <DataTable
        name="Live instances"
        columns={columns(agent)}
        rows={live}
        keyOf={({ session }) => session.toHex()}
        hrefOf={agentAddress}
      />
    </Panel>
  );
}

/** `They differ in host and version.` */
function differenceWords(agents: readonly AgentInfo[]): string {
  const facts: readonly (readonly [string, (agent: AgentInfo) => string])[] = [
    ["host", ({ host }) => host],
    ["version", ({ version }) => version],
    ["capacity", ({ capacity }) => String(capacity)],
    ["what they poll for", ({ queues, tasks }) => JSON.stringify([queues, tasks])],
  ];
  const different = facts.filter(([, of]) => new Set(agents.map(of)).size > 1);
  const names = different.map(([name]) => name);
  return names.length === 0
    ? "Host, version, capacity and what they poll for are the same."
    : `They differ in ${new Intl.ListFormat("en").format(names)}.`;
}

const columns = (shown: AgentInfo): readonly Column<AgentInfo>[] => [
  {
    title: "Instance",
    width: "minmax(9rem, 1fr)",
    cell: (agent): ReactNode => {
      const isShown = agent.session.toHex() === shown.session.toHex();
      const name = instanceWords(agent.session);
      return isShown ? `${name} (this one)` : <Link href={agentAddress(agent)}>{name}</Link>;
    },
  },
  { title: "State", width: "9rem", cell: (agent) => <Badge {...agentStatus(agent)} /> },
  { title: "Host", width: "minmax(5rem, 1fr)", cell: ({ host }) => host || "–" },
  { title: "Pid", width: "5rem", align: "end", cell: ({ pid }) => pid || "–" },
  { title: "Started", width: "6.5rem", cell: ({ startedTime }) => <Ago at={startedTime} /> },
  { title: "Version", width: "minmax(4rem, 7rem)", cell: ({ version }) => version || "–" },
  {
    title: "Attempts in the last hour",
    width: "minmax(11rem, 1.5fr)",
    cell: ({ attempts }) => attemptsWords(attempts) || "none",
  },
  {
    title: "Last success",
    width: "6.5rem",
    cell: ({ lastSuccessTime }) => <Ago at={lastSuccessTime} />,
  },
];
