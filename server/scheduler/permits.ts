// Permits of concurrency keys within a batch: the keys are locked, the rules decide which run gets
// one (core/model/permits.ts), and the changes are written with the passes that caused them.

import type { EpochMs } from "../core/model/attempt.ts";
import type { Message } from "../core/model/message.ts";
import { isEnded, type Run } from "../core/model/model.ts";
import {
  type Concurrency,
  type Joined,
  join,
  leave,
  type Permit,
  type Permits,
} from "../core/model/permits.ts";
import { DroverError } from "../errors.ts";
import type { PassRecord } from "../store/pass-record.ts";
import type { ConcurrencyKey, PermitChange, RunHead, RunId, Tx } from "../store/store.ts";

/** The permits of the keys of a batch, while their locks are held. */
export interface PermitBudget {
  join(of: KeyedRun, since: number): Joined;
  /** Returns the runs that get a permit now. */
  leave(of: KeyedRun): readonly RunId[];
  changes(): readonly PermitChange[];
}

export interface KeyedRun extends Pick<RunHead, "runId" | "namespaceId" | "priority"> {
  readonly concurrency: Concurrency;
}

export async function openPermits(tx: Tx, runs: readonly KeyedRun[]): Promise<PermitBudget> {
  const keys = new Map(
    runs.map(({ namespaceId, concurrency: { key } }): [string, ConcurrencyKey] => {
      return [nameOf({ namespaceId, key }), { namespaceId, key }];
    }),
  );
  const found = await tx.lockPermits([...keys.values()]);
  const before = new Map(found.map((one) => [nameOf(one), one.permits]));
  const now = new Map<string, Permits>(before);
  const of = ({ namespaceId, concurrency: { key } }: KeyedRun): string =>
    nameOf({ namespaceId, key });

  return Object.freeze({
    join(run: KeyedRun, since: number): Joined {
      const { runId, priority } = run;
      const { limit, policy } = run.concurrency;
      const joined = join(now.get(of(run)) ?? [], { runId, limit, priority, since }, policy);
      now.set(of(run), joined.permits);
      return joined;
    },
    leave(run: KeyedRun): readonly RunId[] {
      const { permits, granted } = leave(now.get(of(run)) ?? [], run.runId);
      now.set(of(run), permits);
      return granted;
    },
    changes: () =>
      [...keys].flatMap(([name, key]) =>
        changesOf(key, before.get(name) ?? [], now.get(name) ?? []),
      ),
  });
}

function nameOf({ namespaceId, key }: ConcurrencyKey): string {
  return `${namespaceId}/${key}`;
}

function changesOf(key: ConcurrencyKey, before: Permits, after: Permits): readonly PermitChange[] {
  const was = new Map(before.map((permit) => [permit.runId, permit]));
  const is = new Map(after.map((permit) => [permit.runId, permit]));
  const change = (runId: RunId, permit: Permit | null): PermitChange => ({ ...key, runId, permit });
  return [
    ...before.flatMap(({ runId }) => (is.has(runId) ? [] : [change(runId, null)])),
    ...after.flatMap((permit) =>
      was.get(permit.runId) === permit ? [] : [change(permit.runId, permit)],
    ),
  ];
}

/** What the pass of the record does with the permit of its run. */
interface PermitMove {
  readonly record: PassRecord;
  readonly does: "join" | "leave";
}

/** The passes with the messages that their permits cause, and the changes to be written. */
interface PermitsPassedOn {
  readonly records: readonly PassRecord[];
  readonly changes: readonly PermitChange[];
}

/** A run that ends passes its permit on to a waiting run; a run whose start is due asks for one. */
export async function passPermitsOn(
  tx: Tx,
  records: readonly PassRecord[],
): Promise<PermitsPassedOn> {
  const moves = records.flatMap(moveOf);
  if (moves.length === 0) return { records, changes: [] };
  const concurrency = await tx.concurrencyOf(moves.map(({ record }) => record.head.runId));
  const keyed = ({ record: { head } }: PermitMove): KeyedRun => {
    const its = concurrency.get(head.runId);
    if (!its) throw new Error(`run ${head.runId} needs a permit, and has no concurrency key`);
    return { ...head, concurrency: its };
  };
  const budget = await openPermits(tx, moves.map(keyed));
  const messages = new Map(
    moves.map((move) => [move.record, moved(budget, keyed(move), move, tx.now)]),
  );
  return {
    records: records.map((record) => {
      const more = messages.get(record) ?? [];
      return { ...record, effects: [...record.effects, ...more] };
    }),
    changes: budget.changes(),
  };
}

function moveOf(record: PassRecord): readonly PermitMove[] {
  const { before, after } = record;
  if (endsIn(before.run, after.run)) return [{ record, does: "leave" }];
  return asksIn(before.run, after.run) ? [{ record, does: "join" }] : [];
}

function moved(
  budget: PermitBudget,
  run: KeyedRun,
  { does }: PermitMove,
  now: EpochMs,
): PassRecord["effects"] {
  if (does === "leave") return budget.leave(run).map((runId) => sent(runId, { kind: "permit" }));
  const { answer, cancelled } = budget.join(run, now);
  return [
    ...(answer === "holds" ? [sent(run.runId, { kind: "permit" })] : []),
    ...(answer === "refused" ? [sent(run.runId, { kind: "no-permit" })] : []),
    ...makeRoom(cancelled),
  ];
}

function endsIn(before: Run, after: Run): boolean {
  return before.keyed && !isEnded(before.state) && isEnded(after.state);
}

function asksIn(before: Run, after: Run): boolean {
  const waits = ({ state }: Run): boolean => state.kind === "PENDING" && state.on === "permit";
  return waits(after) && !waits(before);
}

/** The message to a run that is cancelled to make room for another one. */
export function makeRoom(cancelled: RunId | null): PassRecord["effects"] {
  return cancelled === null ? [] : [sent(cancelled, { kind: "make-room" })];
}

function sent(to: RunId, message: Message): PassRecord["effects"][number] {
  return { kind: "message-sent", to, message };
}

/** The error for a run that its concurrency key refuses. */
export function noPermit({ key, limit }: Concurrency, permits: Permits): DroverError {
  const runId = permits.find(({ holds }) => holds)?.runId ?? "";
  return new DroverError(
    "CONCURRENCY_LIMIT",
    `concurrency key "${key}" has ${limit} of ${limit} permits taken, by run ${runId} first: schedule it again when that has ended, or with the policy QUEUE`,
    { metadata: { key, limit: String(limit), run_id: runId } },
  );
}
