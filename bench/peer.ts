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
  send(order: string, count: number): void;
  /** What follows the next line that begins with this word. */
  receive(name: string): Promise<string>;
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
const POLL_MS = 50;

/** Once it is ready. */
export async function startTalker(
  command: string,
  args: readonly string[],
  spawned: ChildProcess[],
): Promise<Talker> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  spawned.push(child);
  // Its exit is reported instead.
  child.stdin.on("error", () => undefined);
  const waiting = new Map<string, (text: string) => void>();
  const exited = once(child, "exit").then(([code]) => {
    throw new Error(`${[command, ...args].join(" ")} ended by itself (${code})`);
  });
  exited.catch(() => undefined);
  let done = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const at = line.search(/[ :]|$/);
    const name = line.slice(0, at);
    if (name === "done") done = Number(line.slice(at));
    else waiting.get(name)?.(line.slice(at + 1));
  });
  const receive = (name: string) =>
    Promise.race([exited, new Promise<string>((resolve) => waiting.set(name, resolve))]);
  await receive("ready");
  return Object.freeze({
    child,
    receive,
    done: () => done,
    send: (order, count) => void child.stdin.write(`${order} ${count}\n`),
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
      () => load.send("allow", runsOpen + Math.floor(work.done() / stepsARun)),
      RELAY_MS,
    );
    await wait(warmS * 1_000);
    const sample = async () => ({
      ...(await databaseUsed()),
      done: work.done(),
      at: performance.now(),
      ...cpuOf(running),
    });
    const before = await sample();
    await wait(measureS * 1_000);
    const after = await sample();
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
  load.send("stop", 0);
  const begun = Number(await load.receive("begun"));
  const steps = begun * peer.stepsARun;
  for (const from = performance.now(); work.done() < steps; await wait(POLL_MS))
    if (hasEnded(work.child) || performance.now() - from > DRAIN_MS)
      throw new Error(`it did ${work.done()} steps of ${steps}, and then no more`);
  work.send("check", begun);
  const fault = await Promise.race([
    work.receive("right").then(() => null),
    work.receive("wrong").then((text) => text.trim()),
  ]);
  if (fault !== null) throw new Error(fault);
  return steps;
}

async function measureAlone(work: Talker, runs: number) {
  work.send("alone", runs);
  const [alone_p50_ms = Number.NaN, alone_p99_ms = Number.NaN] = (await work.receive("alone"))
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
