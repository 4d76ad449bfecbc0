/**
 * Ownership of an embedded server that several processes use: only the owner may stop it.
 *
 * The instance that started the server owns it, and stops it. An instance that finds it running
 * while the owner is alive only shares it. If the owner was killed, the next instance takes it
 * over.
 */
import { readFileSync, writeFileSync } from "node:fs";

/**
 * Distinguishes a process from a later one with the same pid: the pid with the time of the start,
 * in ticks since boot. Undefined if there is no such process.
 */
export function processIdentity(pid: number): string | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses, which may contain spaces and
  // parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const zombie = fields[0] === "Z";
  return zombie ? undefined : `${pid} ${fields[19]}`;
}

/**
 * Makes the instance the owner unless another owner is alive; returns whether it is the owner now.
 */
export function becomeOwner(ownerFile: string, instance: string): boolean {
  if (hasLivingOwner(ownerFile) && !isOwner(ownerFile, instance)) return false;
  writeFileSync(ownerFile, `${processIdentity(process.pid)} ${instance}\n`, { mode: 0o600 });
  return true;
}

export function isOwner(ownerFile: string, instance: string): boolean {
  return readIfThere(ownerFile)?.trim().split(" ")[2] === instance;
}

export function hasLivingOwner(ownerFile: string): boolean {
  const [pid, startedAt] = readIfThere(ownerFile)?.trim().split(" ") ?? [];
  if (pid === undefined) return false;
  return processIdentity(Number(pid)) === `${pid} ${startedAt}`;
}

export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
