// One kind of fault: what it hits, which rows of the fault matrix (docs/RELIABILITY.md) it is of,
// and how it is injected and taken back.
import type { Chance } from "../../simulator/chance.ts";
import type { Stage } from "./stage.ts";

/** Of the faults that happen at once, each hits something else. */
export type Scope = "servers" | "supervisors" | "agents" | "database" | "calls";

export interface Fault {
  readonly name: string;
  /** Rows of the matrix. */
  readonly of: readonly string[];
  readonly scope: Scope;
  /** It is injected by what is preloaded (preloaded.ts). */
  readonly needsPreload?: true;
  readonly needsStandby?: true;
  /** Injects it, waits, and takes it back; all random numbers are from this chance. */
  act(stage: Stage, chance: Chance): Promise<void>;
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/** So often a fault that lasts is written down again, for the checker looks for one nearby. */
const AGAIN_EVERY_MS = 2_000;

export async function noting(ms: number, note: () => void): Promise<void> {
  for (let left = ms; left > 0; left -= AGAIN_EVERY_MS) {
    note();
    await pause(Math.min(left, AGAIN_EVERY_MS));
  }
  note();
}
