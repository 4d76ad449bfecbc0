// Starts the runs that users have put into the inbox in transactions of their own
// (drover.schedule). Each row has a key, so a row that is taken twice, after a crash between the
// two, starts one run. A row that was taken before a fail-over starts none: the database may have
// lost the user's transaction.
//
//   waiting → taken for half a minute → deleted, or refused and kept with the reason
//
// The owner of the region's first partition finds them within a second, by its timer scan. A second
// process that owns the partition for a moment too would only find other rows.
import type { Logger } from "pino";
import { DroverError, type Reason } from "../errors.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { InboxAnswer, InboxRow, InboxRows } from "../store/inbox.ts";
import { isInShard, type ShardNumber } from "../store/partition.ts";
import type { EngineStore } from "../store/store.ts";

const ROWS_MAX = 200;
const PRIORITY = 5;
/** These reasons say nothing about the row: it waits for the next try. */
const PASSING: ReadonlySet<Reason> = new Set([
  "STORE_UNAVAILABLE",
  "OVERLOADED",
  "NAMESPACE_LIMIT",
  "DRAINING",
  "INTERNAL",
]);

export interface Inbox {
  /** There are rows: they are taken, unless that is in progress. */
  announce(): void;
  /** Takes all rows that wait, and starts their runs. */
  takeOnce(): Promise<void>;
  /** Resolves when what is in progress has ended. */
  stop(): Promise<void>;
}

interface InboxOptions {
  readonly rows: InboxRows;
  /** The shard of the rows; left out: the only one. */
  readonly shard?: ShardNumber | undefined;
  readonly store: Pick<EngineStore, "namespace" | "incarnation">;
  readonly schedule: Scheduler["schedule"];
  readonly isOwner: () => boolean;
  readonly log: Logger;
  readonly onFailed?: (() => void) | undefined;
}

export function createInbox(options: InboxOptions): Inbox {
  const { rows: inbox, log } = options;
  let under: Promise<void> | null = null;

  async function takeOnce(): Promise<void> {
    if (!options.isOwner()) return;
    for (;;) {
      const readIn = options.store.incarnation();
      const rows = await inbox.take(ROWS_MAX);
      if (rows.length === 0) return;
      const answers = await Promise.all(rows.map((row) => answerOf(options, row, readIn)));
      await inbox.settle(answers.filter((answer) => answer !== null));
      if (rows.length < ROWS_MAX) return;
    }
  }

  return Object.freeze({
    announce() {
      under ??= takeOnce()
        .catch((error: unknown) => {
          options.onFailed?.();
          log.warn({ event: "inbox.failed", err: String(error) });
        })
        .finally(() => {
          under = null;
        });
    },
    takeOnce,
    stop: async () => void (await under),
  });
}

/** null: the outcome is unknown, and the row's key makes the next try safe. */
async function answerOf(
  { store, schedule, shard, log }: InboxOptions,
  row: InboxRow,
  readIn: number,
): Promise<InboxAnswer | null> {
  const { id, workflow: name, version, input, key, labels, digest } = row;
  try {
    const namespace = await store.namespace(row.namespace);
    if (!namespace)
      throw new DroverError(
        "NAMESPACE_NOT_FOUND",
        `there is no namespace "${row.namespace}": create it first`,
      );
    const target = { kind: "named", name, version } as const;
    const plain = { priority: PRIORITY, notify: null, startAt: null, concurrency: null };
    const run = { namespace, target, input, key, labels, digest, readIn, ...plain };
    const { runId } = await schedule(run);
    return { kind: "began", id, key, began: isInShard(shard, runId) ? runId : null };
  } catch (error) {
    if (error instanceof DroverError && !PASSING.has(error.reason))
      return { kind: "refused", id, key, reason: error.reason, message: error.message };
    log.warn({ event: "inbox.row.failed", id, err: String(error) });
    return null;
  }
}
