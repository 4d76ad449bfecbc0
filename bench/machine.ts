// The machine that figures are of, and what processes have used of it (Linux: /proc).
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";

export interface MachineFacts {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGiB: number;
  readonly node: string;
  /** Of the checkout; "unknown" outside of one. */
  readonly commit: string;
}

export function machineFacts(): MachineFacts {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    commit: commit(),
  };
}

function commit(): string {
  try {
    const output = execFileSync("git", ["rev-parse", "HEAD"], { cwd: import.meta.dirname });
    return output.toString().trim();
  } catch {
    return "unknown";
  }
}

/** USER_HZ, which every Linux for x86-64 and arm64 has (proc(5)). */
const TICKS_PER_SECOND = 100;

/** Seconds of CPU that a process and all below it have used, with those that it has waited for. */
export function cpuSeconds(root: number): number {
  const all = readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const one = statOf(Number(name));
    return one ? [one] : [];
  });
  const within = new Set([root]);
  for (let before = 0; before < within.size; ) {
    before = within.size;
    for (const { pid, parent } of all) if (within.has(parent)) within.add(pid);
  }
  const ticks = all.filter(({ pid }) => within.has(pid)).reduce((sum, one) => sum + one.ticks, 0);
  return ticks / TICKS_PER_SECOND;
}

/** Begins to watch all cores; called, it returns what share of their time was idle since then. */
export function idleShare(): () => number {
  const sample = () => {
    const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
    const [, ...ticks] = line.trim().split(/\s+/).map(Number);
    return { idle: ticks[3] ?? 0, all: ticks.reduce((sum, one) => sum + one, 0) };
  };
  const from = sample();
  return () => {
    const to = sample();
    return (to.idle - from.idle) / (to.all - from.all);
  };
}

/** Resident memory of one process. */
export function memoryMiB(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(found?.[1]) / 1_024;
}

function statOf(pid: number): { pid: number; parent: number; ticks: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, in brackets, may hold anything; state, parent and so on follow.
    const rest = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [, parent = 0] = rest;
    const ticks = rest.slice(11, 15).reduce((sum, one) => sum + one, 0);
    return { pid, parent, ticks };
  } catch {
    return null;
  }
}
