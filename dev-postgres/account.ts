/**
 * The account of the machine that PostgreSQL runs under, and what that account can access.
 *
 * PostgreSQL refuses to run as root. If this process is root, an existing account is used (none is
 * ever created): the owner of the data, else `postgres`, else `nobody`. Such an account cannot
 * enter a folder like /root, so access is checked before anything is started, and a refusal names
 * the folder that the account cannot enter.
 */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  /** Set if this process is root and must switch to the account; otherwise it has this account. */
  readonly switchTo: boolean;
}

/**
 * `folders` hold the data, or will hold it; the first one with an owner other than root decides.
 */
export function accountFor(folders: readonly string[]): Account {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  if (own.uid !== 0) return { name: nameOf(own.uid), ...own, switchTo: false };
  for (const folder of folders) {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found !== undefined && found.uid !== 0) {
      return { name: nameOf(found.uid), uid: found.uid, gid: found.gid, switchTo: true };
    }
  }
  const listed = accounts();
  const chosen =
    listed.find(({ name }) => name === "postgres") ?? listed.find(({ name }) => name === "nobody");
  if (chosen === undefined || chosen.uid === 0) {
    throw new Error(
      "PostgreSQL refuses to run as root, and this machine has neither an account 'postgres' nor " +
        "'nobody' to run it under. Start Drover as an ordinary user, give the data directory to " +
        "one with chown, or set DATABASE_URL to a PostgreSQL of your own.",
    );
  }
  return { ...chosen, switchTo: true };
}

/**
 * The first folder on the path to `path`, itself included, that the account may not enter, or
 * undefined. A folder that does not exist yet is no obstacle. The check uses mode bits; access
 * control lists are not read.
 */
export function obstacleTo(path: string, account: Account): string | undefined {
  let existing = resolve(path);
  while (!existsSync(existing)) existing = dirname(existing);
  const way = [realpathSync(existing)];
  for (let at = way[0] ?? "/"; at !== dirname(at); at = dirname(at)) way.unshift(dirname(at));
  return way.find((at) => {
    const found = statSync(at);
    const wanted = found.isDirectory() ? 0o111 : 0o444;
    const whose = found.uid === account.uid ? 0o700 : found.gid === account.gid ? 0o070 : 0o007;
    return (found.mode & wanted & whose) === 0;
  });
}

interface Listed {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

function accounts(): Listed[] {
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  return lines.flatMap((line) => {
    const [name, , uid, gid] = line.split(":");
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

function nameOf(uid: number): string {
  return accounts().find((listed) => listed.uid === uid)?.name ?? `uid ${uid}`;
}
