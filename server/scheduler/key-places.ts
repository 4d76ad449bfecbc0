// A run with a concurrency key begins in the shard of that key. If its idempotency key belongs to
// another shard, the shard of the idempotency key first keeps the digest of the call, in a
// transaction of its own. Two calls with one idempotency key and different concurrency keys would
// otherwise begin two runs, in two shards; the second one is refused. A repetition of the same call
// has the same concurrency key, and so finds its run. What was kept remains as long as the key,
// even if the run was refused: the idempotency key then serves only the same call.
import { DroverError } from "../errors.ts";
import type { Shards } from "../store/shards.ts";
import type { EngineStore } from "../store/store.ts";
import type { ScheduleItem } from "./new-run.ts";
import type { PlaceOfKey } from "./run-id.ts";

export interface KeyPlaces {
  /** Throws KEY_REUSED if another call has used the idempotency key. */
  keep(item: ScheduleItem): Promise<void>;
}

/** `keepMs`: how long a key is retained if the call does not say, in milliseconds. */
export function createKeyPlaces(
  shards: Shards<EngineStore>,
  placeOfKey: PlaceOfKey,
  newRunId: () => string,
  keepMs: number,
): KeyPlaces {
  return Object.freeze({
    async keep({ request, reserved }: ScheduleItem): Promise<void> {
      const { namespace, concurrency, digest, keyRetentionMs = keepMs } = request;
      if (reserved === null || concurrency === null) return;
      const ofKey = shards.of(placeOfKey(namespace.id, reserved.key));
      if (ofKey === shards.of(placeOfKey(namespace.id, concurrency.key))) return;
      const { key, name } = reserved;
      const kept = { namespaceId: namespace.id, key, digest, keepMs: keyRetentionMs };
      const [holder] = await ofKey.transact({ name: "key-place" }, (tx) =>
        tx.reserveKeys([{ ...kept, runId: newRunId() }]),
      );
      if (holder?.digest === digest) return;
      throw new DroverError(
        "KEY_REUSED",
        `${name} was used by another request: use a new one for a new run`,
        { metadata: { key } },
      );
    },
  } satisfies KeyPlaces);
}
