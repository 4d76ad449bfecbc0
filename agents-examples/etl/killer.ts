/**
 * Kills the agent that is in the middle of a partition, with SIGKILL, and does not replace it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Fact } from "../stage/books.ts";
import type { Stage } from "../stage/story.ts";

const agentCount = 3;
/** How many pages of one partition an agent has read when it is killed. */
const middle = 11;
const pollEveryMs = 5;

/** Starts the agents; returns after the kill, or when `isOver`. */
export async function killLoader(stage: Stage, isOver: () => boolean): Promise<void> {
  const { start, facts, act, signal } = stage;
  const agents = Array.from({ length: agentCount }, () => start("loader"));
  while (!isOver()) {
    const read = inTheMiddle(facts());
    const agent = agents.find(({ pid }) => pid === read?.what.by);
    if (agent !== undefined) {
      await agent.kill();
      act(`SIGKILL for loader-${agent.pid}, in the middle of ${read?.ref}`, "killer");
      return;
    }
    await sleep(pollEveryMs, undefined, { signal });
  }
}

function inTheMiddle(facts: readonly Fact[]): Fact | undefined {
  const reads = facts.filter(({ did }) => did === "read");
  const reader = ({ ref, what: { by } }: Fact) => ({ ref, by });
  return reads.find(
    (read) => reads.filter((one) => isDeepStrictEqual(reader(one), reader(read))).length >= middle,
  );
}
