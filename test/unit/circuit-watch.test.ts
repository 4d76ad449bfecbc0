/** The check of each second that moves circuits: how soon the ends of several servers meet. */
import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { expect, test } from "vitest";
import { CIRCUIT_DEFAULTS } from "../../server/core/model/circuit.ts";
import { createOutcomeCounts } from "../../server/dispatch/outcome-counts.ts";
import { createMemoryStore } from "../../server/store/memory/memory-store.ts";
import { partitionsOf } from "../../server/store/partition.ts";
import { createCircuitWatch } from "../../server/supervisor/circuits.ts";
import type { Owned } from "../../server/supervisor/ownership.ts";
import { createServerClock } from "../support/server-clock.ts";

const ENDS = CIRCUIT_DEFAULTS.minOutcomes;

/** Of two regions, as a shard of a store of several has them. */
const partitions = [...partitionsOf(0), ...partitionsOf(1)].filter((one) => one % 4 === 0);

test("a server where all goes well reports it in the check that learns of bad ends elsewhere", async () => {
  const clock = createServerClock();
  const store = createMemoryStore({ now: clock.wallMs });
  const { id: namespaceId } = await store.createNamespace("default", "");
  const [lane = 0] = await store.lanes([{ namespaceId, queue: "bank", task: "pay" }]);

  function server(owned: readonly Owned[]) {
    const ends = createOutcomeCounts(clock);
    const watch = createCircuitWatch({
      circuits: store.circuits,
      settings: CIRCUIT_DEFAULTS,
      log: pino({ level: "silent" }),
      owner: () => ({ node: randomUUID(), owned, partitions }),
      counted: ends.take,
      learn: async () => undefined,
    });
    const end = (agentId: string, how: "good" | "bad") =>
      ends.count(
        Array.from({ length: ENDS }, () => ({ lane, agentId, runId: randomUUID(), end: how })),
      );
    return { end, check: watch.runOnce };
  }

  const failing = server([]);
  const well = server([]);
  const other = server([0, 256].map((of) => ({ partition: of + 4 * (lane + 1), epoch: 1 })));
  const owner = server([{ partition: 256 + 4 * lane, epoch: 1 }]);
  failing.end("agent-1", "bad");
  well.end("agent-2", "good");
  const open = async () => (await store.circuits.snapshot(CIRCUIT_DEFAULTS.windowMs)).circuits;
  for (const { check } of [failing, well, other]) await check();
  expect(await open()).toEqual([]);
  await owner.check();
  expect(await open()).toMatchObject([{ lane, agentId: "agent-1", state: { kind: "open" } }]);
});
