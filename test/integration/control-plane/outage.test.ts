/**
 * The database goes away and comes back: calls report an unknown outcome, nothing acknowledged is
 * lost, no lease ends because no server could receive its heartbeats, and work continues by itself.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createEmbeddedPostgres, type EmbeddedPostgres } from "../../../dev-postgres/postgres.ts";
import type { HandedTask } from "../../../server/dispatch/dispatcher.ts";
import { DroverError } from "../../../server/errors.ts";
import { migrate } from "../../../server/store/postgres/migrate.ts";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { makeTestFolder } from "../../support/global-postgres.ts";
import {
  type Agent,
  chain,
  historyOf,
  newAgent,
  newTask,
  openQuietPlane,
  request,
  schedule,
  stateOf,
  success,
} from "./fixture.ts";
import { openHand } from "./hand.ts";

const HEARTBEAT_MS = 2_000;
const migrations = join(import.meta.dirname, "../../../migrations");

let folder: string;
let postgres: EmbeddedPostgres;
let url: string;
let plane: TestPlane;

beforeAll(async () => {
  folder = makeTestFolder();
  postgres = createEmbeddedPostgres({
    dataDir: join(folder, "data"),
    durable: false,
    log: () => undefined,
  });
  url = (await postgres.start()).connectionString;
  await migrate(url, { folder: migrations });
  plane = await openQuietPlane(url);
  await plane.start();
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await plane?.close();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const isAway = (error: unknown): boolean =>
  error instanceof DroverError && error.reason === "STORE_UNAVAILABLE";

/** Repeats a call as an SDK does, for as long as its outcome is unknown. */
async function untilKnown<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isAway(error)) throw error;
      await new Promise(setImmediate);
    }
  }
}

async function killBackends(): Promise<void> {
  const hand = await openHand(url);
  await hand.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name like 'drover-%'`,
  );
  await hand.close();
}

/** Works until it is stopped; reports each failed poll as lost. */
async function untiring(agent: Agent, name: string, stop: AbortSignal): Promise<void> {
  const lostPolls: number[] = [];
  for (let pollSeq = 1; !stop.aborted; pollSeq++) {
    let tasks: readonly HandedTask[] = [];
    try {
      tasks = await agent.poll(name, { pollSeq, lostPolls, waitMs: 200, maxTasks: 3 });
    } catch (error) {
      if (!isAway(error)) throw error;
      lostPolls.push(pollSeq);
      await new Promise(setImmediate);
    }
    for (const task of tasks)
      expect(await untilKnown(() => agent.report(task, success))).toMatch(/accepted|repeated/);
  }
}

describe("a database that is away for some seconds", () => {
  it("costs no lease: an agent that sends heartbeats afterwards carries on, a silent one is found", async () => {
    const received = newTask();
    const silent = newTask();
    const timeouts = { heartbeatMs: HEARTBEAT_MS };
    const runs = [
      await schedule(plane, chain(received, 1, { timeouts })),
      await schedule(plane, chain(silent, 1, { timeouts })),
    ] as const;
    const agent = newAgent(plane);
    const task = await agent.take(received);
    const gone = await newAgent(plane).take(silent);
    const grantedAt = performance.now();
    await postgres.stop();

    await expect(agent.heartbeat([task])).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    await expect(agent.report(task, success)).rejects.toMatchObject({
      reason: "STORE_UNAVAILABLE",
    });
    const asked = plane.scheduler.schedule(request(plane, chain(newTask(), 1), { key: "away" }));
    await expect(asked).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    await expect(agent.poll(newTask())).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    await expect
      .poll(() => performance.now() - grantedAt, { timeout: 10_000 })
      .toBeGreaterThan(2 * HEARTBEAT_MS);

    await postgres.start();
    expect(await untilKnown(() => agent.heartbeat([task]))).toEqual(["carry-on"]);
    expect(await untilKnown(() => agent.report(task, success))).toMatch(/accepted|repeated/);
    expect((await historyOf(plane, runs[0])).interventions).toEqual([]);
    const again = await untilKnown(() => newAgent(plane).take(silent));
    expect([again.fence, again.runId]).toEqual([gone.fence + 1, runs[1].runId]);
    const [lost] = (await historyOf(plane, runs[1])).interventions;
    expect(lost?.rule).toBe("lease");
  });
});

describe("a database without room on its disk", () => {
  it("costs no run its place: calls say why they took no effect, and work continues once there is room", async () => {
    const name = newTask();
    const run = await schedule(plane, chain(name, 2));
    const waiting = await schedule(plane, {
      workflow: "waiting",
      steps: [{ id: "wait", needs: [], kind: "wait", forMs: 300 }],
    });
    const agent = newAgent(plane);
    const task = await agent.take(name);
    const hand = await openHand(url);
    // The error that PostgreSQL gives when it cannot make a file longer. No rollback takes back the
    // next number of a sequence.
    await hand.query("create sequence public.refusals");
    await hand.query(
      `create function public.refuse() returns trigger language plpgsql as $$ begin
         perform nextval('public.refusals');
         raise exception 'could not extend file' using errcode = 'disk_full';
       end $$`,
    );
    await hand.query(
      `create trigger no_room before insert or update on drover.run_page
       for each row execute function public.refuse()`,
    );
    const refused = {
      reason: "STORE_UNAVAILABLE",
      message: expect.stringMatching(/could not extend file.*took no effect: repeat it/),
    };
    await expect(agent.report(task, success)).rejects.toMatchObject(refused);
    const asked = request(plane, chain(newTask(), 1), { key: "no-room" });
    await expect(plane.scheduler.schedule(asked)).rejects.toMatchObject(refused);
    // The wait is due meanwhile, and the supervisor tries to end it.
    const refusals = async () =>
      (
        await hand.query<{ times: number }>(
          "select last_value::integer as times from public.refusals",
        )
      )[0];
    const sofar = (await refusals())?.times ?? 0;
    await expect.poll(async () => (await refusals())?.times).toBeGreaterThan(sofar + 1);
    expect(plane.timers.failedRows()).toBe(0);

    await hand.query("drop trigger no_room on drover.run_page");
    await hand.query("drop function public.refuse; drop sequence public.refusals");
    await hand.close();
    expect(await untilKnown(() => agent.report(task, success))).toBe("accepted");
    await plane.scheduler.schedule(asked);
    expect(await agent.report(await agent.take(name), success)).toBe("accepted");
    expect(await stateOf(plane, run)).toBe("COMPLETED");
    await expect.poll(() => stateOf(plane, waiting)).toBe("COMPLETED");
    const { interventions } = await historyOf(plane, waiting);
    expect(interventions.map(({ rule }) => rule)).toEqual(["timer"]);
  });
});

describe("connections that are cut again and again", () => {
  it("lose nothing: every run completes, and every step has one success", async () => {
    const name = newTask();
    const runs: RunRef[] = [];
    for (let run = 0; run < 15; run++) runs.push(await schedule(plane, chain(name, 4)));
    const stop = new AbortController();
    const agents = [newAgent(plane), newAgent(plane), newAgent(plane)];
    const work = agents.map((agent) => untiring(agent, name, stop.signal));
    const states = () =>
      untilKnown(() =>
        Promise.all(runs.map((run) => stateOf(plane, run))).catch((error: unknown) => {
          // Plain reads pass on the driver's message.
          throw isAway(error) ? error : new DroverError("STORE_UNAVAILABLE", String(error));
        }),
      );
    const ended = async () => (await states()).filter((state) => state === "COMPLETED").length;
    for (const least of [1, 4, 8, 12]) {
      await expect.poll(ended, { timeout: 20_000, interval: 5 }).toBeGreaterThanOrEqual(least);
      await killBackends();
    }
    await expect.poll(ended, { timeout: 20_000 }).toBe(runs.length);
    stop.abort();
    await Promise.all(work);
    for (const run of runs) {
      const { attempts } = await historyOf(plane, run);
      const successes = attempts.filter(({ outcome }) => outcome.kind === "success");
      expect(successes.map(({ step }) => step).sort()).toEqual([0, 1, 2, 3]);
      const others = attempts.filter(({ outcome }) => outcome.kind !== "success");
      expect(others.every(({ outcome }) => ["undelivered", "unsent"].includes(outcome.kind))).toBe(
        true,
      );
    }
  });
});

describe("a COMMIT whose answer is lost", () => {
  /** The COMMIT of the batch that has just written `text` is carried out, its answer is lost. */
  function loseCommitAfter(text: string, carriedOut: boolean): { readonly lost: () => number } {
    const query = pg.Client.prototype.query;
    const wrote = new WeakSet<pg.Client>();
    let lost = 0;
    vi.spyOn(pg.Client.prototype, "query").mockImplementation(async function (
      this: pg.Client,
      ...asked: unknown[]
    ) {
      const [what] = asked;
      if (typeof what === "object" && what !== null && "name" in what && what.name === text)
        wrote.add(this);
      if (what !== "commit" || !wrote.has(this) || lost > 0)
        return Reflect.apply(query, this, asked);
      lost += 1;
      await Reflect.apply(query, this, carriedOut ? asked : ["rollback"]);
      throw new Error("Connection terminated unexpectedly");
    });
    return { lost: () => lost };
  }

  it.for([true, false])("of a report is found out: counted is %s", async (carriedOut) => {
    const name = newTask();
    const run = await schedule(plane, chain(name, 1));
    const agent = newAgent(plane);
    const task = await agent.take(name);
    const { lost } = loseCommitAfter("end_leases", carriedOut);
    expect(await agent.report(task, success)).toBe("accepted");
    expect(lost()).toBe(1);
    expect(await agent.report(task, success)).toBe("repeated");
    expect((await historyOf(plane, run)).attempts).toHaveLength(1);
    expect(await stateOf(plane, run)).toBe("COMPLETED");
  });

  it.for([true, false])("of a schedule makes one run: counted is %s", async (carriedOut) => {
    const { lost } = loseCommitAfter("insert_runs", carriedOut);
    const { runId, created } = await plane.scheduler.schedule(
      request(plane, chain(newTask(), 1), { key: `lost-${carriedOut}` }),
    );
    expect([created, lost()]).toEqual([true, 1]);
    const again = await plane.scheduler.schedule(
      request(plane, chain(newTask(), 1), { key: `lost-${carriedOut}` }),
    );
    expect(again).toEqual({ runId, created: false });
  });

  it.for([true, false])(
    "of a claim costs a poll and no task: granted is %s",
    async (carriedOut) => {
      const name = newTask();
      const run = await schedule(plane, chain(name, 1));
      const agent = newAgent(plane);
      const { lost } = loseCommitAfter("insert_leases", carriedOut);
      await expect(agent.poll(name, { pollSeq: 1 })).rejects.toMatchObject({
        reason: "STORE_UNAVAILABLE",
      });
      expect(lost()).toBe(1);
      const [task] = await agent.poll(name, { pollSeq: 2, lostPolls: [1] });
      expect([task?.fence, task?.attempt]).toEqual([carriedOut ? 2 : 1, 1]);
      if (task) expect(await agent.report(task, success)).toBe("accepted");
      expect(await stateOf(plane, run)).toBe("COMPLETED");
    },
  );
});
