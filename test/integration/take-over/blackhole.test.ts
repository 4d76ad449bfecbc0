// Two servers as real processes. The connection of the first to PostgreSQL becomes a black hole, so
// no server is notified that it is gone: it stops by its own clock, the other one takes over and
// continues, and swallowed messages change nothing when they arrive at last.
import pg from "pg";
import { expect, it, type TestContext } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { silentLog } from "../../support/agent-script.ts";
import {
  type BlackholeProxy,
  type Direction,
  startBlackholeProxy,
} from "../../support/blackhole-proxy.ts";
import { type ServerProcess, spawnDroverServer } from "../../support/drover-server.ts";
import { createTestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { bothShare, owners, soleOwner, takenOverFrom } from "./partition-owners.ts";

type OnFinished = TestContext["onTestFinished"];

const RUNS = 60;
const WAIT_MS_MAX = 6_000;

interface World {
  readonly db: pg.Client;
  readonly proxy: BlackholeProxy;
  readonly first: ServerProcess;
  readonly second: ServerProcess;
  readonly client: Client;
  /** Of the first server: it was there alone, and owns nearly everything. */
  readonly node: string;
}

/** Worlds live side by side, as most of a test is waiting; they are started one after the other. */
let lastStart: Promise<unknown> = Promise.resolve();

function openWorld(finished: OnFinished): Promise<World> {
  const started = lastStart.then(() => startWorld(finished));
  lastStart = started.catch(() => undefined);
  return started;
}

async function startWorld(finished: OnFinished): Promise<World> {
  const database = await createTestDatabase();
  finished(() => database.drop());
  const db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  finished(() => db.end());
  const proxy = await startBlackholeProxy(database.connectionString);
  finished(() => proxy.stop());
  const serve = async (url: string) => {
    const server = await spawnDroverServer(url);
    finished(() => server.signal("SIGKILL"));
    return server;
  };
  const first = await serve(proxy.connectionString);
  const node = await soleOwner(db);
  const second = await serve(database.connectionString);
  await bothShare(db);
  const client = createClient({ address: second.address });
  finished(() => client.close());
  return { db, proxy, first, second, client, node };
}

/** What the first server itself reports. */
async function ownedByFirst({ first }: World): Promise<number> {
  const page = await (await fetch(`http://${first.address}/metrics`)).text();
  return Number(/^drover_partitions_owned (\d+)$/m.exec(page)?.[1]);
}

/** By run, what each node has done about its timer. */
async function timersFired({ db }: World, runs: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ node: string }>(
    "select node from drover.intervention_view where rule = 'timer' and run_id = any ($1::uuid[])",
    [runs],
  );
  return rows.map(({ node }) => node);
}

async function untilFired(world: World, runs: readonly string[], count: number): Promise<void> {
  await until(`${count} timers have fired`, async () =>
    (await timersFired(world, runs)).length >= count ? true : null,
  );
}

async function actsOfFirst({ db, node }: World): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    "select count(*)::integer as count from drover.intervention where node = $1",
    [node],
  );
  return rows[0]?.count ?? 0;
}

interface Work {
  readonly id: string;
  readonly started: string[];
  readonly mayEnd: Promise<void>;
  readonly finished: OnFinished;
}

/** Works at one server until the test is over; `hold` is held until it may end. */
function work(server: ServerProcess, { id, started, mayEnd, finished }: Work): void {
  const note = (runId: string): void => void started.push(runId);
  const agent = createAgent({
    address: server.address,
    id,
    log: silentLog,
    slots: 20,
    handlers: {
      act: async ({ runId }) => note(runId),
      hold: async ({ runId }) => {
        note(runId);
        await mayEnd;
      },
    },
  });
  agent.start();
  finished(() => agent.stop());
}

async function waitingRuns(
  { client }: World,
  count: number,
  waitMs: (run: number) => number,
): Promise<string[]> {
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

/** Every run has ended well, each of its tasks was started once, and its timer fired once. */
async function nothingLostOrDoubled(
  world: World,
  timed: readonly string[],
  started: readonly string[],
) {
  for (const run of new Set([...timed, ...started]))
    expect(await world.client.waitRun(run)).toMatchObject({ state: "COMPLETED" });
  expect([...started].sort()).toEqual([...new Set([...timed, ...started])].sort());
  expect(await timersFired(world, timed)).toHaveLength(timed.length);
}

it.concurrent.for<{ what: string; directions: readonly Direction[] }>([
  { what: "in both directions", directions: [] },
  { what: "to the database alone", directions: ["to-database"] },
  { what: "from the database alone", directions: ["from-database"] },
])(
  "a server that is cut off $what stops, is relieved, and does nothing more under its old name",
  {
    timeout: 120_000,
  },
  async ({ directions }, { onTestFinished: finished }) => {
    const world = await openWorld(finished);
    const { db, proxy, first, second, client, node } = world;
    const started: string[] = [];
    const opened = Promise.withResolvers<void>();
    const about = { started, mayEnd: opened.promise, finished };
    work(first, { id: "at-first", ...about });
    const step = { id: "hold", task: "hold" };
    const held = await Promise.all(
      Array.from({ length: 5 }, () =>
        client.schedule({ workflow: { workflow: "h", steps: [step] } }),
      ),
    );
    await until("its agent holds tasks", () => (started.length === held.length ? true : null));
    work(second, { id: "at-second", ...about });
    const timed = await waitingRuns(world, RUNS, (run) => ((run + 1) / RUNS) * WAIT_MS_MAX);
    await untilFired(world, timed, 5);

    proxy.swallow(...directions);
    await until("it stops by its own clock", async () => (await ownedByFirst(world)) === 0 || null);
    await takenOverFrom(db, node);
    expect(await ownedByFirst(world)).toBe(0);
    const acts = await actsOfFirst(world);
    await untilFired(world, timed, RUNS);

    proxy.open();
    opened.resolve();
    expect(await bothShare(db)).not.toContain(node);
    await nothingLostOrDoubled(world, timed, started);
    expect(await actsOfFirst(world)).toBe(acts);
    expect((await owners(db)).has(node)).toBe(false);
  },
);

it.concurrent("a COMMIT that is swallowed changes nothing when it arrives after the take-over", {
  timeout: 120_000,
}, async ({ onTestFinished: finished }) => {
  const world = await openWorld(finished);
  const { db, proxy, second, node } = world;
  const started: string[] = [];
  work(second, { id: "at-second", started, mayEnd: Promise.resolve(), finished });
  const acts = await actsOfFirst(world);
  const swallowed = proxy.swallowFrom("hold_writer", "commit\0");
  const timed = await waitingRuns(world, 20, () => 500);
  await swallowed;
  await takenOverFrom(db, node);
  await untilFired(world, timed, timed.length);

  proxy.open();
  expect(await bothShare(db)).not.toContain(node);
  await nothingLostOrDoubled(world, timed, started);
  expect(await actsOfFirst(world)).toBe(acts);
});
