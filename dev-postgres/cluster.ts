/**
 * The folder of one embedded PostgreSQL, and how it is created.
 *
 *     <data dir>/programs/         links and, if needed, copies: may be deleted while nothing runs
 *     <data dir>/postgres/data     the data directory of PostgreSQL
 *                        /password of both roles, readable by the account only
 *                        /port     the port used last, tried first: connection strings stay valid
 *                        /owner    the instance that started the server (owner.ts)
 *                        /log      the output of PostgreSQL; log.1 is the previous one
 *
 * `postgres/` is created under another name and renamed when it is complete. So a process that is
 * killed halfway leaves nothing that looks like a database, and of two processes that create it at
 * once one wins.
 */
import { execFile } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Random } from "@drover/server/clock.ts";
import { type Account, accountFor, obstacleTo } from "./account.ts";
import { type Binaries, prepareBinaries } from "./binaries.ts";
import { processIdentity } from "./owner.ts";

export interface Cluster {
  readonly account: Account;
  readonly binaries: Binaries;
  /**
   * The kernel's name of it, with links resolved: it is compared with working directories of
   * processes.
   */
  readonly data: string;
  readonly password: string;
  readonly portFile: string;
  readonly ownerFile: string;
  readonly logFile: string;
}

interface ClusterOptions {
  readonly dataDir: string;
  readonly packageDir: string;
  /** False only for tests: a power failure may then destroy the data. */
  readonly durable: boolean;
  readonly random: Random;
}

const initdbMsMax = 120_000;
const run = promisify(execFile);

/** The paths in a data directory, whether they exist or not. */
export function clusterPaths(dataDir: string) {
  const folder = join(resolve(dataDir), "postgres");
  return {
    folder,
    data: join(folder, "data"),
    passwordFile: join(folder, "password"),
    portFile: join(folder, "port"),
    ownerFile: join(folder, "owner"),
    logFile: join(folder, "log"),
  };
}

/** Opens the cluster of a data directory, and creates it on first use. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const dataDir = resolve(options.dataDir);
  const paths = clusterPaths(dataDir);
  const account = accountFor([paths.folder, dataDir]);
  makeDataDir(dataDir, account);
  const binaries = prepareBinaries(options.packageDir, join(dataDir, "programs"), account);
  removeUnfinished(dataDir);
  if (!existsSync(paths.folder)) await createCluster(options, paths.folder, account, binaries);
  refuseOtherVersion(paths.data, binaries);
  return Object.freeze({
    account,
    binaries,
    data: realpathSync(paths.data),
    password: readFileSync(paths.passwordFile, "utf8"),
    portFile: paths.portFile,
    ownerFile: paths.ownerFile,
    logFile: paths.logFile,
  });
}

/**
 * The data directory is given to the account if it is new or empty; otherwise it keeps its owner.
 */
function makeDataDir(dataDir: string, account: Account): void {
  refuseUnreachable(dirname(dataDir), dataDir, account);
  mkdirSync(dirname(dataDir), { recursive: true });
  if (!existsSync(dataDir)) mkdirSync(dataDir, { mode: 0o700 });
  const rootOwned = statSync(dataDir).uid === 0;
  if (account.switchTo && rootOwned && readdirSync(dataDir).length === 0) {
    chownSync(dataDir, account.uid, account.gid);
  }
  refuseUnreachable(dataDir, dataDir, account);
  mkdirSync(join(dataDir, "programs"), { recursive: true, mode: 0o755 });
}

function refuseUnreachable(path: string, dataDir: string, account: Account): void {
  const obstacle = obstacleTo(path, account);
  if (obstacle === undefined) return;
  const why = account.switchTo
    ? `PostgreSQL refuses to run as root and is started as '${account.name}', who`
    : `You (${account.name})`;
  throw new Error(
    `The data directory ${dataDir} cannot be used: ${why} may not enter ${obstacle}. Choose a ` +
      "data directory elsewhere, for example beneath /var/lib or /tmp, or set DATABASE_URL to a " +
      "PostgreSQL of your own.",
  );
}

const unfinished = "postgres.new-";

/** Removes drafts of processes that died while they created a cluster. */
function removeUnfinished(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (!name.startsWith(unfinished)) continue;
    const maker = Number(name.slice(unfinished.length).split("-")[0]);
    if (processIdentity(maker) !== undefined) continue;
    rmSync(join(dataDir, name), { recursive: true, force: true });
  }
}

async function createCluster(
  options: ClusterOptions,
  folder: string,
  account: Account,
  binaries: Binaries,
): Promise<void> {
  const tag = Buffer.from(options.random.bytes(4)).toString("hex");
  const draft = join(dirname(folder), `${unfinished}${process.pid}-${tag}`);
  const passwordFile = join(draft, "password");
  mkdirSync(draft, { mode: 0o700 });
  try {
    const password = Buffer.from(options.random.bytes(24)).toString("base64url");
    writeFileSync(passwordFile, password, { mode: 0o600, flag: "wx" });
    // The account must own what initdb reads and writes, before initdb runs under that account.
    for (const path of account.switchTo ? [draft, passwordFile] : []) {
      chownSync(path, account.uid, account.gid);
    }
    chmodSync(draft, 0o700);
    await initdb(options, join(draft, "data"), passwordFile, account, binaries);
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    const overtaken = existsSync(folder);
    if (!overtaken) throw error;
  }
}

async function initdb(
  options: ClusterOptions,
  data: string,
  passwordFile: string,
  account: Account,
  binaries: Binaries,
): Promise<void> {
  const given = [
    `--pgdata=${data}`,
    `--pwfile=${passwordFile}`,
    "--username=postgres",
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
    ...(options.durable ? [] : ["--no-sync"]),
  ];
  try {
    await run(binaries.initdb, given, {
      env: { ...binaries.env },
      cwd: dirname(data),
      timeout: initdbMsMax,
      ...(account.switchTo ? { uid: account.uid, gid: account.gid } : {}),
    });
  } catch (cause) {
    throw new Error(
      `PostgreSQL's data directory could not be made in ${data}: ${outputOf(cause)}`,
      {
        cause,
      },
    );
  }
}

/** The output of a program that failed, or the reason why it did not run. */
function outputOf(cause: unknown): string {
  if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
    return (
      "the program does not run on this system, most likely because its C library is not glibc " +
      "(Alpine). Set DATABASE_URL to a PostgreSQL 15 or later of your own."
    );
  }
  if (cause instanceof Error && "stderr" in cause && cause.stderr) return String(cause.stderr);
  return String(cause);
}

function refuseOtherVersion(data: string, binaries: Binaries): void {
  const found = readFileSync(join(data, "PG_VERSION"), "utf8").trim();
  const major = binaries.version.split(".")[0];
  if (found === major) return;
  throw new Error(
    `${data} holds the data of PostgreSQL ${found}, and Drover now brings ${major}. Choose ` +
      "another data directory, or move the data with pg_dump and set DATABASE_URL.",
  );
}
