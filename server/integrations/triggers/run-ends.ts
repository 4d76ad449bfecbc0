// Starts the runs that triggers start after the end of other runs. The transaction that ends a run
// has written a row for each trigger. The owner of its partition schedules the run that follows,
// under a key made of the trigger and the ended run, and deletes the row. A crash in between, or
// doing it twice, begins one run. A fail-over may lose either: no run begins after an end that was
// read before it, and the row stays if its run does not exist.
//
//   row ─ scheduled, `when` is false, the trigger was deleted, or the run was removed ─→ deleted
//       ─ refused ─→ deleted, and listed with its reason
//       ─ unknown outcome ─→ tried again, 5 s later
import { createHash } from "node:crypto";
import type { Logger } from "pino";
import type { Clock } from "../../clock.ts";
import { keyOfEnd, TRIGGER_DEPTH_MAX } from "../../core/definition/trigger.ts";
import { DroverError, type Reason } from "../../errors.ts";
import type { CompiledTrigger } from "../../expressions/trigger-mapping.ts";
import { createLoop, type Loop } from "../../loop.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import { isInShard, type ShardNumber } from "../../store/partition.ts";
import type { Plans } from "../../store/plans.ts";
import type { EngineStore, RunId } from "../../store/store.ts";
import type { EndedFor } from "../../store/triggers.ts";
import { factsOfEnd } from "./mappings.ts";

const ROUND_MS = 250;
const ROWS_MAX = 100;
/** These reasons say nothing about the row. */
const PASSING: ReadonlySet<Reason> = new Set([
  "STORE_UNAVAILABLE",
  "OVERLOADED",
  "DRAINING",
  "INTERNAL",
]);

export interface RunEndsOptions {
  readonly store: Pick<EngineStore, "triggers" | "facts" | "incarnation">;
  /** The shard whose runs have ended; left out: the only one. */
  readonly shard?: ShardNumber | undefined;
  readonly plans: Plans;
  readonly schedule: Scheduler["schedule"];
  readonly compile: (definition: NonNullable<EndedFor["definition"]>) => CompiledTrigger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onFailed?: (() => void) | undefined;
  readonly owned: () => readonly { readonly partition: number }[];
}

export interface RunEnds extends Loop {
  /** A run has ended: the next round queries. */
  announce(): void;
  /** One query with all that follows from it; returns how many rows it has found. */
  scanOnce(): Promise<number>;
}

export function createRunEnds(options: RunEndsOptions): RunEnds {
  const { store, clock, log } = options;
  let announced = true;

  async function scanOnce(): Promise<number> {
    announced = false;
    const partitions = options.owned().map(({ partition }) => partition);
    if (partitions.length === 0) return 0;
    const readIn = store.incarnation();
    const rows = await store.triggers.ended(partitions, ROWS_MAX);
    if (rows.length === 0) return 0;
    const ends = await Promise.all(
      rows.map(async (row) => ({ row, came: await startRun(options, row, readIn) })),
    );
    // Before `settle`: a crash between the two lists a refusal twice, and loses none.
    await store.triggers.refuse(
      ends.flatMap(({ row, came }) => {
        const { trigger, runId, namespace } = row;
        if (came.kind !== "refused") return [];
        const { reason, message } = came;
        return [{ namespaceId: namespace.id, trigger, reason, message, runId, count: 1 }];
      }),
    );
    await store.triggers.settle(
      ends.map(({ row: { id }, came }) => {
        const began = came.kind === "done" ? came.began : null;
        // A fail-over of this shard loses no run of another one.
        const isHere = began !== null && isInShard(options.shard, began);
        return { id, again: came.kind === "again", began: isHere ? began : null };
      }),
    );
    if (rows.length === ROWS_MAX) announced = true;
    return rows.length;
  }

  const loop = createLoop({
    clock,
    everyMs: ROUND_MS,
    async runOnce() {
      if (announced) await scanOnce();
    },
    onError(error) {
      options.onFailed?.();
      log.warn({ event: "trigger.scan-failed", err: String(error) });
    },
  });
  return Object.freeze({
    ...loop,
    scanOnce,
    announce() {
      announced = true;
    },
  });
}

type TriggerResult =
  | { readonly kind: "done"; readonly began: RunId | null }
  | { readonly kind: "again" }
  | { readonly kind: "refused"; readonly reason: string; readonly message: string };

const NOTHING: TriggerResult = { kind: "done", began: null };

async function startRun(
  options: RunEndsOptions,
  row: EndedFor,
  readIn: number,
): Promise<TriggerResult> {
  try {
    return await schedule(options, row, readIn);
  } catch (error) {
    if (error instanceof DroverError && !PASSING.has(error.reason))
      return { kind: "refused", reason: error.reason, message: error.message };
    const { trigger, runId: run } = row;
    options.log.warn({ event: "trigger.failed", trigger, run, err: String(error) });
    return { kind: "again" };
  }
}

async function schedule(
  options: RunEndsOptions,
  row: EndedFor,
  readIn: number,
): Promise<TriggerResult> {
  const { trigger, definition, namespace, runId, depth } = row;
  if (definition === null || definition.source.kind !== "run-end") return NOTHING;
  const compiled = options.compile(definition);
  if (!compiled.ok) throw new Error(`trigger ${trigger} was put and does not compile`);
  const ended = { ...row, namespaceId: namespace.id };
  const facts = await factsOfEnd(options, ended);
  if (facts === null) return NOTHING;
  const mapped = compiled.mapping(facts);
  if (mapped.kind === "nothing") return NOTHING;
  if (mapped.kind === "failed")
    return { kind: "refused", reason: "MAPPING_FAILED", message: mapped.message };
  const { asked } = mapped;
  if (asked.kind !== "schedule") throw new Error(`the end of a run asks for a ${asked.kind}`);
  if (depth >= TRIGGER_DEPTH_MAX) {
    const message = `${TRIGGER_DEPTH_MAX} triggers in a row led to the run that has ended, which is the limit: do workflows trigger each other without an end?`;
    return { kind: "refused", reason: "TRIGGER_DEPTH", message };
  }
  const { workflow: name, version, input, labels, priority } = asked;
  const key = keyOfEnd(trigger, runId);
  const { runId: began } = await options.schedule({
    namespace,
    target: { kind: "named", name, version },
    input,
    key,
    labels,
    priority,
    notify: null,
    startAt: null,
    concurrency: null,
    // Of the key alone, not of the content: the trigger may change before a repetition.
    digest: createHash("sha256").update(key).digest("hex"),
    triggered: { trigger, ofRun: runId, depth: depth + 1 },
    readIn,
  });
  return { kind: "done", began };
}
