// The schedule of faults: from one seed, rounds in which every kind happens once in a random order;
// some alone, some two or three at once (F32).
import type { Chance } from "../../simulator/chance.ts";
import { DATABASE_FAULTS } from "./database-faults.ts";
import type { Fault } from "./fault.ts";
import { NETWORK_FAULTS } from "./network-faults.ts";
import type { Preload } from "./preloaded.ts";
import { PROCESS_FAULTS } from "./process-faults.ts";

export const FAULTS: readonly Fault[] = [...PROCESS_FAULTS, ...NETWORK_FAULTS, ...DATABASE_FAULTS];

/** Faults that begin together. */
export type Group = readonly Fault[];

const SIZES: readonly number[] = [1, 1, 2, 2, 3];
const SIZES_SHORT: readonly number[] = [2, 3];

/** Some of each main kind, for a test that is to end soon. */
const SHORT: ReadonlySet<string> = new Set([
  ...["server killed", "server frozen", "server drained", "server killed at a commit"],
  ...["supervisor killed", "supervisor frozen", "all supervisors killed"],
  ...["agent killed", "agent frozen", "agent cut off", "agent's network slow"],
  ...["database killed", "failover", "backends frozen", "sessions ended"],
  ...["disk full", "disk slow", "disk failing"],
  ...["server's clock jumps", "database's clock jumps"],
  ...["answers lost", "calls repeated", "notifications lost"],
]);

export type Plan =
  | { readonly kind: "short" }
  /** Rounds of all kinds, for so long at least. */
  | { readonly kind: "rounds"; readonly minutes: number };

/** The kinds that happen at least once. */
export function faultsOf({ kind }: Plan, preload: Preload, hasStandby: boolean): readonly Fault[] {
  const all = FAULTS.filter(
    ({ needsPreload, needsStandby }) =>
      (!needsPreload || preload.kind === "ready") && (!needsStandby || hasStandby),
  );
  return kind === "short" ? all.filter(({ name }) => SHORT.has(name)) : all;
}

/** One round of these kinds. */
export function planRound(
  { kind }: Plan,
  faults: readonly Fault[],
  chance: Chance,
): readonly Group[] {
  const left = shuffled(faults, chance);
  const sizes = kind === "short" ? SIZES_SHORT : SIZES;
  const groups: Group[] = [];
  while (left.length > 0) {
    const size = chance.pick(sizes);
    const group: Fault[] = [];
    for (const fault of [...left]) {
      if (group.length >= size) break;
      if (group.some(({ scope }) => scope === fault.scope)) continue;
      // It concerns the supervisors as well.
      if (group.length > 0 && fault.of.includes("F30")) continue;
      group.push(fault);
      left.splice(left.indexOf(fault), 1);
      if (fault.of.includes("F30")) break;
    }
    groups.push(group);
  }
  return groups;
}

function shuffled<T>(items: readonly T[], chance: Chance): T[] {
  const all = [...items];
  for (let at = all.length - 1; at > 0; at--) {
    const other = chance.between(0, at);
    const [a, b] = [all[at], all[other]];
    if (a !== undefined && b !== undefined) [all[at], all[other]] = [b, a];
  }
  return all;
}
