// Which agents ask for the tasks of a queue, by what the servers have seen of them.
import type { Moment } from "../../core/attempt.ts";
import { cordonKey } from "./circuit-tables.ts";
import type { AgentRow, Tables } from "./tables.ts";

/** As operators.sql and reads.sql say it. */
const AGENT_SHOWN_MS = 60_000;

/** Sessions that have called in the last minute, and asked for it with their last poll. */
export function agentsAsking(
  tables: Tables,
  now: Moment,
  of: {
    readonly namespaceId: number;
    readonly queue: string;
    readonly task?: string;
    /** Those of this version alone; null or left out: all. */
    readonly agentVersion?: string | null;
  },
): readonly AgentRow[] {
  const { namespaceId, queue, task, agentVersion = null } = of;
  return tables.agent
    .all()
    .filter((row) => row.namespaceId === namespaceId && row.seenAt > now - AGENT_SHOWN_MS)
    .filter((row) => agentVersion === null || row.agentVersion === agentVersion)
    .filter(({ poll }) => {
      if (!poll?.queues.includes(queue)) return false;
      return task === undefined || poll.tasks.length === 0 || poll.tasks.includes(task);
    });
}

export function isCordoned({ cordon }: Tables, agent: AgentRow): boolean {
  const { namespaceId, agentId, agentVersion } = agent;
  return (
    cordon.get(cordonKey({ namespaceId, kind: "agent", name: agentId })) !== undefined ||
    cordon.get(cordonKey({ namespaceId, kind: "version", name: agentVersion })) !== undefined
  );
}
