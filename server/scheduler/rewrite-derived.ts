// Rewrites derived rows of runs from their pages, in a transaction that the epoch of the acting
// supervisor fences, and records an intervention for each run in the same transaction.
import type { EpochMs } from "../core/model/attempt.ts";
import { emptyView } from "../core/model/model.ts";
import type { RewrittenRun } from "../store/consistency.ts";
import type { PassRecord } from "../store/pass-record.ts";
import type { RunHead, RunRef, Tx } from "../store/store.ts";
import { NOTHING_WRITTEN } from "../store/written.ts";
import { type AdvanceOptions, commitAndPublish, type SupervisorActor } from "./advance.ts";
import type { Worked } from "./commit-summary.ts";
import { fencedOf } from "./fence.ts";

/** Batches of events use the writer numbers 0 and 1, and cron schedules 2. */
const WRITER_SLOT = 3;
const LOCK_WAIT_MS = 1_000;
/** An intervention is numbered by the second, so that later findings have other numbers. */
const NUMBER_MS = 1_000;

export type RewriteOptions = Pick<
  AdvanceOptions,
  "store" | "handOver" | "publish" | "typical" | "clock" | "onError"
>;

export interface RewriteItem {
  readonly run: RunRef;
  readonly actor: SupervisorActor;
}

/** Only one call may be in flight at a time, because it has one writer number. */
export type RewriteDerived = (items: readonly RewriteItem[]) => Promise<readonly RewrittenRun[]>;

/** Items whose actor no longer owns the partition are left out. */
export function createRewriteDerived(options: RewriteOptions): RewriteDerived {
  const use = { name: "consistency", lockTimeoutMs: LOCK_WAIT_MS };
  return async (items) =>
    (await commitAndPublish(options, use, (tx) => rewriteWithin(tx, items))).rewritten;
}

interface Rewritten extends Worked {
  readonly rewritten: readonly RewrittenRun[];
}

async function rewriteWithin(tx: Tx, items: readonly RewriteItem[]): Promise<Rewritten> {
  const fenced = await fencedOf(tx, items, WRITER_SLOT, ({ run }) => run.partition);
  const live = new Map(
    items.flatMap((item) => (fenced.has(item) ? [] : [[item.run.runId, item] as const])),
  );
  const heads = live.size === 0 ? [] : await tx.lockRuns(runsOf(live.values()), true);
  const rewritten = heads.length === 0 ? [] : await tx.rewriteDerived(heads);
  const sawOf = new Map(rewritten.map(({ runId, saw }) => [runId, saw]));
  const records = heads.flatMap((head): PassRecord[] => {
    const saw = sawOf.get(head.runId);
    const item = live.get(head.runId);
    return saw && item ? [recordOf(head, saw, item.actor, tx.now)] : [];
  });
  const written = records.length > 0 ? await tx.write(records) : NOTHING_WRITTEN;
  return { ...written, records, started: [], rewritten };
}

function runsOf(items: Iterable<RewriteItem>): readonly RunRef[] {
  return [...items].map(({ run }) => run);
}

/** A pass that changes nothing of the run and only appends the intervention. */
function recordOf(
  head: RunHead,
  saw: readonly string[],
  actor: SupervisorActor,
  now: EpochMs,
): PassRecord {
  const view = emptyView(head.run);
  return {
    head,
    before: view,
    after: view,
    actor,
    effects: [
      {
        kind: "intervened",
        intervention: {
          step: null,
          fence: 0,
          rule: "integrity",
          n: Math.floor(now / NUMBER_MS),
          saw: saw.join("; "),
          did: "rewrote its derived rows from its state. This is a defect of Drover: please report it",
          dueAt: now,
          actedAt: now,
        },
      },
    ],
    laneOf: () => {
      throw new Error(`a rewrite of derived rows hands out no task of run ${head.runId}`);
    },
  };
}
