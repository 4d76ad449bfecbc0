// Real servers and agents, killed and frozen while they work: nothing acknowledged is lost, every
// run ends, and the agents' own ledgers match the ends of the runs.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../sdk/typescript/client.ts";
import { type ServerProcess, spawnDroverServer } from "../support/drover-server.ts";
import { freeAddress } from "../support/free-address.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

const RUNS = 150;
const DOOMED_EVERY = 10;
const AGENT = fileURLToPath(new URL("../support/chaos-agent.ts", import.meta.url));

const step = (id: string, needs: readonly string[]) => ({
  id,
  needs,
  task: "book",
  timeouts: { heartbeat: "2s", attempt: "20s" },
  retry: { attempts: 50, initial: "50ms", max: "500ms" },
  compensate: {
    task: "cancel",
    retry: { attempts: 50, initial: "50ms", max: "500ms" },
    timeouts: { heartbeat: "2s" },
  },
});

/** A process that is started again whenever it ends, as a process manager would. */
function keepAlive(start: () => ChildProcess): { readonly restarts: () => number; stop(): void } {
  let stopped = false;
  let restarts = -1;
  let child: ChildProcess | null = null;
  const again = (): void => {
    if (stopped) return;
    restarts += 1;
    child = start();
    child.once("exit", again);
  };
  again();
  return {
    restarts: () => restarts,
    stop() {
      stopped = true;
      child?.kill("SIGKILL");
    },
  };
}

test("servers and agents are killed and frozen at work: every run ends as its ledger shows", {
  timeout: 120_000,
}, async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const folder = makeTestFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  onTestFinished(() => db.end());
  const addresses = [await freeAddress(), await freeAddress()] as const;
  const servers = new Map<string, ServerProcess>();
  const startServer = async (address: string): Promise<void> => {
    servers.set(address, await spawnDroverServer(database.connectionString, address));
  };
  for (const address of addresses) await startServer(address);
  onTestFinished(() => {
    for (const { child } of servers.values()) child.kill("SIGKILL");
  });
  const ledgers = [0, 1, 2].map((no) => join(folder, `ledger-${no}`));
  const agents = ledgers.map((ledger, no) => {
    let life = 0;
    return keepAlive(() => {
      life += 1;
      // One agent dies by itself, twice: a task that was lost three times in a row would be poison,
      // and rightly wait for a person.
      const fate = no === 0 && life <= 2 ? "dies" : "lives";
      const args = [AGENT, addresses[no % 2] ?? "", ledger, String(1_000 * no + life), fate];
      return spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    });
  });
  onTestFinished(() => {
    for (const agent of agents) agent.stop();
  });

  const client = createClient({ address: addresses[0], patience: "1m" });
  onTestFinished(() => client.close());
  await client.registerWorkflow({
    workflow: "chaos",
    steps: [step("a", []), step("b", ["a"]), step("c", ["a"]), step("d", ["b", "c"])],
  });
  const kinds = Array.from({ length: RUNS }, (_, no) => (no % DOOMED_EVERY ? "fine" : "doomed"));
  const scheduled = Promise.all(
    kinds.map((kind, no) =>
      client.schedule({ workflow: "chaos", key: `run-${no}`, input: { kind } }),
    ),
  );

  const ended = async (): Promise<number> => {
    const { rows } = await db.query<{ count: number }>(
      "select count(*)::integer as count from drover.run_page where ended_at is not null",
    );
    return rows[0]?.count ?? 0;
  };
  // A task of three killed agents in a row counts as poison: a person answers that it is not.
  const tryAgain = async (): Promise<void> => {
    const { escalations } = await client.escalations.list();
    for (const { id, runId } of escalations)
      await client.escalations
        .resolve(runId, id, { answer: "retry", by: "operator", why: "it was the agents" })
        // Closed meanwhile by a late report.
        .catch(() => undefined);
  };
  const endedPast = async (share: number): Promise<void> => {
    const what = `${share * 100} % of the runs have ended`;
    const isPast = async () => {
      await tryAgain();
      return (await ended()) >= RUNS * share ? true : null;
    };
    await until(what, isPast, 60_000).catch(async (error: Error) => {
      const { rows } = await db.query(
        `select r.key, r.state, s.step, s.state as step_state, s.undo, s.fence, s.next_check_at
         from drover.run_view as r join drover.step_view as s on s.run_id = r.run_id
         where r.ended_at is null limit 20`,
      );
      throw new Error(`${error.message}: ${JSON.stringify(rows)}`);
    });
  };
  await endedPast(0.1);
  await servers.get(addresses[0])?.signal("SIGKILL");
  await startServer(addresses[0]);
  await endedPast(0.3);
  await servers.get(addresses[1])?.signal("SIGSTOP");
  await endedPast(0.5);
  await servers.get(addresses[1])?.signal("SIGCONT");
  await endedPast(0.6);
  await servers.get(addresses[1])?.signal("SIGKILL");
  await startServer(addresses[1]);
  const acknowledged = await scheduled;
  await endedPast(1);

  expect(new Set(acknowledged.map(({ runId }) => runId)).size).toBe(RUNS);
  const { rows: runs } = await db.query<{ run_id: string; key: string; state: string }>(
    "select run_id, key, state from drover.run_view",
  );
  expect(runs).toHaveLength(RUNS);
  const states = new Map(runs.map(({ key, state }) => [key, state]));
  for (const [no, kind] of kinds.entries())
    expect(states.get(`run-${no}`), `run-${no}`).toBe(
      kind === "doomed" ? "COMPENSATED" : "COMPLETED",
    );
  // A remote service that is idempotent by key: a booking is active if it was made and not
  // cancelled.
  const booked = new Set<string>();
  const cancelled = new Set<string>();
  for (const line of ledgers.flatMap((path) => readFileSync(path, "utf8").trim().split("\n"))) {
    const [op, key = ""] = line.split(" ");
    (op === "book" ? booked : cancelled).add(key);
  }
  for (const { run_id: runId, state } of runs)
    for (const id of ["a", "b", "c", "d"]) {
      const key = `${runId}/${id}/0`;
      const isBooked = booked.has(key) && !cancelled.has(key);
      expect(isBooked, `${state} ${key}`).toBe(state === "COMPLETED");
    }
  expect(Math.max(...agents.map((agent) => agent.restarts()))).toBeGreaterThan(0);
  const { rows: left } = await db.query(
    `select from drover.run_page where wake_at is not null or no = 0 and ended_at is null
     union all select from drover.ready union all select from drover.lease`,
  );
  expect(left).toEqual([]);
});
