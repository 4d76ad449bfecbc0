/** The deployment story, run as a user runs it, and by the naive caller. */
import { expect, test } from "vitest";
import { inRepair, servers, versionOf, waveOf } from "../../../agents-examples/deployment/fleet.ts";
import type { Fact } from "../../../agents-examples/stage/books.ts";
import { runStory, storyMsMax, untrueLines } from "../../support/story-run.ts";

/** Servers that the books list for a release, in the order of the fleet. */
function serversThat(facts: readonly Fact[], run: string, ...dids: readonly string[]) {
  const of = facts.filter(({ ref, did }) => ref.startsWith(`${run}/`) && dids.includes(did));
  const named = new Set(of.map(({ what }) => what.server));
  return servers.filter((server) => named.has(server));
}

test(
  "a release goes through, or stops and is taken back from the servers that it touched alone",
  async () => {
    const result = await runStory("deployment");
    expect(result.code, result.output).toBe(0);
    const { facts, runs } = result;
    const up = servers.filter((server) => server !== inRepair(1));
    const itemsOf = (run: string) => runs.get(run)?.steps.find(({ id }) => id === "deploy")?.items;

    expect(runs.get("release-2")?.run).toMatchObject({ state: "COMPLETED", warnings: 1 });
    expect(itemsOf("release-2")).toMatchObject({ total: 40, succeeded: 39, failed: 1 });
    expect(serversThat(facts, "release-2", "installed")).toEqual(up);

    // Three waves, and the gate never succeeds.
    expect(runs.get("release-3")?.run.state).toBe("COMPENSATED");
    expect(itemsOf("release-3")).toMatchObject({ started: 30 });
    const touched = up.filter((server) => waveOf(server) <= 3);
    expect(serversThat(facts, "release-3", "installed")).toEqual(touched);
    expect(serversThat(facts, "release-3", "restored")).toEqual(touched);

    // It stops in the second wave: not all of it has started.
    expect(runs.get("release-4")?.run.state).toBe("COMPENSATED");
    const broken = serversThat(facts, "release-4", "broken");
    expect(broken.length).toBeGreaterThan(2);
    expect(broken.length).toBeLessThan(10);
    expect(serversThat(facts, "release-4", "restored")).toEqual(
      serversThat(facts, "release-4", "installed", "broken"),
    );

    expect(up.map((server) => versionOf(facts, server))).toEqual(up.map(() => 2));
  },
  storyMsMax,
);

test(
  "the naive caller leaves the fleet on mixed versions, as the README states",
  async () => {
    const result = await runStory("deployment", "--naive");
    expect(result.code).toBe(1);
    const mixed = result.problems.filter(({ run }) => run === "the fleet");
    expect(mixed.map(({ message }) => message.slice(0, 9))).toEqual([
      "version 4",
      "version 3",
      "version 1",
    ]);
    expect(untrueLines("deployment", [result])).toEqual([]);
  },
  storyMsMax,
);
