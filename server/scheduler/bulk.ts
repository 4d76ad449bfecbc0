// Records an action on many runs under a key, as the start of a run does, so that its first call
// may be repeated after runs have left the filter. The count is checked once, and the time of the
// count remains the bound of the runs that belong to the action. What is done to each run is
// idempotent by itself.
import type { Random } from "../clock.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { DroverError } from "../errors.ts";
import type { EngineStore } from "../store/store.ts";
import { newRunId } from "./run-id.ts";
import { KEY_RETENTION_MS } from "./schedule.ts";
import { BULK_RUNS_MAX, type BulkRequest } from "./scheduler.ts";

export async function openBulk(
  { store, random }: { readonly store: EngineStore; readonly random: Random },
  { namespace, requestId, digest, counted, expected, refusal }: BulkRequest,
): Promise<{ readonly until: EpochMs; readonly repeated: boolean }> {
  // No run has this id. It stores a time that is later than the creation of every run counted.
  const runId = newRunId(counted.now + 1, random);
  const key = `\u0001bulk ${requestId}`;
  const reservation = { namespaceId: namespace.id, key, runId, digest, keepMs: KEY_RETENTION_MS };
  return store.transact({ name: "bulk" }, async (tx) => {
    const [holder] = await tx.reserveKeys([reservation]);
    if (!holder) throw new Error(`the request ${requestId} could not be filed`);
    if (holder.digest !== digest)
      throw new DroverError(
        "KEY_REUSED",
        `request "${requestId}" was used for another action: use a new one`,
        { metadata: { key: requestId } },
      );
    const repeated = holder.runId !== runId;
    if (!repeated) evaluator(counted.count, expected);
    if (!repeated && refusal) throw refusal;
    return { until: createdAtOf(holder.runId), repeated };
  });
}

/** Throws if the count is refused; the rollback removes the reservation. */
function evaluator(count: number, expected: number | null): void {
  if (expected !== null && expected !== count)
    throw new DroverError(
      "COUNT_MISMATCH",
      `the filter finds ${count} runs, and ${expected} were expected: look again with a dry run`,
      { metadata: { expected: String(expected), found: String(count) } },
    );
  if (count > BULK_RUNS_MAX)
    throw new DroverError(
      "COUNT_MISMATCH",
      `the filter finds more than ${BULK_RUNS_MAX} runs: narrow it, as by the time of creation`,
      { metadata: { expected: String(BULK_RUNS_MAX), found: `${count} or more` } },
    );
}

/** A run id begins with 48 bits of milliseconds. */
function createdAtOf(runId: string): EpochMs {
  return Number.parseInt(runId.replaceAll("-", "").slice(0, 12), 16);
}
