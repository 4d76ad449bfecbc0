// ScheduleBatch: runs that one call starts, each with an answer of its own.
import type { ItemResult } from "../batching/batcher.ts";
import { DroverError, type Reason } from "../errors.ts";
import type { ItemFinder } from "./item-finder.ts";
import type { KeyPlaces } from "./key-places.ts";
import { type ScheduleItem as Item, placingKey, type Scheduled } from "./new-run.ts";
import type { BatchAnswer, ScheduleRequest } from "./scheduler.ts";

interface BatchStarts {
  submitBatch(items: readonly Item[]): Promise<readonly ItemResult<Scheduled>[]>;
}

interface ShardsToStartIn {
  /** The shard that a run begins in. */
  readonly choose: (item: Item) => BatchStarts;
  readonly isOneShard: boolean;
}

export async function scheduleBatch(
  find: ItemFinder,
  keyPlaces: KeyPlaces,
  to: ShardsToStartIn,
  requests: readonly ScheduleRequest[],
): Promise<readonly BatchAnswer[]> {
  const found = await Promise.all(
    requests.map(async (request): Promise<Item | DroverError> => {
      try {
        const item = await find(request);
        return (await keyPlaces.keep(item).then(noError, errorOfStore)) ?? item;
      } catch (error) {
        if (error instanceof DroverError && OF_ONE.has(error.reason)) return error;
        throw error;
      }
    }),
  );
  const items = found.filter((one): one is Item => !(one instanceof DroverError));
  const results = await submitAll(to, items);
  return found.map((one) => {
    if (one instanceof DroverError) return { kind: "refused", error: one };
    return batchAnswer(results.get(one));
  });
}

/**
 * One transaction in each shard. Runs without keys are in one shard. If one of several shards does
 * not answer, that is the answer of its runs, and those of others begin.
 */
async function submitAll(
  { choose, isOneShard }: ShardsToStartIn,
  items: readonly Item[],
): Promise<ReadonlyMap<Item, ItemResult<Scheduled>>> {
  const keyless = items.find((item) => placingKey(item) === null);
  const ofKeyless = keyless && choose(keyless);
  const parts = Map.groupBy(items, (item) =>
    ofKeyless && placingKey(item) === null ? ofKeyless : choose(item),
  );
  const results = new Map<Item, ItemResult<Scheduled>>();
  await Promise.all(
    [...parts].map(async ([starts, part]) => {
      try {
        const answers = await starts.submitBatch(part);
        for (const [index, answer] of answers.entries()) {
          const item = part[index];
          if (item) results.set(item, answer);
        }
      } catch (cause) {
        if (isOneShard) throw cause;
        const error = errorOfStore(cause);
        for (const item of part) results.set(item, { kind: "failed", error });
      }
    }),
  );
  return results;
}

const noError = () => null;

/** That a shard does not answer, or has too much to do. Throws any other error. */
function errorOfStore(error: unknown): DroverError {
  if (error instanceof DroverError && OF_STORE.has(error.reason)) return error;
  throw error;
}

const OF_STORE: ReadonlySet<Reason> = new Set(["STORE_UNAVAILABLE", "OVERLOADED"]);

/** Errors of one run of a batch. Any other error is about the store. */
const OF_ONE: ReadonlySet<Reason> = new Set([
  ...(["INVALID_REQUEST", "WORKFLOW_NOT_FOUND", "NAMESPACE_LIMIT", "KEY_REUSED"] as const),
]);

function batchAnswer(result: ItemResult<Scheduled> | undefined): BatchAnswer {
  if (result?.kind === "done") return { kind: "scheduled", ...result.result };
  if (result?.kind === "failed" && result.error instanceof DroverError)
    return { kind: "refused", error: result.error };
  throw new Error("a run of a batch came back without an answer");
}
