/**
 * Kills agents with SIGKILL, each right after the bank has recorded a change: the change is made,
 * and often no process is left to report it. A new process takes the place of each.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createSeededRandom } from "../stage/seeded-random.ts";
import type { Stage } from "../stage/story.ts";

const agentCount = 3;
const killCount = 5;
/** Facts from one kill to the next, at most: the last one comes by the 25th of 30 facts. */
const factsMax = 5;
const pollEveryMs = 5;

type KillerStage = Pick<Stage, "seed" | "start" | "facts" | "act" | "signal">;

/** Starts the agents; returns after the last kill, or when `isOver`. */
export async function killAgents(stage: KillerStage, isOver: () => boolean): Promise<void> {
  const { seed, start, facts, act, signal } = stage;
  const chance = createSeededRandom(`kills:${seed}`);
  const below = (count: number) => Math.floor(chance() * count);
  const agents = Array.from({ length: agentCount }, () => start("transfer"));
  // Counted from the first fact: if one kill comes late, there are facts left for the others.
  let atFacts = 0;
  for (let kills = 0; kills < killCount; kills++) {
    atFacts += 1 + below(factsMax);
    while (facts().length < atFacts && !isOver()) await sleep(pollEveryMs, undefined, { signal });
    const agent = agents.shift();
    if (isOver() || agent === undefined) return;
    await agent.kill();
    act(`SIGKILL for transfer-${agent.pid}`, "killer");
    agents.push(start("transfer"));
  }
}
