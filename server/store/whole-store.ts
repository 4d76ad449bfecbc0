// All shards of a store together with what people list and administer. A store that is one shard is
// all of it itself.
import { allShards, type PlaceOfSchedule, type WholeStore } from "./all-shards.ts";
import type { HandlerLogs } from "./handler-logs.ts";
import { listsOfShards } from "./lists-of-shards.ts";
import { operatorsOfShards } from "./operators-of-shards.ts";
import type { RunId } from "./run-head.ts";
import type { Shards } from "./shards.ts";
import type { Store } from "./store.ts";

export function wholeStore(shards: Shards<Store>, placeOfSchedule: PlaceOfSchedule): WholeStore {
  const { all, home } = shards;
  if (all.length === 1) return home;
  return Object.freeze({
    ...allShards(shards, placeOfSchedule),
    lists: listsOfShards(shards),
    operators: operatorsOfShards(shards),
    tokens: home.tokens,
    // Users fill the inbox in one place.
    inbox: home.inbox,
    logs: logsOfShards(shards),
  } satisfies WholeStore);
}

/** The lines of a run are in its shard. */
function logsOfShards(shards: Shards<Store>): HandlerLogs {
  return Object.freeze({
    attempts: (tasks) =>
      inShards(
        shards,
        tasks,
        ({ runId }) => runId,
        ({ logs }, of) => logs.attempts(of),
      ),
    append: (appends) =>
      inShards(
        shards,
        appends,
        ({ attempt }) => attempt.runId,
        ({ logs }, of) => logs.append(of),
      ),
    lines: (page) => shards.ofRun(page.runId).logs.lines(page),
  } satisfies HandlerLogs);
}

/** Asks each shard about its own, and returns the answers in the order of what was asked. */
async function inShards<T, R>(
  shards: Shards<Store>,
  all: readonly T[],
  runIdOf: (one: T) => RunId,
  ask: (shard: Store, of: readonly T[]) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const asked = all.map((one, at) => ({ one, at }));
  const parts = [...Map.groupBy(asked, ({ one }) => shards.ofRun(runIdOf(one)))];
  const answers = await Promise.all(
    parts.map(async ([shard, part]) => {
      const found = await ask(
        shard,
        part.map(({ one }) => one),
      );
      return found.map((answer, n) => ({ answer, at: part[n]?.at ?? 0 }));
    }),
  );
  return answers
    .flat()
    .sort((a, b) => a.at - b.at)
    .map(({ answer }) => answer);
}
