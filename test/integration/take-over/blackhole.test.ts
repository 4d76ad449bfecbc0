// Two servers as real processes. The way of the first to PostgreSQL turns into a black hole, so
// nobody is told that it is gone: it stops by its own clock, the other one takes over and goes on,
// and what was on its way counts for nothing when it arrives at last.
import pg from "pg";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { silentLog } from "../../support/agent-script.ts";
import {
  type BlackholeProxy,
  type Direction,
  startBlackholeProxy,
} from "../../support/blackhole-proxy.ts";
import { type ServerProcess, spawnDroverServer } from "../../support/drover-server.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { bothShare, owners, soleOwner, takenOverFrom } from "./partition-owners.ts";

const RUNS = 60;
const WAIT_MS_MAX = 6_000;

let database: TestDatabase;
let db: pg.Client;
let proxy: BlackholeProxy;
let first: ServerProcess;
let second: ServerProcess;
let client: Client;
/** Of the first server: it was there alone, and owns nearly everything. */
let node: string;

beforeEach(async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  proxy = await startBlackholeProxy(database.connectionString);
  first = await spawnDroverServer(proxy.connectionString);
  node = await soleOwner(db);
  second = await spawnDroverServer(database.connectionString);
  await bothShare(db);
  client = createClient({ address: second.address });
}, 60_000);
afterEach(async () => {
  client?.close();
  for (const server of [first, second]) await server?.signal("SIGKILL");
  await proxy?.stop();
  await db?.end();
  await database?.drop();
});

/** What the first server itself says. */
async function ownedByFirst(): Promise<number> {
  const page = await (await fetch(`http://${first.address}/metrics`)).text();
  return Number(/^drover_partitions_owned (\d+)$/m.exec(page)?.[1]);
}

/** By run, what each node has done about its timer. */
async function timersFired(runs: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ node: string }>(
    "select node from intervention_view where rule = 'timer' and run_id = any ($1::uuid[])",
    [runs],
  );
  return rows.map(({ node }) => node);
}

async function untilFired(runs: readonly string[], count: number): Promise<void> {
  await until(`${count} timers have fired`, async () =>
    (await timersFired(runs)).length >= count ? true : null,
  );
}

async function actsOfFirst(): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    "select count(*)::integer as count from intervention where node = $1",
    [node],
  );
  return rows[0]?.count ?? 0;
}

/** Works at one server until the test is over; `hold` is held until it may end. */
function work(server: ServerProcess, id: string, begun: string[], mayEnd: Promise<void>): void {
  const note = (runId: string): void => void begun.push(runId);
  const agent = createAgent({
    ...{ address: server.address, id, log: silentLog, slots: 20 },
    handlers: {
      act: async ({ runId }) => note(runId),
      hold: async ({ runId }) => {
        note(runId);
        await mayEnd;
      },
    },
  });
  agent.start();
  onTestFinished(() => agent.stop());
}

async function waitingRuns(count: number, waitMs: (run: number) => number): Promise<string[]> {
  const runs = Array.from({ length: count }, (_, run) => ({
    workflow: {
      workflow: "timed",
      steps: [
        { id: "wait", wait: `${Math.round(waitMs(run))}ms` },
        { id: "act", needs: ["wait"], task: "act" },
      ],
    },
  }));
  return Promise.all(runs.map(async (run) => (await client.schedule(run)).runId));
}

/** Every run has ended well, each of its tasks was begun once, and its timer fired once. */
async function nothingLostOrDoubled(timed: readonly string[], begun: readonly string[]) {
  for (const run of new Set([...timed, ...begun]))
    expect(await client.waitRun(run)).toMatchObject({ state: "COMPLETED" });
  expect([...begun].sort()).toEqual([...new Set([...timed, ...begun])].sort());
  expect(await timersFired(timed)).toHaveLength(timed.length);
}

it.for<{ what: string; directions: readonly Direction[] }>([
  { what: "in both directions", directions: [] },
  { what: "to the database alone", directions: ["to-database"] },
  { what: "from the database alone", directions: ["from-database"] },
])(
  "a server that is cut off $what stops, is relieved, and does nothing more under its old name",
  {
    timeout: 120_000,
  },
  async ({ directions }) => {
    const begun: string[] = [];
    const opened = Promise.withResolvers<void>();
    work(first, "at-first", begun, opened.promise);
    const step = { id: "hold", task: "hold" };
    const held = await Promise.all(
      Array.from({ length: 5 }, () =>
        client.schedule({ workflow: { workflow: "h", steps: [step] } }),
      ),
    );
    await until("its agent holds tasks", () => (begun.length === held.length ? true : null));
    work(second, "at-second", begun, opened.promise);
    const timed = await waitingRuns(RUNS, (run) => ((run + 1) / RUNS) * WAIT_MS_MAX);
    await untilFired(timed, 5);

    proxy.swallow(...directions);
    await until("it stops by its own clock", async () => (await ownedByFirst()) === 0 || null);
    await takenOverFrom(db, node);
    expect(await ownedByFirst()).toBe(0);
    const acts = await actsOfFirst();
    await untilFired(timed, RUNS);

    proxy.open();
    opened.resolve();
    expect(await bothShare(db)).not.toContain(node);
    await nothingLostOrDoubled(timed, begun);
    expect(await actsOfFirst()).toBe(acts);
    expect((await owners(db)).has(node)).toBe(false);
  },
);

it("a COMMIT that is swallowed on its way counts for nothing when it arrives after the take-over", {
  timeout: 60_000,
}, async () => {
  const begun: string[] = [];
  work(second, "at-second", begun, Promise.resolve());
  const acts = await actsOfFirst();
  const swallowed = proxy.swallowFrom("hold_writer", "commit\0");
  const timed = await waitingRuns(20, () => 500);
  await swallowed;
  await takenOverFrom(db, node);
  await untilFired(timed, timed.length);

  proxy.open();
  expect(await bothShare(db)).not.toContain(node);
  await nothingLostOrDoubled(timed, begun);
  expect(await actsOfFirst()).toBe(acts);
});
