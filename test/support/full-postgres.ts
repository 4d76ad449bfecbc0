// A PostgreSQL of the machine, with the programs for backups (pg_basebackup, pg_dump, pg_restore)
// that the embedded one lacks. Its folders are laid out as dev-postgres has them, which starts,
// stops and, after a killed test run, clears them.
import { execFileSync } from "node:child_process";
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { type Account, accountFor } from "../../dev-postgres/account.ts";
import { clusterPaths } from "../../dev-postgres/cluster.ts";
import { createEmbeddedPostgres, type EmbeddedPostgres } from "../../dev-postgres/postgres.ts";
import { endForLack } from "./required-tools.ts";

const DEBIAN = "/usr/lib/postgresql";
const MAJOR_MIN = 15;
const MAJOR_MAX = 18;
const PASSWORD = "of-a-test";

export interface FullPostgres {
  /** Creates a database cluster; `settings` are added to those of dev-postgres. */
  create(dataDir: string, settings: Readonly<Record<string, string>>): EmbeddedPostgres;
  /** The cluster that a base backup was written to, on the port of another one. */
  restored(
    dataDir: string,
    settings: Readonly<Record<string, string>>,
    from: string,
  ): EmbeddedPostgres;
  /** A folder that PostgreSQL may write to. */
  makeFolder(path: string): void;
  /** Runs one of the programs, under the account of PostgreSQL. */
  run(program: string, ...args: readonly string[]): void;
}

/** Skips the test if the machine has none; DROVER_POSTGRES_BIN names its folder `bin`. */
export function findFullPostgres(context: TestContext, folder: string): FullPostgres {
  const bin = process.env.DROVER_POSTGRES_BIN ?? newestOfDebian();
  if (bin === null || !existsSync(join(bin, "pg_basebackup")))
    return endForLack(
      context,
      "pg_basebackup",
      `needs PostgreSQL ${MAJOR_MIN} to ${MAJOR_MAX} with pg_basebackup: apt-get install postgresql, or DROVER_POSTGRES_BIN`,
    );
  const account = accountFor([]);
  const packageDir = join(folder, "package");
  makePackage(packageDir, bin);
  const run = (program: string, ...args: readonly string[]): void => {
    // A failure carries what the program wrote.
    execFileSync(join(bin, program), args, { cwd: "/", stdio: "pipe", ...switched(account) });
  };
  const makeFolder = (path: string): void => {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (account.switchTo) chownSync(path, account.uid, account.gid);
  };
  const postgresIn = (dataDir: string, settings: Readonly<Record<string, string>>) =>
    createEmbeddedPostgres({ dataDir, packageDir, settings, log: () => undefined });
  return Object.freeze({
    makeFolder,
    run,
    create(dataDir: string, settings: Readonly<Record<string, string>>) {
      const paths = clusterPaths(dataDir);
      makeFolder(dataDir);
      makeFolder(paths.folder);
      writeFileSync(paths.passwordFile, PASSWORD);
      if (account.switchTo) chownSync(paths.passwordFile, account.uid, account.gid);
      const how = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--username=postgres"];
      run("initdb", `--pgdata=${paths.data}`, `--pwfile=${paths.passwordFile}`, ...how);
      return postgresIn(dataDir, settings);
    },
    restored(dataDir: string, settings: Readonly<Record<string, string>>, from: string) {
      const paths = clusterPaths(dataDir);
      copyFileSync(clusterPaths(from).passwordFile, paths.passwordFile);
      copyFileSync(clusterPaths(from).portFile, paths.portFile);
      return postgresIn(dataDir, settings);
    },
  });
}

function switched(account: Account): { readonly uid?: number; readonly gid?: number } {
  return account.switchTo ? { uid: account.uid, gid: account.gid } : {};
}

/** The folder in which dev-postgres finds the programs, as if npm had put them there. */
function makePackage(packageDir: string, bin: string): void {
  const major = majorOf(bin);
  mkdirSync(join(packageDir, "native"), { recursive: true });
  writeFileSync(join(packageDir, "package.json"), JSON.stringify({ version: `${major}.0` }));
  writeFileSync(join(packageDir, "native", "pg-symlinks.json"), "[]");
  symlinkSync(bin, join(packageDir, "native", "bin"));
}

function majorOf(bin: string): number {
  const printed = execFileSync(join(bin, "postgres"), ["--version"], { encoding: "utf8" });
  return Number(/ (\d+)/.exec(printed)?.[1]);
}

function newestOfDebian(): string | null {
  if (!existsSync(DEBIAN)) return null;
  const majors = readdirSync(DEBIAN)
    .map(Number)
    .filter((major) => major >= MAJOR_MIN && major <= MAJOR_MAX)
    .sort((a, b) => b - a);
  return majors[0] === undefined ? null : join(DEBIAN, String(majors[0]), "bin");
}
