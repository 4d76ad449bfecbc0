// A world for the dashboard to show: a server process with its database, and agents of a small shop
// that do what a test asks.
import { createAgent } from "../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../sdk/typescript/client.ts";
import { PermanentError } from "../../sdk/typescript/task-errors.ts";
import type { WorkflowSpec } from "../../sdk/typescript/workflow.ts";
import { silentLog } from "../support/agent-script.ts";
import { type ServerProcess, spawnDroverServer } from "../support/drover-server.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

export interface Shop {
  readonly address: string;
  readonly connectionString: string;
  readonly client: Client;
  /**
   * Waits until an agent holds a task of the run at `hold`, and ends it; `sold-out`: as a failure.
   */
  release(runId: string, how: "done" | "sold-out"): Promise<void>;
  /** Kills the server and starts another one at its address. */
  restart(): Promise<void>;
  kill(): Promise<void>;
  close(): Promise<void>;
}

const retry = [{ attempts: 1 }];

/** Pays, holds until it gets a message, ships; what was paid is given back. */
export const ORDER: WorkflowSpec = {
  workflow: "order",
  steps: [
    { id: "pay", task: "pay", compensate: { task: "refund" } },
    { id: "pack", needs: ["pay"], task: "hold", retry },
    { id: "ship", needs: ["pack"], task: "pay" },
  ],
};

/** Asks a person as soon as it runs. */
export const ASKS: WorkflowSpec = {
  workflow: "asks",
  steps: [{ id: "count", task: "fail", retry, onFailure: "escalate" }],
};

/** Asks a person about an error that is one long word. */
export const BABBLES: WorkflowSpec = {
  workflow: "babbles",
  steps: [{ id: "say", task: "babble", retry, onFailure: "escalate" }],
};

export async function openShop(): Promise<Shop> {
  const database = await createTestDatabase();
  let server: ServerProcess = await spawnDroverServer(database.connectionString);
  const { address } = server;
  const client = createClient({ address });
  const endsByRun = new Map<string, (how: "done" | "sold-out") => void>();
  const agent = createAgent({
    address,
    id: "shop-1",
    slots: 20,
    log: silentLog,
    handlers: {
      pay: async () => ({ paid: true, receipt: "r-17" }),
      refund: async () => {},
      fail: async () => {
        throw new PermanentError("miscounted", "the shelf says 3, the list says 4");
      },
      babble: async () => {
        throw new PermanentError("babble", "x".repeat(3_000));
      },
      async hold({ runId }, { progress, signal }) {
        progress({ fraction: 0.4 });
        const how = await new Promise<"done" | "sold-out">((resolve, reject) => {
          endsByRun.set(runId, resolve);
          signal.addEventListener("abort", () => reject(signal.reason));
        });
        if (how === "sold-out") throw new PermanentError("sold-out", "nothing is left of it");
        return { packed: true };
      },
    },
  });
  agent.start();
  for (const workflow of [ORDER, ASKS, BABBLES]) await client.registerWorkflow(workflow);

  return Object.freeze({
    address,
    connectionString: database.connectionString,
    client,
    async release(runId, how) {
      const end = await until(
        `an agent holds a task of ${runId}`,
        () => endsByRun.get(runId) ?? null,
      );
      end(how);
    },
    async restart() {
      server = await spawnDroverServer(database.connectionString, address);
    },
    kill: () => server.signal("SIGKILL"),
    async close() {
      await agent.stop();
      client.close();
      await server.signal("SIGTERM");
      await database.drop();
    },
  } satisfies Shop);
}
