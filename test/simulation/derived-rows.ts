// Derived rows must agree with the pages that they are computed from after every transaction: no
// fault excuses a difference, and no server may rewrite it before a check has seen it.

import type { Shards } from "../../server/store/shards.ts";
import type { EngineStore } from "../../server/store/store.ts";
import type { VirtualTime } from "../../simulator/virtual-time.ts";

const COMPARE_EVERY_MS = 500;

/** Compares from now on; a run is reported once. */
export function compareDerivedRows(
  time: VirtualTime,
  shards: Shards<Pick<EngineStore, "differingRuns">>,
  partitions: readonly number[],
  onDefect: (what: string) => void,
): void {
  const reported = new Set<string>();
  const compare = async (): Promise<void> => {
    const found = shards.all.map((store) => {
      const own = partitions.filter((one) => shards.of(one) === store);
      return store.differingRuns(own, null, Number.MAX_SAFE_INTEGER);
    });
    for (const { runId } of (await Promise.all(found)).flatMap(({ runs }) => runs)) {
      if (reported.has(runId)) continue;
      reported.add(runId);
      onDefect(`the derived rows of run ${runId} differ from its pages`);
    }
  };
  const again = (): void =>
    void time.after(COMPARE_EVERY_MS, () => {
      void compare().then(again);
    });
  again();
}
