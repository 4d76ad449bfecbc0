// The tables of the memory store about processes: agents and servers.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { AgentRecord } from "../operators.ts";
import { createTable, type Table } from "./table.ts";
import type { Journal } from "./transactions.ts";

interface AgentSessionRow {
  readonly session: string;
  readonly namespaceId: number;
  readonly agentId: string;
  readonly agentVersion: string;
  readonly lastHeartbeatAt: EpochMs;
}

export interface AgentRow
  extends Pick<
    AgentRecord,
    "session" | "agentId" | "agentVersion" | "poll" | "seenAt" | "silentSince"
  > {
  readonly namespaceId: number;
  readonly calledAt: EpochMs;
}

interface LanePollerRow {
  readonly lane: number;
  readonly node: string;
  readonly seenAt: EpochMs;
}

/** One row for all writer numbers: transactions are serial, and a take-over fences them all. */
interface WriterRow {
  readonly node: string;
}

interface PartitionRow {
  readonly partition: number;
  readonly node: string | null;
  readonly epoch: number;
}

export interface ProcessTables {
  readonly agentSession: Table<AgentSessionRow, never>;
  readonly agent: Table<AgentRow, never>;
  readonly lanePoller: Table<LanePollerRow, "lane">;
  readonly writer: Table<WriterRow, never>;
  readonly partitionLease: Table<PartitionRow, never>;
}

export function createTablesOfProcesses(journal: Journal): ProcessTables {
  return {
    agentSession: createTable<AgentSessionRow, never>(journal, {
      name: "agent_session",
      key: (row) => row.session,
      indexes: {},
    }),
    agent: createTable<AgentRow, never>(journal, {
      name: "agent",
      key: (row) => row.session,
      indexes: {},
    }),
    lanePoller: createTable<LanePollerRow, "lane">(journal, {
      name: "lane_poller",
      key: (row) => `${row.lane}/${row.node}`,
      indexes: { lane: (row) => row.lane },
    }),
    writer: createTable<WriterRow, never>(journal, {
      name: "writer",
      key: (row) => row.node,
      indexes: {},
    }),
    partitionLease: createTable<PartitionRow, never>(journal, {
      name: "partition_lease",
      key: (row) => String(row.partition),
      indexes: {},
    }),
  };
}
