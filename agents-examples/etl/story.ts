/** A day's orders in six partitions, loaded while an agent is killed: each row once. */
import type { Fact } from "../stage/books.ts";
import { checkEnds, type Problem, type Story } from "../stage/story.ts";
import { killLoader } from "./killer.ts";
import { naive } from "./naive.ts";
import { centsOf, partitions, readable, rowsOf, run } from "./orders.ts";

export const story: Story = {
  intro: `The orders of a day in six partitions, read page by page and loaded into a warehouse. One is
cut off, and cannot be read: one may fail. The line breaks, once after a page was loaded. And an agent
is killed in the middle of a partition.`,
  right: "each row that can be read is loaded once, and what was published is their sum.",
  meanings: {
    network: "the connection broke, effect unknown: continued from the last page, with its key",
    "rate-limited": "the service was busy: tried again after its Retry-After",
    "drover.lost": "the agent was killed: another one continued from the last reported page",
    "cut-off": "permanent: the one partition that may fail",
  },

  async play(stage) {
    const follow = await stage.schedule([{ run, input: null }]);
    let isOver = false;
    const ended = follow.ended.then(() => {
      isOver = true;
    });
    await Promise.all([killLoader(stage, () => isOver), ended]);
  },

  naive,

  check: (facts, states, { seed }) => [
    ...checkEnds([{ run, end: "COMPLETED" }], states),
    ...partitions.flatMap((partition) => checkPartition(partition, seed, facts)),
    ...checkPublished(seed, facts),
  ],
};

function checkPartition(partition: string, seed: number, facts: readonly Fact[]): Problem[] {
  const loaded = facts
    .filter(({ did, ref }) => did === "loaded" && ref === partition)
    .flatMap(({ what: { rows } }) => idsOf(rows));
  const right = readable(seed).includes(partition) ? rowsOf(seed, partition) : [];
  const missing = right.filter(({ id }) => !loaded.includes(id)).length;
  const twice = loaded.length - new Set(loaded).size;
  if (missing === 0 && twice === 0) return [];
  return [{ run: partition, message: `${twice} rows loaded twice, ${missing} are missing` }];
}

function idsOf(rows: unknown): string[] {
  return Array.isArray(rows) ? rows.map(({ id }) => String(id)) : [];
}

function checkPublished(seed: number, facts: readonly Fact[]): Problem[] {
  const cents = centsOf(readable(seed).flatMap((partition) => rowsOf(seed, partition)));
  const published = facts
    .filter(({ did }) => did === "published")
    .map(({ what }) => sumOf(what.cents));
  if (published.length === 1 && published[0] === cents) return [];
  const sums = published.map((sum) => `${sum / 100} euros`).join(", ") || "nothing";
  return [{ run, message: `published ${sums}; right is ${cents / 100} euros` }];
}

function sumOf(amounts: unknown): number {
  return Array.isArray(amounts) ? amounts.reduce((sum, amount) => sum + Number(amount), 0) : 0;
}
