// A database with work in flight is restored from a base backup and the archived log to a time, and
// from a dump of its schema. What was acknowledged by then is there, what came later is forgotten,
// and no attempt from before settles one from after.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { clusterPaths } from "../../dev-postgres/cluster.ts";
import type { EmbeddedPostgres } from "../../dev-postgres/postgres.ts";
import { drover } from "../support/drover-process.ts";
import { type ServerProcess, spawnDroverServer } from "../support/drover-server.ts";
import { type FullPostgres, findFullPostgres } from "../support/full-postgres.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { at, callJson, jsonAgent, listAt, textAt } from "../support/json-call.ts";
import { until } from "../support/until.ts";

const definition = {
  workflow: "order",
  steps: [
    {
      id: "charge",
      task: { name: "charge" },
      effects: "EFFECTS_VERIFIABLE",
      verify: { task: "find-charge" },
      timeouts: { heartbeat: "3s" },
    },
    { id: "ship", task: { name: "ship" }, needs: ["charge"] },
  ],
};

interface Task {
  readonly token: string;
  readonly runId: string;
  readonly name: string;
  /** The key of its effect in the remote service. */
  readonly key: string;
  readonly fence: number;
}

type Agent = ReturnType<typeof agentOf>;

/** An agent that this test moves by hand, at any server. */
function agentOf(id: string) {
  const agent = jsonAgent(id);
  let pollSeq = 0;
  const complete = (server: ServerProcess, taskToken: string, outcome: unknown) =>
    callJson(server.address, "AgentService/Complete", { agent, results: [{ taskToken, outcome }] });
  return {
    agent,
    async take(server: ServerProcess, ...tasks: readonly string[]): Promise<Task> {
      return until(`${id} gets a task of ${tasks}`, async () => {
        const asked = { agent, pollSeq: ++pollSeq, tasks, maxTasks: 1, wait: "2s" };
        const { body } = await callJson(server.address, "AgentService/PollTask", asked);
        if (listAt(body, "tasks").length === 0) return null;
        const task = at(body, "tasks", 0);
        return {
          token: textAt(task, "taskToken"),
          runId: textAt(task, "runId"),
          name: textAt(task, "task"),
          // A verify task names that of the attempt in question.
          key: String(at(task, "effectKey") ?? textAt(task, "idempotencyKey")),
          fence: Number(at(task, "fence")),
        };
      });
    },
    complete,
    /** Reports a success; the reason of its refusal, or null: it was accepted. */
    async succeed(server: ServerProcess, { token }: Task): Promise<string | null> {
      const { body } = await complete(server, token, { success: {} });
      const detail = at(body, "answers", 0, "status", "details", 0, "reason");
      return typeof detail === "string" ? detail : null;
    },
  };
}

async function schedule(server: ServerProcess, key: string): Promise<string> {
  const asked = { definition, key };
  const { body } = await callJson(server.address, "SchedulerService/Schedule", asked);
  return textAt(body, "runId");
}

async function stateOf(server: ServerProcess, runId: string): Promise<unknown> {
  const run = { runId };
  const { body } = await callJson(server.address, "SchedulerService/GetRun", { run });
  return at(body, "run", "state") ?? at(body, "code");
}

async function query(url: string, text: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ value: unknown }>(text);
    return rows[0]?.value;
  } finally {
    await client.end();
  }
}

async function doctor({ address }: ServerProcess): Promise<string> {
  return (await drover(["doctor"], { env: { DROVER_ADDRESS: address } })).stdout;
}

let folder: string;
let postgres: EmbeddedPostgres | null = null;
const servers: ServerProcess[] = [];

beforeAll(() => {
  folder = makeTestFolder();
});
afterAll(async () => {
  for (const { child } of servers) child.kill("SIGKILL");
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function serve(url: string): Promise<ServerProcess> {
  const server = await spawnDroverServer(url);
  servers.push(server);
  return server;
}

/** The database before the restore, at the time to which it is restored, and afterwards. */
async function loseTail(full: FullPostgres, archive: string) {
  full.makeFolder(archive);
  const settings = {
    archive_mode: "on",
    archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
  };
  const first = full.create(join(folder, "data"), settings);
  postgres = first;
  const { connectionString: url, adminConnectionString: admin } = await first.start();
  const server = await serve(url);
  const ended = await schedule(server, "ended");
  const one = agentOf("one");
  for (const name of ["charge", "ship"]) await one.succeed(server, await one.take(server, name));
  const restored = join(folder, "restored");
  full.makeFolder(restored);
  const backup = clusterPaths(restored);
  full.makeFolder(backup.folder);
  full.run("pg_basebackup", "-d", admin, "-D", backup.data, "-X", "stream", "-c", "fast");

  const charged = await schedule(server, "charged");
  const held = await one.take(server, "charge");
  const waiting = await schedule(server, "waiting");
  const time = String(await query(admin, "select clock_timestamp()::text as value"));

  // All of this is acknowledged, and is lost. Each charge is made in the remote service.
  const charges: string[] = [held.key];
  expect(await one.succeed(server, held)).toBe(null);
  const shipping = await one.take(server, "ship");
  const two = agentOf("two");
  const late = await two.take(server, "charge");
  charges.push(late.key);
  const lost = await schedule(server, "lost");
  expect(await doctor(server)).toMatch(/^ok +backup +the log is archived/m);
  const segment = await query(admin, "select pg_walfile_name(pg_switch_wal()) as value");
  await until("the log is archived", async () => {
    const archived = "select last_archived_wal as value from pg_stat_archiver";
    return String(await query(admin, archived)) >= String(segment) ? true : null;
  });
  await first.kill();

  writeFileSync(join(backup.data, "recovery.signal"), "");
  const recovery = {
    restore_command: `cp ${archive}/%f %p`,
    recovery_target_time: time,
    recovery_target_action: "promote",
  };
  const second = full.restored(restored, recovery, join(folder, "data"));
  postgres = second;
  const address = await second.start();
  expect(address.connectionString).toBe(url);
  const runs = { ended, charged, waiting, lost };
  return { admin, url, old: server, runs, held, shipping, late, charges, one, two };
}

/** Works at a server as a handler would that asks the remote service by the effect's key. */
async function workAt(server: ServerProcess, agent: Agent, charges: string[]): Promise<Task> {
  const task = await agent.take(server, "charge", "find-charge", "ship");
  const isMade = charges.includes(task.key);
  if (task.name === "find-charge" && !isMade) throw new Error(`no charge of ${task.key}`);
  if (task.name === "charge" && !isMade) charges.push(task.key);
  expect(await agent.succeed(server, task)).toBe(null);
  return task;
}

describe("a database is restored", () => {
  it("to a time, by its base backup and archived log", async (context: TestContext) => {
    const full = findFullPostgres(context, folder);
    const before = await loseTail(full, join(folder, "archive"));
    const { runs, held, shipping, late, charges, one, two, old } = before;
    const server = await serve(before.url);

    expect(await doctor(server)).toMatch(/^ok +crash .*\nok +commits .*\nok +failover .*/m);
    // What was acknowledged by the time is there, under its keys, and nothing else.
    expect(await stateOf(server, runs.ended)).toBe("RUN_STATE_COMPLETED");
    expect(await schedule(server, "ended")).toBe(runs.ended);
    expect(await schedule(server, "charged")).toBe(runs.charged);
    expect(await schedule(server, "waiting")).toBe(runs.waiting);
    expect(await stateOf(server, runs.lost)).toBe("not_found");
    // A server that lived on has noticed that its database is another one.
    await until("the old server forgets what was lost", async () =>
      (await stateOf(old, runs.lost)) === "not_found" ? true : null,
    );

    // Tasks that were granted after the time are refused, also by the server that granted them.
    for (const at of [server, old]) {
      expect(await two.succeed(at, late)).toBe("TASK_NOT_FOUND");
      expect(await one.succeed(at, shipping)).toBe("TASK_NOT_FOUND");
    }
    const again = await two.take(server, "charge");
    expect(again).toMatchObject({ runId: runs.waiting, fence: late.fence, key: late.key });
    expect(again.token).not.toBe(late.token);
    expect(await two.succeed(server, late)).toBe("TASK_NOT_FOUND");
    expect(await stateOf(server, runs.waiting)).toBe("RUN_STATE_RUNNING");
    // The charge was made before, and the key of the effect is the same.
    expect(charges).toContain(again.key);
    expect(await two.succeed(server, again)).toBe(null);

    // The report of the task that agent one held is lost: it is verified, not repeated.
    const three = agentOf("three");
    const seen: Task[] = [];
    for (let nth = 0; nth < 3; nth++) seen.push(await workAt(server, three, charges));
    const tasksOf = (runId: string) => seen.filter((task) => task.runId === runId);
    expect(tasksOf(runs.charged).map(({ name }) => name)).toEqual(["find-charge", "ship"]);
    expect(tasksOf(runs.waiting).map(({ name }) => name)).toEqual(["ship"]);
    expect(charges).toEqual([held.key, late.key]);
    // Its late report is retained as evidence, and changes nothing.
    expect(await one.succeed(server, held)).toBe("LEASE_LOST");

    // The key of the lost run is free: a caller that repeats its call gets its run.
    const repeated = await schedule(server, "lost");
    expect(repeated).not.toBe(runs.lost);
    for (let nth = 0; nth < 2; nth++) await workAt(old, three, charges);
    expect(charges).toHaveLength(3);
    for (const runId of [runs.charged, runs.waiting, repeated])
      expect(await stateOf(server, runId)).toBe("RUN_STATE_COMPLETED");
    await dumped(full, { ...before, server });
  });
});

/** The same database, dumped and restored as another one of the same PostgreSQL. */
async function dumped(
  full: FullPostgres,
  {
    admin,
    url,
    server,
    charges,
  }: Record<"admin" | "url", string> & {
    readonly server: ServerProcess;
    readonly charges: string[];
  },
): Promise<void> {
  const open = await schedule(server, "open");
  const made = join(folder, "dump");
  full.makeFolder(made);
  const file = join(made, "drover.dump");
  full.run("pg_dump", "-d", url, "-n", "drover", "-Fc", "-f", file);
  await query(admin, "create database copy owner drover");
  const copy = url.replace(/\/drover$/, "/copy");
  full.run("pg_restore", "-d", copy, "--no-owner", file);
  const other = await serve(copy);
  expect(await schedule(other, "open")).toBe(open);
  const agent = agentOf("four");
  for (let nth = 0; nth < 2; nth++) await workAt(other, agent, charges);
  expect(await stateOf(other, open)).toBe("RUN_STATE_COMPLETED");
  expect(await stateOf(server, open)).toBe("RUN_STATE_RUNNING");
}
