/**
 * How the outside world misbehaves. One table defines how often each fault happens; `createFaults`
 * draws them, one decision for each request that names a key.
 *
 * Promises:
 * - the same seed gives the same faults to the same order of requests;
 * - a key meets at most `FAULTS_IN_A_ROW_MAX` faults in a row, so that a caller that
 *   repeats a request often enough succeeds, and a demo comes to an end.
 */

import type { Random } from "../../stage/seeded-random.ts";

export type FaultName = "delay" | "busy" | "drop-after" | "hang-before" | "hang-after";
/** Probability of each fault for one request; what is left to 1 is the share without a fault. */
export type FaultTable = Readonly<Record<FaultName, number>>;

export const flakyWorld: FaultTable = {
  /** Works, but only after 200 to 1500 ms: the effect comes late, perhaps after a cancel. */
  delay: 0.25,
  /** Answers 503 with Retry-After at once: no effect. */
  busy: 0.12,
  /** Takes effect, then destroys the connection instead of answering. */
  "drop-after": 0.1,
  /** Holds the connection open for ever: no effect. */
  "hang-before": 0.03,
  /** Takes effect, then holds the connection open for ever. */
  "hang-after": 0.04,
};

export const calmWorld: FaultTable = {
  delay: 0,
  busy: 0,
  "drop-after": 0,
  "hang-before": 0,
  "hang-after": 0,
};

export const FAULTS_IN_A_ROW_MAX = 2;
const DELAY_MIN_MS = 200;
const DELAY_MAX_MS = 1500;
/** Keys in the middle of a row of faults; beyond that the oldest row is forgotten. */
const ROWS_MAX = 10_000;

export type Fault =
  | { readonly kind: "none" }
  | { readonly kind: "delay"; readonly delayMs: number }
  | { readonly kind: Exclude<FaultName, "delay"> };

export interface Faults {
  /** Decides what happens to the next request under this key. */
  readonly next: (key: string) => Fault;
}

const faultNames: readonly FaultName[] = [
  "delay",
  "busy",
  "drop-after",
  "hang-before",
  "hang-after",
];

function isFaultName(name: string): name is FaultName {
  return faultNames.some((known) => known === name);
}

/** The base table with the probabilities of a JSON object laid over it. */
export function parseFaults(text: string, base: FaultTable): FaultTable {
  const table = { ...base };
  for (const [name, probability] of Object.entries(parseObject(text))) {
    if (!isFaultName(name)) {
      throw new Error(`--faults: no fault is named "${name}"; there are ${faultNames.join(", ")}`);
    }
    if (typeof probability !== "number" || !(probability >= 0 && probability <= 1)) {
      throw new Error(
        `--faults: ${name} is ${JSON.stringify(probability)}; give a probability from 0 to 1`,
      );
    }
    table[name] = probability;
  }
  const sum = faultNames.reduce((total, name) => total + table[name], 0);
  // A hair over 1 is what adding decimal fractions may come to.
  if (sum > 1 + 1e-9) {
    throw new Error(
      `--faults: the probabilities add up to ${sum.toFixed(2)}; lower them to 1 in all, ` +
        "or start from none with --calm",
    );
  }
  return table;
}

function parseObject(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`--faults: ${text} is not a JSON object; give one like '{"busy": 0.5}'`);
  }
  return value;
}

export function createFaults(table: FaultTable, random: Random): Faults {
  const rowByKey = new Map<string, number>();

  function draw(): Fault {
    // Always two numbers, used or not, so that each decision depends on its position in the order
    // of requests alone, and not on which faults came before it.
    const which = random();
    const howLong = random();
    let upTo = 0;
    for (const name of faultNames) {
      upTo += table[name];
      if (which >= upTo) continue;
      if (name !== "delay") return { kind: name };
      const delayMs = Math.round(DELAY_MIN_MS + howLong * (DELAY_MAX_MS - DELAY_MIN_MS));
      return { kind: "delay", delayMs };
    }
    return { kind: "none" };
  }

  function next(key: string): Fault {
    const drawn = draw();
    const row = rowByKey.get(key) ?? 0;
    rowByKey.delete(key);
    // A delay counts as well: for a caller with little patience it is as bad as no answer.
    if (drawn.kind === "none" || row >= FAULTS_IN_A_ROW_MAX) return { kind: "none" };
    rowByKey.set(key, row + 1);
    if (rowByKey.size > ROWS_MAX) {
      const [oldest] = rowByKey.keys();
      if (oldest !== undefined) rowByKey.delete(oldest);
    }
    return drawn;
  }

  return Object.freeze({ next });
}
