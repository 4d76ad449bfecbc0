/** The film of the story, and the chunk of it that the fast preset cannot encode. */
import { createSeededRandom } from "../stage/seeded-random.ts";

export const chunkCount = 6;
/** Percent: how far the fast preset comes with it. */
export const stuckAt = 47;

export interface Film {
  readonly run: string;
  readonly stuckChunk: number;
  readonly end: "COMPLETED";
}

export function filmOf(seed: number): Film {
  const chance = createSeededRandom(`stuck:${seed}`)();
  return { run: "film", stuckChunk: 1 + Math.floor(chance * chunkCount), end: "COMPLETED" };
}
