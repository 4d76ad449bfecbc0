// Which agents poll for the tasks of a queue, by what servers have recorded of them.
import type { EpochMs } from "../../core/model/attempt.ts";
import { cordonKey } from "./circuit-tables.ts";
import type { AgentRow } from "./process-tables.ts";
import type { Tables } from "./tables.ts";

/** The same as in operators.sql and reads.sql. */
const AGENT_SHOWN_MS = 60_000;

interface Asked {
  readonly namespaceId: number;
  readonly queue: string;
  readonly task?: string;
  /** Only agents of this version; null or left out: all. */
  readonly agentVersion?: string | null;
}

/** Sessions seen in the last minute that are not silent and asked for it with their last poll. */
export function agentsAsking(tables: Tables, now: EpochMs, of: Asked): readonly AgentRow[] {
  return allAsking(tables, of).filter(
    ({ silentSince, seenAt }) => silentSince === null && seenAt > now - AGENT_SHOWN_MS,
  );
}

/** All agents that polled the lane have fallen silent, as the view silent_lane defines it. */
export function isSilent(tables: Tables, now: EpochMs, of: Asked, polledMs: number): boolean {
  const asking = allAsking(tables, of);
  const since = now - Math.max(polledMs, AGENT_SHOWN_MS);
  return (
    asking.some(({ silentSince }) => silentSince !== null) &&
    !asking.some(({ silentSince, seenAt }) => silentSince === null && seenAt > since)
  );
}

function allAsking(tables: Tables, of: Asked): readonly AgentRow[] {
  const { namespaceId, queue, task, agentVersion = null } = of;
  return tables.agent
    .all()
    .filter((row) => row.namespaceId === namespaceId)
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
