// A product beside Drover, measured as `chain` measures Drover: programs of its own, which speak by
// lines (peers/serve.ts), and as many open runs as it was asked for.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { cpuSeconds } from "./machine.ts";
import { openDatabase, watchDatabase } from "./world.ts";

export type Database = Awaited<ReturnType<typeof openDatabase>>;

export interface Peer {
  readonly product: string;
  readonly version: string;
  /** The form that is measured, for the table. */
  readonly how: string;
  readonly stepsARun: number;
  readonly runsOpen: number;
  /** Its `work` can begin a run by itself, so that one alone can be measured. */
  readonly alone?: true;
  /** Those that it has in PostgreSQL. */
  readonly databases: readonly string[];
  /** Adds every process to `spawned`, also when it rejects. */
  start(database: Database, spawned: ChildProcess[]): Promise<Running>;
}

/** `work` performs the steps, and `load` begins the runs; the two may be one. */
export interface Running {
  readonly work: Talker;
  readonly load: Talker;
  /** Of the product itself: what is neither of the two. */
  readonly servers: readonly ChildProcess[];
}

export interface Talker {
  readonly child: ChildProcess;
  tell(order: string, count: number): void;
  /** What follows the next line that begins with this word. */
  heard(word: string): Promise<string>;
  /** Steps, as it reported last. */
  done(): number;
}

export interface Form {
  readonly warmS: number;
  readonly measureS: number;
  /** Runs, one after the other. */
  readonly alone: number;
}

const RELAY_MS = 20;
/** The wait for all started runs to end. */
const DRAIN_MS = 180_000;
const LOOK_MS = 50;

/** Once it is ready. */
export async function startTalker(
  command: string,
  args: readonly string[],
  spawned: ChildProcess[],
): Promise<Talker> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  spawned.push(child);
  // It is heard by its exit.
  child.stdin.on("error", () => undefined);
  const waiting = new Map<string, (said: string) => void>();
  const exited = once(child, "exit").then(([code]) => {
    throw new Error(`${[command, ...args].join(" ")} ended by itself (${code})`);
  });
  exited.catch(() => undefined);
  let done = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const at = line.search(/[ :]|$/);
    const word = line.slice(0, at);
    if (word === "done") done = Number(line.slice(at));
    else waiting.get(word)?.(line.slice(at + 1));
  });
  const heard = (word: string) =>
    Promise.race([exited, new Promise<string>((resolve) => waiting.set(word, resolve))]);
  await heard("ready");
  return Object.freeze({
    child,
    heard,
    done: () => done,
    tell: (order, count) => void child.stdin.write(`${order} ${count}\n`),
  } satisfies Talker);
}

/** Figures, once every step of every run was found to be done exactly once; else it rejects. */
export async function measurePeer(
  peer: Peer,
  { warmS, measureS, alone }: Form,
  settings: Readonly<Record<string, string>>,
) {
  const database = await openDatabase({
    ...settings,
    shared_preload_libraries: "pg_stat_statements",
  });
  const admin = new Client({ connectionString: database.adminConnectionString });
  const spawned: ChildProcess[] = [];
  let relay: NodeJS.Timeout | undefined;
  try {
    await admin.connect();
    await admin.query("create extension pg_stat_statements");
    const databaseUsed = await watchDatabase(admin, peer.databases);
    const running = await peer.start(database, spawned);
    const { work, load } = running;
    const { stepsARun, runsOpen } = peer;
    relay = setInterval(
      () => load.tell("allow", runsOpen + Math.floor(work.done() / stepsARun)),
      RELAY_MS,
    );
    await wait(warmS * 1_000);
    const look = async () => ({
      ...(await databaseUsed()),
      done: work.done(),
      at: performance.now(),
      ...cpuOf(running),
    });
    const before = await look();
    await wait(measureS * 1_000);
    const after = await look();
    clearInterval(relay);
    const checkedSteps = await check(peer, running);
    const runAlone = peer.alone ? await measureAlone(work, alone) : {};
    const steps = after.done - before.done;
    const each = (of: Exclude<keyof typeof after, "at" | "done">) =>
      (after[of] - before[of]) / steps;
    const cpu = {
      system_cpu_us_per_step: each("systemCpuS") * 1_000_000,
      load_cpu_us_per_step: load === work ? 0 : each("loadCpuS") * 1_000_000,
      db_cpu_us_per_step: each("databaseCpuS") * 1_000_000,
    };
    return {
      steps_per_s: steps / ((after.at - before.at) / 1_000),
      ...cpu,
      wal_bytes_per_step: each("walBytes"),
      full_pages_per_step: each("walFullPages"),
      commits_per_step: each("commits"),
      statements_per_step: each("statements"),
      ...runAlone,
      checked_steps: checkedSteps,
    };
  } finally {
    clearInterval(relay);
    await Promise.all(spawned.map(end));
    await admin.end();
    await database.stop();
  }
}

function cpuOf({ work, load, servers }: Running) {
  const system = [work.child, ...servers].reduce((sum, { pid }) => sum + cpuSeconds(pid ?? 0), 0);
  return { systemCpuS: system, loadCpuS: cpuSeconds(load.child.pid ?? 0) };
}

/** How many steps were done, each once. */
async function check(peer: Peer, { work, load }: Running): Promise<number> {
  load.tell("stop", 0);
  const begun = Number(await load.heard("begun"));
  const steps = begun * peer.stepsARun;
  for (const from = performance.now(); work.done() < steps; await wait(LOOK_MS))
    if (hasEnded(work.child) || performance.now() - from > DRAIN_MS)
      throw new Error(`it did ${work.done()} steps of ${steps}, and then no more`);
  work.tell("check", begun);
  const fault = await Promise.race([
    work.heard("right").then(() => null),
    work.heard("wrong").then((said) => said.trim()),
  ]);
  if (fault !== null) throw new Error(fault);
  return steps;
}

async function measureAlone(work: Talker, runs: number) {
  work.tell("alone", runs);
  const [alone_p50_ms = Number.NaN, alone_p99_ms = Number.NaN] = (await work.heard("alone"))
    .split(" ")
    .map(Number);
  return { alone_p50_ms, alone_p99_ms };
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Or has never started. */
function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}
