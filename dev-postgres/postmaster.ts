/**
 * The server process itself: found, started, signalled.
 *
 * PostgreSQL keeps postmaster.pid in its data directory while it runs. This file decides, because
 * the server outlives a parent killed by SIGKILL, and the next process must find it:
 *
 *     absent    -> nothing runs
 *     stale     -> it names a process that is gone, or one that is not this server
 *     live      -> it runs; its last line says starting, ready or stopping
 *
 * `bringUp` reads the file in a loop until the server is ready, whichever process started it. It
 * remembers no state between two reads, so two processes that start one server at once end with one
 * server.
 */
import { type ChildProcess, spawn } from "node:child_process";
import {
  closeSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Clock, Random } from "@drover/server/clock.ts";
import type { Cluster } from "./cluster.ts";
import { readIfThere } from "./owner.ts";

type Postmaster =
  | { readonly kind: "absent" }
  | { readonly kind: "stale" }
  | { readonly kind: "live"; readonly pid: number; readonly port: number; readonly status: string };

export type LivePostmaster = Extract<Postmaster, { kind: "live" }>;

interface BringUpOptions {
  readonly settings: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Recovery after a crash is part of starting, and may have much WAL to replay. */
const startMsMax = 300_000;
const scanEveryMs = 20;
const inUseRetryMs = 200;
const portTriesMax = 20;
const logBytesMax = 10 * 1024 * 1024;

/**
 * Ports below the range that systems use for outgoing connections, so that a port is most likely
 * still free when a server comes back.
 */
const portMin = 20_000;
const portMax = 32_000;

export function findPostmaster(data: string): Postmaster {
  const text = readIfThere(join(data, "postmaster.pid"));
  if (text === undefined) return { kind: "absent" };
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!isServerOf(pid, data)) return { kind: "stale" };
  return { kind: "live", pid, port: Number(lines[3]), status: lines[7]?.trim() ?? "starting" };
}

/**
 * The server's working directory is its data directory; that of a process that reuses the pid is
 * not.
 */
function isServerOf(pid: number, data: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data);
  } catch {
    return false;
  }
}

/** Returns when the server is ready; `started` says whether this call has started it. */
export async function bringUp(
  cluster: Cluster,
  options: BringUpOptions,
): Promise<{ readonly live: LivePostmaster; readonly started: boolean }> {
  const { clock } = options;
  const giveUpAtMs = clock.monotonicMs() + startMsMax;
  let attempt: Attempt | undefined;
  let portsTried = 0;
  while (clock.monotonicMs() < giveUpAtMs) {
    const seen = findPostmaster(cluster.data);
    // A standby is ready when it answers reads.
    if (seen.kind === "live" && (seen.status === "ready" || seen.status === "standby")) {
      writeFileSync(cluster.portFile, String(seen.port));
      return { live: seen, started: seen.pid === attempt?.child.pid };
    }
    const outcome = attempt?.outcome();
    if (seen.kind !== "live" && outcome?.kind !== "running") {
      if (outcome?.kind === "refused") throw outcome.error;
      if (outcome?.kind === "port taken") portsTried += 1;
      if (outcome?.kind === "data in use") await clock.sleep(inUseRetryMs);
      if (seen.kind === "stale") disown(cluster.data);
      const port = await choosePort(cluster, options, portsTried);
      attempt = launch(cluster, port, options);
    }
    await clock.sleep(scanEveryMs);
  }
  throw new Error(
    `PostgreSQL in ${cluster.data} was not ready after ${startMsMax} ms. Its log is ` +
      `${cluster.logFile}.`,
  );
}

/**
 * Sends the signal unless the server is gone; returns when it is gone, or false if it still runs.
 */
export async function endPostmaster(
  data: string,
  signal: "SIGINT" | "SIGQUIT" | "SIGKILL",
  withinMs: number,
  clock: Clock,
): Promise<boolean> {
  const target = findPostmaster(data);
  if (target.kind !== "live") return true;
  const giveUpAtMs = clock.monotonicMs() + withinMs;
  process.kill(target.pid, signal);
  while (isServerOf(target.pid, data)) {
    if (clock.monotonicMs() > giveUpAtMs) return false;
    await clock.sleep(scanEveryMs);
  }
  return true;
}

/**
 * PostgreSQL does not start if the pid in postmaster.pid now belongs to another process, unless
 * that process is its own parent. So the pid of this process is written there. The file itself
 * stays: it also guards against processes of the old server that still hold its shared memory.
 */
function disown(data: string): void {
  const path = join(data, "postmaster.pid");
  const lines = readFileSync(path, "utf8").split("\n");
  writeFileSync(path, [String(process.pid), ...lines.slice(1)].join("\n"));
}

async function choosePort(
  cluster: Cluster,
  { random }: BringUpOptions,
  tried: number,
): Promise<number> {
  const last = Number(readIfThere(cluster.portFile));
  if (tried === 0 && last > 0 && (await isFree(last))) return last;
  for (let n = tried; n < portTriesMax; n += 1) {
    const port = portMin + Math.floor(random.fraction() * (portMax - portMin));
    if (await isFree(port)) return port;
  }
  throw new Error(
    `No free port for PostgreSQL was found on 127.0.0.1 between ${portMin} and ${portMax} in ` +
      `${portTriesMax} tries. The log is ${cluster.logFile}.`,
  );
}

function isFree(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const probe = createServer();
    probe.once("error", () => answer(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => answer(true)));
  });
}

type AttemptOutcome =
  | { readonly kind: "running" }
  /** Another process has taken the port: try another port. */
  | { readonly kind: "port taken" }
  /** Another server of this data is starting or stopping: check again. */
  | { readonly kind: "data in use" }
  | { readonly kind: "refused"; readonly error: Error };

interface Attempt {
  readonly child: ChildProcess;
  outcome(): AttemptOutcome;
}

const dataInUseSigns = [
  'lock file "postmaster.pid" already exists',
  "pre-existing shared memory block",
];

function launch(
  cluster: Cluster,
  port: number,
  { settings, env }: Pick<BringUpOptions, "settings" | "env">,
): Attempt {
  rotate(cluster.logFile);
  const log = openSync(cluster.logFile, "a", 0o600);
  const logStart = statSync(cluster.logFile).size;
  const { account, binaries } = cluster;
  const given = Object.entries({ ...settings, port: String(port) });
  const child = spawn(
    binaries.postgres,
    ["-D", cluster.data, ...given.flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    {
      env: { ...binaries.env, ...env },
      cwd: cluster.data,
      stdio: ["ignore", log, log],
      // A process group of its own: Ctrl-C in a terminal must reach Drover alone, which drains
      // first.
      detached: true,
      ...(account.switchTo ? { uid: account.uid, gid: account.gid } : {}),
    },
  );
  closeSync(log);
  let failure: Error | undefined;
  child.once("error", (error) => {
    failure = error;
  });
  child.unref();
  const outcome = (): AttemptOutcome => {
    const ended = child.exitCode !== null || child.signalCode !== null;
    if (failure === undefined && !ended) return { kind: "running" };
    const wrote = readFileSync(cluster.logFile).subarray(logStart).toString("utf8");
    if (wrote.includes("could not bind")) return { kind: "port taken" };
    if (dataInUseSigns.some((sign) => wrote.includes(sign))) return { kind: "data in use" };
    const how = failure?.message ?? `exit ${child.signalCode ?? child.exitCode}`;
    const lastLines = wrote.trim().split("\n").slice(-5).join("\n");
    return {
      kind: "refused",
      error: new Error(
        `PostgreSQL did not start (${how}). Its log, ${cluster.logFile}, ends with:\n${lastLines}`,
      ),
    };
  };
  return { child, outcome };
}

function rotate(logFile: string): void {
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size > logBytesMax) renameSync(logFile, `${logFile}.1`);
}
