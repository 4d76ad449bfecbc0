/** The agents of the transfer story are killed as often as it asks, however busy the machine is. */
import { expect, test } from "vitest";
import type { Fact } from "../../agents-examples/stage/books.ts";
import { killAgents } from "../../agents-examples/transfer/killer.ts";

const fact: Fact = { service: "bank", did: "debited", ref: "transfer-01", key: "k", what: {} };

/** Of the thirty facts of the story; its end is learned later than the last one. */
const FACTS = 30;
const FACTS_BETWEEN_POLLS = 7;
const POLLS_UNTIL_OVER = 7;

test("five agents are killed although the bank does much between two polls", async () => {
  const signal = new AbortController().signal;
  for (const seed of [1, 2, 3, 4, 5]) {
    const facts: Fact[] = [];
    const killed: number[] = [];
    let started = 0;
    let polls = 0;
    const stage = {
      seed,
      signal,
      act: () => undefined,
      start() {
        const pid = started++;
        const name = `transfer-${pid}`;
        const nothing = () => undefined;
        const ends = { stop: async () => undefined, kill: async () => void killed.push(pid) };
        return { name, pid, suspend: nothing, resume: nothing, ...ends };
      },
      facts() {
        polls++;
        const more = Math.min(FACTS_BETWEEN_POLLS, FACTS - facts.length);
        facts.push(...Array.from({ length: more }, () => fact));
        return facts;
      },
    };
    await killAgents(stage, () => polls >= POLLS_UNTIL_OVER);
    expect(killed).toEqual([0, 1, 2, 3, 4]);
  }
});
