// Queues and agents: waiting tasks, agents, circuits and cordons.
//
//   /queues             all queues, agents, circuits and cordons
//   /queues/NAME        one queue with its tasks, limits and pins
//   /queues?agent=ID    one start of an agent, by its session
import { useParams, useSearch } from "wouter";
import { PageHead } from "../../parts/page-head.tsx";
import { AgentList } from "./agent-list.tsx";
import { AgentView } from "./agent-view.tsx";
import { CircuitList } from "./circuits.tsx";
import { CordonList } from "./cordons.tsx";
import { NamespacePause } from "./namespace-pause.tsx";
import { QueueList } from "./queue-list.tsx";
import { QueueView } from "./queue-view.tsx";

export function QueuesPage() {
  const { "*": queue = "" } = useParams();
  const session = new URLSearchParams(useSearch()).get("agent");
  if (queue !== "") return <QueueView name={queue} />;
  if (session !== null) return <AgentView session={session} />;
  return (
    <>
      <PageHead title="Queues and agents">
        <NamespacePause />
      </PageHead>
      <QueueList />
      <CircuitList />
      <AgentList />
      <CordonList />
    </>
  );
}
