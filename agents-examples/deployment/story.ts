/** Three releases to forty servers: one goes through, two are stopped and taken back. */
import type { Fact } from "../stage/books.ts";
import { checkEnds, type Problem, type Story } from "../stage/story.ts";
import { inRepair, named, type Release, releases, servers, versionOf, waveOf } from "./fleet.ts";
import { naive } from "./naive.ts";

export const story: Story = {
  intro: `Three releases to forty servers, ten at a time, one of which is in repair. The line breaks
during the first. The second starts everywhere, and the servers of the third wave answer with errors.
The third does not even start on those of the second wave. Two servers may fail, and not more.`,
  right: "all servers run what the last good release brought, and no others ever saw a bad one.",
  meanings: {
    network: "the connection broke, effect unknown: tried again with the same key",
    "rate-limited": "the service was busy: tried again after its Retry-After",
    "in-repair": "permanent: one of the two servers that may fail",
    unhealthy: "the gate after a wave refused: changed servers are rolled back",
    "does-not-start": "permanent: too many failures, changed servers are rolled back",
    "drover.items": "more servers failed than tolerated: no further one starts",
  },

  async play({ start, schedule }) {
    start("fleet");
    const hosts = servers.map((name) => ({ name }));
    const runs = releases.map(({ run, version }) => {
      return { run, input: { version, servers: hosts }, concurrency: { key: "fleet" } };
    });
    const follow = await schedule(runs);
    await follow.ended;
  },

  naive,

  check: (facts, states, { seed }) => [
    ...checkEnds(releases, states),
    ...releases.flatMap((release) => checkRelease(release, facts)),
    ...checkFleet(seed, facts),
  ],
};

/** A bad release is taken back wherever it was, and went no further than the wave it failed in. */
function checkRelease({ run, end, brokenIn, sickIn }: Release, facts: readonly Fact[]): Problem[] {
  if (end === "COMPLETED") return [];
  const of = facts.filter(({ ref }) => ref.startsWith(`${run}/`));
  const back = of.filter(({ did }) => did === "restored").map(({ key }) => key);
  const touched = of.filter(({ did }) => did !== "restored");
  const serversOf = (some: readonly Fact[]) => named(some.map(({ what }) => String(what.server)));
  const stranded = touched.filter(({ key }) => !back.includes(key));
  const tooFar = touched.filter(
    ({ what }) => waveOf(String(what.server)) > (brokenIn ?? sickIn ?? 0),
  );
  return [
    ...(stranded.length > 0 ? [`never taken back from ${serversOf(stranded)}`] : []),
    ...(tooFar.length > 0 ? [`continued to ${serversOf(tooFar)}`] : []),
    ...(back.length > new Set(back).size ? ["taken back twice"] : []),
  ].map((message) => ({ run, message }));
}

/** All run the version of the last good release, except for the one in repair. */
function checkFleet(seed: number, facts: readonly Fact[]): Problem[] {
  const right = releases.findLast(({ end }) => end === "COMPLETED")?.version;
  const up = servers.filter((server) => server !== inRepair(seed));
  return [...Map.groupBy(up, (server) => versionOf(facts, server))]
    .filter(([version]) => version !== right)
    .toSorted(([a], [b]) => b - a)
    .map(([version, some]) => {
      return {
        run: "the fleet",
        message: `version ${version} on ${named(some)}; right is ${right}`,
      };
    });
}
