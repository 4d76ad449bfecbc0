// Moves ready rows into the lanes that pins and pauses require. The pin or the pause is written
// first, with a note. Then the server waits for transactions that make rows ready, or claim,
// without knowing of it. Then it walks the open runs of the workflow, in pages, and moves their
// rows. If the server dies in between, the note is left, and housekeeping finishes the move.
import type { Clock } from "../../clock.ts";
import { DroverError } from "../../errors.ts";
import type { AuditEntry } from "../audit.ts";
import type { WorkflowRef } from "../queues.ts";
import type { RunId } from "../run-head.ts";
import type { Query } from "./transaction.ts";

/** No transaction of a server lives longer than 5 s. */
const CLAIMS_MS_MAX = 6_000;
const LOOK_AGAIN_MS = 5;
const DEFINITIONS_MAX = 500;
const RUNS_MAX = 500;
const FIRST_RUN = "00000000-0000-0000-0000-000000000000";

export interface Mover {
  /** Where pins, pauses and notes are written. */
  readonly query: Query;
  readonly clock: Clock;
  /** One for each shard: their ready rows are moved. */
  readonly everywhere: readonly Query[];
}

/** The note of a move. */
interface MoveRow {
  id: number;
}

/** What a statement returns that pins or pauses, or takes that back. */
export interface NotedRow extends MoveRow {
  /** false: it was so before, and the move may only have been left incomplete. */
  changed: boolean;
}

export function ifChanged(entry: AuditEntry, rows: readonly NotedRow[]): AuditEntry | null {
  return rows.some(({ changed }) => changed) ? entry : null;
}

/** Whether some run may have this workflow: a definition of this name is known. */
export async function isWorkflow(
  query: Query,
  { namespaceId, workflow }: WorkflowRef,
): Promise<boolean> {
  return (
    (
      await query("definitions_of_workflow", {
        namespace_id: namespaceId,
        workflow,
        after: 0,
        limit: 1,
      })
    ).length > 0
  );
}

/** Returns the lanes that have received ready rows. */
export async function moveNoted(
  mover: Mover,
  of: WorkflowRef,
  [move]: readonly MoveRow[],
): Promise<readonly number[]> {
  if (!move) throw new Error(`a move of ready rows of ${of.workflow} was noted and is not there`);
  await claimsOver(mover);
  const moves = mover.everywhere.map((shard) => moveReady(mover, shard, of, move));
  const lanes = (await Promise.all(moves)).flat();
  await mover.query("end_pin_move", { id: move.id });
  return [...new Set(lanes)];
}

/** Finishes the moves that other servers have left incomplete. */
export async function finishMoves(mover: Mover): Promise<void> {
  const left = await mover.query<MoveRow & { namespace_id: number; workflow: string }>(
    "take_pin_moves",
    {},
  );
  for (const { id, namespace_id: namespaceId, workflow } of left)
    await moveNoted(mover, { namespaceId, workflow }, [{ id }]);
}

/** Skips locked rows and comes back for them: it waits for no transaction, and delays none. */
async function moveReady(
  { query, clock }: Mover,
  shard: Query,
  of: WorkflowRef,
  { id }: MoveRow,
): Promise<readonly number[]> {
  const lanes = new Set<number>();
  for await (const runs of openRuns(shard, of)) {
    await query("keep_pin_move", { id });
    for (;;) {
      const [row] = await shard<{ left: number; lanes: number[] }>("place_ready", {
        run_ids: runs,
      });
      for (const lane of row?.lanes ?? []) lanes.add(lane);
      if (!row || row.left === 0) break;
      await clock.sleep(LOOK_AGAIN_MS);
    }
  }
  return [...lanes];
}

/** In pages: no statement reads more than one, however many definitions and runs there are. */
async function* openRuns(
  query: Query,
  { namespaceId, workflow }: WorkflowRef,
): AsyncGenerator<readonly RunId[]> {
  let last = 0;
  for (;;) {
    const asked = { namespace_id: namespaceId, workflow, after: last, limit: DEFINITIONS_MAX };
    const rows = await query<{ id: number }>("definitions_of_workflow", asked);
    yield* openRunsOf(
      query,
      namespaceId,
      rows.map(({ id }) => id),
    );
    last = rows.at(-1)?.id ?? last;
    if (rows.length < DEFINITIONS_MAX) return;
  }
}

async function* openRunsOf(
  query: Query,
  namespaceId: number,
  definitions: readonly number[],
): AsyncGenerator<readonly RunId[]> {
  let left = definitions;
  let after = FIRST_RUN;
  while (left.length > 0) {
    const asked = { namespace_id: namespaceId, definition_ids: left, after, limit: RUNS_MAX };
    const rows = await query<{ place: number; run_id: RunId }>("open_runs_of_definitions", asked);
    yield rows.map(({ run_id: runId }) => runId);
    const end = rows.at(-1);
    if (!end || rows.length < RUNS_MAX) return;
    [left, after] = [left.slice(end.place - 1), end.run_id];
  }
}

/** Waits for the transactions that may claim, or make ready, by what was known before. */
export async function claimsOver({ everywhere, clock }: Mover): Promise<void> {
  await Promise.all(everywhere.map((query) => writersOver(query, clock, "ready")));
}

/** Waits for the transactions that may create a lane by what was known before. */
export function lanesMade({ query, clock }: Mover): Promise<void> {
  return writersOver(query, clock, "lane");
}

async function writersOver(query: Query, clock: Clock, table: "ready" | "lane"): Promise<void> {
  const underWay = async (): Promise<ReadonlySet<string>> => {
    const rows = await query<{ transaction: string }>("claims_under_way", { table });
    return new Set(rows.map(({ transaction }) => transaction));
  };
  const until = clock.monotonicMs() + CLAIMS_MS_MAX;
  let left = [...(await underWay())];
  while (left.length > 0) {
    if (clock.monotonicMs() > until)
      throw new DroverError(
        "STORE_UNAVAILABLE",
        "a claim that began before, or what makes lanes, is still under way: repeat the call",
      );
    await clock.sleep(LOOK_AGAIN_MS);
    const still = await underWay();
    left = left.filter((transaction) => still.has(transaction));
  }
}
