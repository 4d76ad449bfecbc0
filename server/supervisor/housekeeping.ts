// Deletes old data once a minute, in small batches: sessions that fell silent long ago, pollers
// that have left, writer rows of dead processes, expired keys, runs of namespaces with a retention,
// and definitions that nothing uses; then it estimates what the runs of each namespace take. Every
// server does it; two at the same time only find less to delete. Each part runs by itself: one that
// fails is logged once a minute, and stops no other.
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import { createLoop, type Loop } from "../loop.ts";
import { type Failures, RETENTION_DEFAULT, type Retention } from "../store/retention.ts";
import type { EngineStore, RunId } from "../store/store.ts";

const EVERY_MS = 60_000;
const ROWS_MAX = 1_000;
/** A minute: 100,000 rows of each kind, so that what a busy server makes does not accumulate. */
const ROUNDS_MAX = 100;
const RUNS_MAX = 100;
/**
 * A minute and namespace: 100,000 runs are read, and those past their retention are deleted, so
 * that the end of 1,600 runs a second does not accumulate. Deleting that many takes some 20 s.
 */
const PAGES_MAX = 1_000;
/** Definitions of a page, and pages a minute. */
const DEFINITIONS_MAX = 500;
const DEFINITION_PAGES_MAX = 20;
/** A little less than EVERY_MS: of several servers, one estimates for all. */
const STORAGE_EVERY_MS = 50_000;

export function createHousekeeping(
  store: Pick<EngineStore, "forgetOld" | "namespaces">,
  clock: Clock,
  log: Logger,
  kept: Partial<Retention>,
  { shards = 1, onFailed }: { readonly shards?: number; readonly onFailed?: () => void } = {},
): Loop {
  /** Where the walk through the runs of a namespace continues: it must pass the runs that stay. */
  const places = new Map<number, RunId | null>();

  /** Records the failure of a part, so that the other parts still run. */
  async function alone(failures: Failures, part: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      failures.set(part, error);
    }
  }

  async function forgetRuns(namespaceId: number, keptMs: number): Promise<void> {
    let after = places.get(namespaceId) ?? null;
    let more = true;
    for (let page = 0; more && page < PAGES_MAX; page++) {
      const asked = { namespaceId, keptMs, after, limit: RUNS_MAX };
      ({ after, more } = await store.namespaces.forgetRuns(asked));
    }
    places.set(namespaceId, more ? after : null);
  }

  let lastDefinition: number | null = null;

  async function forgetDefinitions(): Promise<void> {
    const { definitionMs: keptMs = RETENTION_DEFAULT.definitionMs } = kept;
    for (let page = 0; page < DEFINITION_PAGES_MAX; page++) {
      const asked = { after: lastDefinition ?? 0, limit: DEFINITIONS_MAX, keptMs };
      lastDefinition = await store.namespaces.forgetDefinitions(asked);
      if (lastDefinition === null) break;
    }
  }

  function failed(part: string, error: unknown): void {
    onFailed?.();
    log.warn({ event: "housekeeping.failed", part, err: String(error) });
  }

  return createLoop({
    clock,
    everyMs: EVERY_MS,
    async runOnce() {
      const failures: Failures = new Map();
      await alone(failures, "forget_old", async () => {
        for (let round = 0; round < ROUNDS_MAX; round++)
          if (!(await store.forgetOld(ROWS_MAX, kept, failures))) break;
      });
      await alone(failures, "forget_runs", async () => {
        for (const { namespaceId, retentionMs } of await store.namespaces.retained())
          await alone(failures, `forget_runs of namespace ${namespaceId}`, () =>
            forgetRuns(namespaceId, retentionMs),
          );
      });
      // No shard knows which definitions the runs of others have.
      if (shards === 1) await alone(failures, "forget_definitions", forgetDefinitions);
      await alone(failures, "count_storage", () => store.namespaces.countStorage(STORAGE_EVERY_MS));
      for (const [part, error] of failures) failed(part, error);
    },
    onError: (error) => failed("all", error),
  });
}
