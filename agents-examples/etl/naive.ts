/**
 * The same partitions, by a plain program. It starts a partition that failed once more, from the
 * first page, and then gives up. It uses a new key for each call, and holds its position in memory.
 */
import type { NaiveStage } from "../stage/story.ts";
import { centsOf, partitions, type Row, run } from "./orders.ts";

export async function naive({ remote, act }: NaiveStage): Promise<void> {
  const key = () => crypto.randomUUID();

  async function load(ref: string): Promise<readonly Row[]> {
    const done: Row[] = [];
    for (let from: number | null = 0; from !== null; ) {
      const page: { rows: readonly Row[]; next: number | null } = Object(
        await remote("source/read", { key: key(), body: { ref, from } }),
      );
      await remote("warehouse/load", { key: key(), body: { ref, rows: page.rows } });
      done.push(...page.rows);
      from = page.next;
    }
    return done;
  }

  const all: Row[] = [];
  for (const partition of partitions) {
    try {
      all.push(...(await load(partition).catch(() => load(partition))));
      act(`${partition} loaded`, "naive");
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      act(`${partition} given up after two tries: ${why}`, "naive");
    }
  }
  const body = { ref: run, rows: [all.length], cents: [centsOf(all)] };
  await remote("warehouse/publish", { key: key(), body });
}
