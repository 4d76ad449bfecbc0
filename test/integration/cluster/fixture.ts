// Servers and an agent on a store of several shards on Citus, for tests that stop its nodes.
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { silentLog } from "../../support/agent-script.ts";
import { citusUrl } from "../../support/citus.ts";
import { startDroverServer } from "../../support/drover-server.ts";
import { testShards } from "../../support/test-shards.ts";

/** false: the test can run. */
export const obstacle =
  citusUrl === undefined
    ? "only Citus has nodes: DROVER_CITUS names no cluster"
    : testShards < 4 && "DROVER_SHARDS=4 gives each worker a shard";

const SERVERS = 2;
const WORKFLOW = "trip";

export interface Trip {
  readonly client: Client;
  /** Of three steps, one after the other. */
  readonly workflow: string;
  /** Client and agent stay, and meet the same addresses again. */
  stopServers(): Promise<void>;
  startServers(): Promise<void>;
  close(): Promise<void>;
}

export async function openTrip(connectionString: string): Promise<Trip> {
  const open = (address = "127.0.0.1:0") => startDroverServer(connectionString, { address });
  let servers = await Promise.all(Array.from({ length: SERVERS }, () => open()));
  const addresses = servers.map((server) => server.address);
  const address = addresses.join(",");
  const client = createClient({ address });
  const handlers = { work: async () => ({ ok: true }) };
  const agent = createAgent({ address, id: "worker", handlers, log: silentLog });
  agent.start();
  await client.registerWorkflow({ workflow: WORKFLOW, steps: ["a", "b", "c"].map(stepOf) });
  const stopServers = async () => {
    await Promise.all(servers.map((server) => server.stop()));
    servers = [];
  };
  return {
    client,
    workflow: WORKFLOW,
    stopServers,
    async startServers() {
      servers = await Promise.all(addresses.map(open));
    },
    async close() {
      await agent.stop();
      client.close();
      await stopServers();
    },
  };
}

function stepOf(id: string, at: number, ids: readonly string[]) {
  const before = ids[at - 1];
  return {
    id,
    task: "work",
    timeouts: { heartbeat: "5s" },
    needs: before === undefined ? [] : [before],
  };
}
