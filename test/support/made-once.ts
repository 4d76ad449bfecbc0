// What takes long to make is made once, however many processes want it at the same time: the first
// makes it, the others wait for it. Without that, each of three test files that begin together
// installs the same packages, and all three take three times as long.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const ASK_EVERY_MS = 100;

/**
 * `make` gets a path beside `path`, which takes its name once it is whole. It fails for the process
 * that makes it; the next one tries again.
 */
export async function madeOnce(
  path: string,
  make: (building: string) => Promise<void>,
): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  const lock = `${path}.lock`;
  while (!existsSync(path)) {
    if (!take(lock)) {
      await sleep(ASK_EVERY_MS);
      continue;
    }
    const building = `${path}.${process.pid}`;
    try {
      if (existsSync(path)) return;
      await make(building);
      if (!existsSync(path)) renameSync(building, path);
    } finally {
      rmSync(building, { recursive: true, force: true });
      rmSync(lock);
    }
  }
}

/** The lock is a file with the id of its process; that of a process that has died is nobody's. */
function take(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    if (isDead(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function isDead(lock: string): boolean {
  try {
    // "": its process has made the file, and not yet written its id.
    const holder = readFileSync(lock, "utf8");
    if (holder !== "") process.kill(Number(holder), 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
