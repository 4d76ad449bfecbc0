// Faults of PostgreSQL: it crashes, restarts, is promoted, stands still in parts, has no connection
// left, ends sessions, or is held up by an old transaction.
import { Client } from "pg";
import type { Chance } from "../../simulator/chance.ts";
import { until } from "../support/until.ts";
import { type Fault, noting, pause } from "./fault.ts";
import type { Stage } from "./stage.ts";

const RECOVERED_MS_MAX = 10_000;
/** Nothing listens there. */
const NOWHERE = "127.0.0.1:9";

function note(stage: Stage, did: "down" | "up" | "slow", of?: string): void {
  const which = of === undefined ? {} : { of };
  stage.recorder.fault({ kind: "store", did, ...which }, "store", false);
}

function point(stage: Stage, address: string): void {
  for (const proxy of stage.toDatabase.values()) proxy.retarget(address);
}

function restart(how: "fast" | "immediate" | "kill"): Fault["act"] {
  return async (stage, chance) => {
    note(stage, "down");
    await stage.database.stop(how);
    await pause(chance.between(0, 4_000));
    await stage.database.start();
    point(stage, stage.database.address());
    note(stage, "up");
  };
}

/** It is killed once more while it recovers from the first time. */
async function killedInRecovery(stage: Stage, chance: Chance): Promise<void> {
  note(stage, "down");
  await stage.database.stop("kill");
  for (let times = chance.between(1, 2); times > 0; times--) {
    await stage.database.startWithoutWaiting();
    await pause(chance.between(0, 400));
    await stage.database.stop("kill");
  }
  await stage.database.start();
  point(stage, stage.database.address());
  note(stage, "up");
}

function failover(how: "killed" | "island"): Fault["act"] {
  return async (stage) => {
    note(stage, "down");
    const { standby } = stage.database;
    if (!standby) throw new Error("there is no standby to promote");
    await standby.promote(how, () => point(stage, NOWHERE));
    point(stage, stage.database.address());
    note(stage, "up");
    // Its new standby is built from it while it works.
    note(stage, "slow", "base backup");
    await standby.add();
    note(stage, "slow", "base backup");
  };
}

async function signalled(pids: readonly number[], ms: number): Promise<void> {
  const each = (signal: NodeJS.Signals): void => {
    for (const pid of pids)
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
  };
  each("SIGSTOP");
  await pause(ms);
  each("SIGCONT");
}

async function pidsOf(stage: Stage, types: string, max: number): Promise<readonly number[]> {
  const { rows } = await stage.database.admin((client) =>
    client.query<{ pid: number }>(
      `select pid from pg_stat_activity
       where backend_type = any($1::text[]) and (application_name like 'drover-%' or $2)
         and coalesce(datname, current_database()) = current_database()
       order by random() limit $3`,
      [types.split(","), !types.includes("client backend"), max],
    ),
  );
  return rows.map(({ pid }) => pid);
}

async function backendsFrozen(stage: Stage, chance: Chance): Promise<void> {
  const pids = await pidsOf(stage, "client backend", chance.between(1, 3));
  note(stage, "down", "frozen backends");
  await signalled(pids, chance.between(500, 5_000));
  note(stage, "up");
}

/** No commit is confirmed while the sender stands still. */
async function helpersFrozen(stage: Stage, chance: Chance): Promise<void> {
  const pids = await pidsOf(stage, "walsender,checkpointer,walwriter", 1);
  note(stage, "down", "frozen process");
  await signalled(pids, chance.between(500, 4_000));
  note(stage, "up");
}

async function held<T>(
  stage: Stage,
  count: number,
  begin: (client: Client) => Promise<T>,
  ms: number,
): Promise<void> {
  const connectionString = stage.database.connectionString();
  const clients: Client[] = [];
  try {
    for (let number = 0; number < count; number++) {
      const client = new Client({ connectionString });
      client.on("error", () => undefined);
      clients.push(client);
      await client.connect();
      await begin(client);
    }
  } catch {
    // There is no connection left: so it was meant.
  }
  await pause(ms);
  await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
}

/** More than are left, so that a server which reconnects gets none. */
async function connectionsHeld(stage: Stage, chance: Chance): Promise<void> {
  note(stage, "down", "no connection left");
  const ms = chance.between(1_000, 4_000);
  const holding = held(stage, 120, async () => undefined, ms);
  await pause(300);
  await endSessions(stage, 6);
  await holding;
  note(stage, "up");
}

async function endSessions(stage: Stage, max: number): Promise<void> {
  const pids = await pidsOf(stage, "client backend", max);
  await stage.database.admin((client) =>
    client.query("select pg_terminate_backend(pid) from unnest($1::integer[]) as pid", [pids]),
  );
}

/** Sessions are ended (57P01), and statements cancelled (57014), wherever they are. */
async function sessionsEnded(stage: Stage, chance: Chance): Promise<void> {
  note(stage, "slow", "57P01");
  for (let times = chance.between(2, 6); times > 0; times--) {
    if (chance.happens(0.5)) await endSessions(stage, 3);
    else {
      const pids = await pidsOf(stage, "client backend", 4);
      await stage.database.admin((client) =>
        client.query("select pg_cancel_backend(pid) from unnest($1::integer[]) as pid", [pids]),
      );
    }
    note(stage, "slow", "57P01");
    await pause(chance.between(50, 400));
  }
}

/** An old snapshot, for which vacuum keeps what was deleted, and a listener that never reads. */
async function oldTransaction(stage: Stage, chance: Chance): Promise<void> {
  const begin = async (client: Client): Promise<void> => {
    await client.query("begin isolation level repeatable read");
    await client.query("select count(*) from drover.run_page");
    await client.query("listen drover");
  };
  await noting(0, () => note(stage, "slow", "old transaction"));
  await held(stage, 2, begin, chance.between(4_000, 10_000));
}

/** The primary cannot make a file longer: statements fail, or, if the log cannot grow, it ends. */
async function diskFull(stage: Stage, chance: Chance): Promise<void> {
  note(stage, "down", "disk full");
  stage.database.order({ isFull: true });
  const filled = stage.database.admin((client) =>
    client.query("create table public.filler as select from generate_series(1, 100000)"),
  );
  await filled.then(
    () => Promise.reject(new Error("a table was filled on a disk that is full")),
    () => undefined,
  );
  if (chance.happens(0.5)) {
    await pause(chance.between(200, 1_000));
    // The log continues in another file, for which there is no room.
    await stage.database
      .admin((client) => client.query("select pg_switch_wal()"))
      .catch(() => undefined);
  }
  await pause(chance.between(1_000, 6_000));
  await restored(stage);
}

async function diskFailing(stage: Stage, chance: Chance): Promise<void> {
  note(stage, "down", "failing disk");
  stage.database.order({ syncFails: true });
  await pause(chance.between(50, 1_000));
  await restored(stage);
}

/**
 * What the disk did may have ended the primary. If it failed during a recovery, PostgreSQL 18 stays
 * "in recovery mode" for ever, until it is killed.
 */
async function restored(stage: Stage): Promise<void> {
  const { database } = stage;
  database.order({});
  const started = () =>
    database.start().then(
      () => true,
      () => null,
    );
  await until("the database answers", started, RECOVERED_MS_MAX).catch(async () => {
    await database.stop("kill");
    await database.start();
  });
  point(stage, database.address());
  note(stage, "up");
}

async function diskSlow(stage: Stage, chance: Chance): Promise<void> {
  stage.database.order({ syncMs: chance.pick([30, 300]) });
  await noting(chance.between(3_000, 8_000), () => note(stage, "slow", "slow disk"));
  stage.database.order({});
}

/**
 * Mostly by less than a step may take, sometimes by more than any time limit of the workload. Back
 * is rare and short: the checker takes each time as that much less exact.
 */
async function clockJumps(stage: Stage, chance: Chance): Promise<void> {
  const isBack = chance.happens(0.25);
  const aheadMsMax = chance.happens(0.8) ? 4_000 : 90_000;
  const seconds = Math.ceil(chance.between(1, isBack ? 2_000 : aheadMsMax) / 1_000);
  stage.jumpClock(1_000 * (isBack ? -seconds : seconds));
  const from = stage.now();
  const { rows } = await stage.database.admin((client) =>
    client.query<{ at: Date }>("select clock_timestamp() as at"),
  );
  const at = rows[0]?.at.getTime() ?? 0;
  // Its microseconds are cut off.
  if (at < from - 1 || at > stage.now())
    throw new Error(`the database's clock shows ${at}, and not ${from} as it was set`);
  await pause(chance.between(2_000, 6_000));
}

export const DATABASE_FAULTS: readonly Fault[] = [
  { name: "database killed", of: ["F7"], scope: "database", act: restart("kill") },
  { name: "database stopped at once", of: ["F7"], scope: "database", act: restart("immediate") },
  { name: "database restarted", of: ["F7"], scope: "database", act: restart("fast") },
  {
    name: "database killed in recovery",
    of: ["F8"],
    scope: "database",
    act: killedInRecovery,
  },
  {
    name: "failover",
    of: ["F9"],
    scope: "database",
    needsStandby: true,
    act: failover("killed"),
  },
  {
    name: "failover beside an island",
    of: ["F9"],
    scope: "database",
    needsStandby: true,
    act: failover("island"),
  },
  { name: "backends frozen", of: ["F6"], scope: "database", act: backendsFrozen },
  { name: "database's helper frozen", of: ["F6"], scope: "database", act: helpersFrozen },
  { name: "connections held", of: ["F18"], scope: "database", act: connectionsHeld },
  { name: "sessions ended", of: ["F19"], scope: "database", act: sessionsEnded },
  { name: "old transaction", of: ["F20"], scope: "database", act: oldTransaction },
  { name: "disk full", of: ["F16"], scope: "database", needsPreload: true, act: diskFull },
  { name: "disk failing", of: ["F17"], scope: "database", needsPreload: true, act: diskFailing },
  {
    name: "database's clock jumps",
    of: ["F15"],
    scope: "database",
    needsPreload: true,
    act: clockJumps,
  },
  { name: "disk slow", of: ["F17"], scope: "database", needsPreload: true, act: diskSlow },
];
