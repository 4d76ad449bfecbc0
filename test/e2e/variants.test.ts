// Supervisors by configuration, as real processes of the command line: in the server, one beside it
// with a standby, many that share, one for a region; and moved from one to the next while runs are
// under way.
import pg from "pg";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../sdk/typescript/agent.ts";
import { createClient } from "../../sdk/typescript/client.ts";
import { silentLog } from "../support/agent-script.ts";
import { type DroverProcess, drover, startDrover } from "../support/drover-process.ts";
import { freeAddress } from "../support/free-address.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

const PARTITIONS = 256;

let database: TestDatabase;
let db: pg.Client;
let processes: DroverProcess[];

beforeEach(async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  processes = [];
});
afterEach(async () => {
  for (const one of processes) one.signal("SIGKILL");
  await Promise.all(processes.map(({ ended }) => ended));
  await db.end();
  await database.drop();
});

/** By default four partitions move a second: half of them take half a minute. */
const MOVES = 64;

async function start(line: string, ready: string): Promise<DroverProcess> {
  const env = { DATABASE_URL: database.connectionString };
  const started = startDrover(line.split(" "), { env });
  processes.push(started);
  await started.wrote(ready);
  return started;
}

const startServer = (address: string, how: "embedded" | "none") =>
  start(
    `server --address ${address} --supervisor ${how} --owner-moves ${MOVES}`,
    "next: drover run list",
  );

async function startSupervisor(options = ""): Promise<{ process: DroverProcess; pages: string }> {
  const process = await start(
    `supervisor --listen 127.0.0.1:0 --owner-moves ${MOVES}${options === "" ? "" : ` ${options}`}`,
    "/healthz",
  );
  const pages = /pages +(http:\/\/[\d.:]+)/.exec(await process.wrote("/partitions"))?.[1] ?? "";
  return { process, pages };
}

async function partitionsOf(pages: string): Promise<{ owned: number; unwatched: number }> {
  const response = await fetch(`${pages}/partitions`);
  const body: unknown = await response.json();
  const numberAt = (key: string) =>
    typeof body === "object" && body !== null ? Number(Reflect.get(body, key)) : Number.NaN;
  return { owned: numberAt("owned"), unwatched: numberAt("unwatched") };
}

async function owns(pages: string, least: number, most = least): Promise<void> {
  await until(
    `a supervisor owns ${least} to ${most} partitions`,
    async () => {
      const { owned } = await partitionsOf(pages);
      return owned >= least && owned <= most ? true : null;
    },
    30_000,
  );
}

async function end(one: DroverProcess, signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
  one.signal(signal);
  await one.ended;
}

/** Runs that begin all the time: a task, a time to wait for, another task. */
async function startRepeatedly(address: string) {
  const performed = new Map<string, number>();
  const agent = createAgent({
    address,
    id: "one",
    slots: 20,
    log: silentLog,
    handlers: {
      note: (task) => {
        performed.set(task.idempotencyKey, (performed.get(task.idempotencyKey) ?? 0) + 1);
      },
    },
  });
  agent.start();
  const client = createClient({ address, patience: "1m" });
  onTestFinished(async () => {
    await agent.stop();
    await client.close();
  });
  await client.registerWorkflow({
    workflow: "moved",
    steps: [
      { id: "a", task: "note" },
      { id: "w", needs: ["a"], wait: "300ms" },
      { id: "b", needs: ["w"], task: "note" },
    ],
  });
  let isOver = false;
  const started: string[] = [];
  const starting = (async () => {
    for (let no = 0; !isOver; no++) {
      const { runId } = await client.schedule({ workflow: "moved", key: `run-${no}`, input: {} });
      started.push(runId);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return {
    performed,
    /** So many more runs end. */
    async goesOn(): Promise<void> {
      const before = await completed();
      await until("runs continue", async () => ((await completed()) > before + 5 ? true : null));
    },
    async over(): Promise<readonly string[]> {
      isOver = true;
      await starting;
      await until("every run has ended", async () =>
        (await completed()) === started.length ? true : null,
      );
      return started;
    },
  };
}

async function completed(): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    "select count(*)::integer as count from drover.run_view where state = 'COMPLETED'",
  );
  return rows[0]?.count ?? 0;
}

describe("the variants of the supervisor", () => {
  test("embedded, central, distributed and embedded again follow each other while runs are under way, and nothing is lost or done twice", {
    timeout: 120_000,
  }, async () => {
    const address = await freeAddress();
    const server = await startServer(address, "embedded");
    const work = await startRepeatedly(address);
    await work.goesOn();

    const central = await startSupervisor();
    await end(server);
    const unwatching = await startServer(address, "none");
    await owns(central.pages, PARTITIONS);
    await work.goesOn();

    const standby = await startSupervisor("--standby");
    await work.goesOn();
    expect(await partitionsOf(standby.pages)).toMatchObject({ owned: 0 });
    await end(central.process, "SIGKILL");
    await owns(standby.pages, PARTITIONS);
    await work.goesOn();

    const shared = [await startSupervisor(), await startSupervisor()] as const;
    for (const { pages } of shared) await owns(pages, 80, 176);
    await owns(standby.pages, 0);
    await end(standby.process);
    await work.goesOn();

    await end(unwatching);
    await startServer(address, "embedded");
    for (const { process } of shared) await end(process);
    await work.goesOn();

    const runs = await work.over();
    // First what shows why, should something have been done twice.
    const { rows } = await db.query<{ rule: string; saw: string }>(
      `select rule, min(saw) as saw from drover.intervention_view
       where rule not in ('timer', 'slow') group by rule`,
    );
    expect(rows).toEqual([]);
    expect(work.performed.size).toBe(2 * runs.length);
    expect([...work.performed].filter(([, count]) => count > 1)).toEqual([]);
    const { stdout } = await drover(["namespace", "list", "-o", "json"], {
      env: { DROVER_ADDRESS: address },
    });
    expect(JSON.parse(stdout)).toMatchObject({
      regions: [{ name: "default", watchedPartitions: PARTITIONS, partitions: PARTITIONS }],
    });
  });

  test("a region is watched by its own supervisor alone, and seen to be unwatched without one", {
    timeout: 60_000,
  }, async () => {
    const address = await freeAddress();
    const env = { DROVER_ADDRESS: address };
    await startServer(address, "none");
    const made = await drover(["namespace", "create", "europe", "--region", "eu"], { env });
    expect(made.stdout).toBe("namespace europe created, in the region eu\n");
    const unknown = await drover(["supervisor", "--region", "ue"], {
      env: { DATABASE_URL: database.connectionString },
    });
    expect(unknown.stderr).toContain('there is no region "ue", only default, eu');
    const rest = await startSupervisor("--region default");
    await owns(rest.pages, PARTITIONS);
    await until("the region is seen to be unwatched", async () =>
      (await partitionsOf(rest.pages)).unwatched === PARTITIONS ? true : null,
    );
    const listed = await drover(["namespace", "list"], { env });
    expect(listed.stderr).toContain("region eu: no supervisor for 256 of its 256 partitions");

    const work = (namespace: string) => {
      const client = createClient({ address, namespace });
      onTestFinished(() => client.close());
      const steps = [{ id: "w", wait: "200ms" }];
      return client.schedule({ workflow: { workflow: "waits", steps }, input: {} });
    };
    await work("default");
    const { runId } = await work("europe");
    await until("the run of the watched region ends", async () =>
      (await completed()) === 1 ? true : null,
    );
    const { rows } = await db.query<{ region: number }>(
      "select partition / 256 as region from drover.run_page where no = 0 and ended_at is null",
    );
    expect(rows).toEqual([{ region: 1 }]);
    const command = "drover supervisor --region eu";
    const why = await drover(["run", "why", runId, "--namespace", "europe"], { env });
    expect(why.stdout).toMatch(/is overdue by .* and no supervisor watches region "eu"/);
    expect(why.stdout).toContain(`  ${command} (with DATABASE_URL)`);
    expect(why.stdout).not.toContain("now it continues");
    const status = await drover(["status"], { env });
    expect(status.stdout).toMatch(/no supervisor for region "eu" \(256 partitions\) .*--region eu/);
    const doctor = await drover(["doctor"], { env });
    expect(doctor.stdout + doctor.stderr).toContain(command);
    const health = async () => (await fetch(`${rest.pages}/healthz`)).text();
    await expect.poll(health).toContain(command);

    const eu = await startSupervisor("--region eu");
    await owns(eu.pages, PARTITIONS);
    await until("the other one ends too", async () => ((await completed()) === 2 ? true : null));
    expect(await partitionsOf(eu.pages)).toEqual({ owned: PARTITIONS, unwatched: 0 });
    await end(eu.process);
    const all = await startSupervisor();
    await owns(all.pages, PARTITIONS + 80, PARTITIONS + 176);
  });
});
