/** The ETL story, run as a user runs it, and by the naive caller. */
import { expect, test } from "vitest";
import { readable, rowsOf, run } from "../../../agents-examples/etl/orders.ts";
import { runStory, storyMsMax, untrueLines } from "../../support/story-run.ts";

const seed = 1;

test(
  "each row is loaded once although an agent is killed in the middle of a partition",
  async () => {
    const result = await runStory("etl", "--seed", String(seed));
    expect(result.code, result.output).toBe(0);
    const { facts, runs, output } = result;
    const load = runs.get(run);
    expect(load?.run).toMatchObject({ state: "COMPLETED", warnings: 1 });
    const items = load?.steps.find(({ id }) => id === "load")?.items;
    expect(items).toMatchObject({ total: 6, succeeded: 5, failed: 1 });

    const loaded = facts
      .filter(({ did }) => did === "loaded")
      .flatMap(({ what }) => (Array.isArray(what.rows) ? what.rows.map(({ id }) => id) : []));
    const right = readable(seed).flatMap((partition) => rowsOf(seed, partition));
    expect(loaded.toSorted()).toEqual(right.map(({ id }) => id).toSorted());

    // The successor of the killed agent started neither at page one nor after the loaded pages.
    const [, pid, partition] =
      output.match(/SIGKILL for loader-(\d+), in the middle of (\S+)/) ?? [];
    const reads = facts.filter(({ did, ref }) => did === "read" && ref === partition);
    const lastOfKilled = reads.findLastIndex(({ what }) => what.by === Number(pid));
    const next = reads[lastOfKilled + 1];
    expect(next?.what.by).not.toBe(Number(pid));
    expect(Number(next?.what.from)).toBeGreaterThan(0);
    const unreported = Number(reads[lastOfKilled]?.what.from) + 5;
    expect(Number(next?.what.from)).toBeLessThanOrEqual(unreported);
  },
  storyMsMax,
);

test(
  "the naive caller loads rows twice and leaves others out, as the README states",
  async () => {
    const result = await runStory("etl", "--naive", "--seed", String(seed));
    expect(result.code).toBe(1);
    expect(untrueLines("etl", [result])).toEqual([]);
  },
  storyMsMax,
);
