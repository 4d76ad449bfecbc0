/** Two servers behind one list of addresses, as processes: one drains, is killed, or freezes. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../sdk/typescript/agent.ts";
import { createClient } from "../../sdk/typescript/client.ts";
import { silentLog } from "../support/agent-script.ts";
import { callDrover } from "../support/drover-call.ts";
import { type ServerProcess, spawnDroverServer } from "../support/drover-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

/** Far less than the poll of the agent, or a ping, would need to find a frozen server: 30 s. */
const withinMs = 15_000;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database?.drop());

async function startServer(address?: string): Promise<ServerProcess> {
  const server = await spawnDroverServer(database.connectionString, address);
  onTestFinished(() => server.signal("SIGKILL"));
  return server;
}

/** A client and an agent with one slot; returns what starts a run and waits for its end. */
function startBoth(address: string, queue: string): () => Promise<void> {
  const client = createClient({ address });
  onTestFinished(() => client.close());
  const agent = createAgent({
    address,
    id: queue,
    queues: [queue],
    slots: 1,
    log: silentLog,
    handlers: { work: () => "done" },
  });
  agent.start();
  onTestFinished(() => agent.stop());
  const workflow = { workflow: queue, steps: [{ id: "work", task: "work", queue }] };
  return async () => {
    const signal = AbortSignal.timeout(withinMs);
    const { runId } = await client.schedule({ workflow }, { signal });
    expect(await client.waitRun(runId, { signal })).toMatchObject({ state: "COMPLETED" });
  };
}

test.each(["SIGTERM", "SIGKILL", "SIGSTOP"] as const)(
  "after %s of one server a client and an agent go on at the other, until it is back",
  async (signal) => {
    const [one, other] = [await startServer(), await startServer()];
    const run = startBoth(`${one.address}, ${other.address}`, signal);
    await run();
    await run();
    await one.signal(signal);
    await run();
    await run();
    if (signal === "SIGSTOP") await one.signal("SIGCONT");
    else await startServer(one.address);
    await other.signal("SIGKILL");
    await run();
    await run();
  },
);

test.each(["SIGKILL", "SIGSTOP"] as const)(
  "after %s of one server the command line calls the other",
  async (signal) => {
    const [one, other] = [await startServer(), await startServer()];
    await one.signal(signal);
    const address = `${one.address},${other.address}`;
    expect(await callDrover(["workflow", "list", "--address", address])).toMatchObject({ code: 0 });
    await other.signal("SIGKILL");
    await one.signal("SIGKILL");
    expect(await callDrover(["workflow", "list", "--address", address])).toMatchObject({ code: 3 });
  },
);
