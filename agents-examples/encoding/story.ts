/** A film in six chunks; one gets stuck while its agent is alive and sends heartbeats. */
import { isDeepStrictEqual } from "node:util";
import type { Fact } from "../stage/books.ts";
import { checkEnds, type Story } from "../stage/story.ts";
import { chunkCount, filmOf, stuckAt } from "./film.ts";
import { naive } from "./naive.ts";

export const story: Story = {
  intro: `A film of ${chunkCount} chunks, each encoded by a process of its own. One reaches ${stuckAt} % and
then makes no progress, while its process is alive and its agent sends heartbeats. An encoder needs a
seat of the licence server, and returns it.`,
  right: "the film is published once, of all its chunks, and every seat has been returned.",
  meanings: {
    "drover.stalled": "no progress: the encoder was killed, and the preset changed",
    network: "the connection broke, effect unknown: tried again with the same key",
    "rate-limited": "the service was busy: tried again after its Retry-After",
  },

  async play({ seed, start, schedule }) {
    start("film");
    const { run } = filmOf(seed);
    const follow = await schedule([{ run, input: { ref: run, chunks: chunkCount } }]);
    await follow.ended;
  },

  naive,

  check: (facts, states, { seed }) => [
    ...checkEnds([filmOf(seed)], states),
    ...checkFilm(filmOf(seed).run, facts).map((message) => ({ run: filmOf(seed).run, message })),
  ],
};

function checkFilm(run: string, facts: readonly Fact[]): string[] {
  const all = (did: string) => facts.filter((fact) => fact.did === did);
  const unreturned = all("taken").length - all("returned").length;
  const published = all("published");
  const stored = Array.from({ length: chunkCount }, (_, index) =>
    all("stored").findLast(({ ref }) => ref === `${run}/${index + 1}`),
  );
  const checksums = stored.map((fact) => fact?.what.checksum);
  const problems: string[] = [];
  if (unreturned > 0) problems.push(`${unreturned} seat is not returned`);
  if (published.length !== 1) problems.push(`published ${published.length} times; 1 is right`);
  else if (!isDeepStrictEqual(published[0]?.what.checksums, checksums))
    problems.push("published of other chunks than were stored");
  return problems;
}
