/** The fleet, what is rolled out to it, and what goes wrong with that. */
import type { Fact } from "../stage/books.ts";
import { type Fault, type Faults, scripted, shuffled } from "../stage/faults.ts";

const serverCount = 40;
/** A quarter of them, as the workflow sets. */
export const waveSize = 10;
/** How many may fail, as the workflow sets. */
export const tolerated = 2;
/** The version on all servers when the story starts. */
const firstVersion = 1;

export const servers: readonly string[] = Array.from(
  { length: serverCount },
  (_, index) => `web-${String(index + 1).padStart(2, "0")}`,
);

export interface Release {
  readonly run: string;
  readonly version: number;
  /** The wave of the servers on which it does not start; null: it starts on all. */
  readonly brokenIn: number | null;
  /** The wave of the servers on which it starts, and answers with errors. */
  readonly sickIn: number | null;
  readonly end: "COMPLETED" | "COMPENSATED";
}

export const releases: readonly Release[] = [
  { run: "release-2", version: 2, brokenIn: null, sickIn: null, end: "COMPLETED" },
  { run: "release-3", version: 3, brokenIn: null, sickIn: 3, end: "COMPENSATED" },
  { run: "release-4", version: 4, brokenIn: 2, sickIn: null, end: "COMPENSATED" },
];

/** From 1. */
export function waveOf(server: string): number {
  return 1 + Math.floor(servers.indexOf(server) / waveSize);
}

/** The server in repair: it refuses every version. */
export function inRepair(seed: number): string {
  return shuffled(seed, servers)[0] ?? "";
}

export function faultsOf(seed: number): Faults {
  const rows: readonly (readonly Fault[])[] = [["drop-after"], ["drop-before"], ["busy"]];
  const unlucky = shuffled(seed, servers).slice(1);
  return scripted(
    Object.fromEntries(
      rows.map((row, index) => [`fleet/install release-2/${unlucky[index]}`, row]),
    ),
  );
}

/** The version that the server runs, according to the books. */
export function versionOf(facts: readonly Fact[], server: string): number {
  const last = facts.findLast(({ what }) => what.server === server);
  return Number(last?.what.version ?? firstVersion);
}

/** `web-01 to web-10, web-12`; in the order of the fleet. */
export function named(some: readonly string[]): string {
  const indexes = some.map((server) => servers.indexOf(server)).toSorted((a, b) => a - b);
  const firsts = indexes.filter((at) => !indexes.includes(at - 1));
  const lasts = indexes.filter((at) => !indexes.includes(at + 1));
  return firsts
    .map((first, index) => [servers[first], servers[lasts[index] ?? first]])
    .map(([first, last]) => (first === last ? first : `${first} to ${last}`))
    .join(", ");
}
