// Events of runs of all shards: each goes to the shard of its run, and is applied there.
import type { Shards } from "../store/shards.ts";
import type { RunRef } from "../store/store.ts";
import type { Advance } from "./advance.ts";

export function routeEvents(shards: Shards<Advance>): Advance {
  if (shards.all.length === 1) return shards.home;
  return Object.freeze({
    admit: (runs, submit) => admit([...byShard(shards, runs)], submit),
    submit: (run, event, actor) => shards.of(run.partition).submit(run, event, actor),
    ask: (run, event, caller, audit) => shards.of(run.partition).ask(run, event, caller, audit),
    idle: async () => void (await Promise.all(shards.all.map((one) => one.idle()))),
  } satisfies Advance);
}

function byShard(
  shards: Shards<Advance>,
  runs: readonly RunRef[],
): ReadonlyMap<Advance, readonly RunRef[]> {
  return Map.groupBy(runs, ({ partition }) => shards.of(partition));
}

/** All shards have room, or nothing is submitted. */
function admit<T>(of: readonly (readonly [Advance, readonly RunRef[]])[], submit: () => T): T {
  const [first, ...rest] = of;
  if (!first) return submit();
  const [advance, runs] = first;
  return advance.admit(runs, () => admit(rest, submit));
}
