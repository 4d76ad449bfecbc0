// Moves ready rows into the lanes where pins and pauses want them. What wants them elsewhere is
// written first, with a note; whoever makes rows ready, or claims, without knowing of it is waited
// for; then the open runs of the workflow are walked, in pages, and their rows moved. Whoever dies
// in between leaves the note, and housekeeping finishes the move.
import type { Clock } from "../../clock.ts";
import { DroverError } from "../../errors.ts";
import type { WorkflowRef } from "../queues.ts";
import type { RunId } from "../run-head.ts";
import type { Query } from "./transaction.ts";

/** No transaction of ours lives longer than 5 s. */
const CLAIMS_MS_MAX = 6_000;
const LOOK_AGAIN_MS = 5;
const DEFINITIONS_MAX = 500;
const RUNS_MAX = 500;
const FIRST_RUN = "00000000-0000-0000-0000-000000000000";

export interface Mover {
  readonly query: Query;
  readonly clock: Clock;
}

/** The note of a move. */
export interface MoveRow {
  id: number;
}

/** Some run may have it: a definition of this name is known. */
export async function isWorkflow(
  query: Query,
  { namespaceId, workflow }: WorkflowRef,
): Promise<boolean> {
  return (await query("definitions_of_workflow", [namespaceId, workflow, 0, 1])).length > 0;
}

/** Returns the lanes that have got ready rows by it. */
export async function moveNoted(
  mover: Mover,
  of: WorkflowRef,
  [move]: readonly MoveRow[],
): Promise<readonly number[]> {
  if (!move) throw new Error(`a move of ready rows of ${of.workflow} was noted and is not there`);
  await claimsOver(mover.query, mover.clock);
  const lanes = await moveReady(mover, of, move);
  await mover.query("end_pin_move", [move.id]);
  return lanes;
}

/** Finishes what others have left in the middle. */
export async function finishMoves(mover: Mover): Promise<void> {
  const left = await mover.query<MoveRow & { namespace_id: number; workflow: string }>(
    "take_pin_moves",
    [],
  );
  for (const { id, namespace_id: namespaceId, workflow } of left)
    await moveNoted(mover, { namespaceId, workflow }, [{ id }]);
}

/** Row by row it waits for nobody, so it can hold nobody up; it comes back for what is left. */
async function moveReady(
  { query, clock }: Mover,
  of: WorkflowRef,
  { id }: MoveRow,
): Promise<readonly number[]> {
  const lanes = new Set<number>();
  for await (const runs of openRuns(query, of)) {
    await query("keep_pin_move", [id]);
    for (;;) {
      const [row] = await query<{ left: number; lanes: number[] }>("place_ready", [runs]);
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
    const asked = [namespaceId, workflow, last, DEFINITIONS_MAX];
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
  let [left, after] = [definitions, FIRST_RUN];
  while (left.length > 0) {
    const asked = [namespaceId, left, after, RUNS_MAX];
    const rows = await query<{ place: number; run_id: RunId }>("open_runs_of_definitions", asked);
    yield rows.map(({ run_id: runId }) => runId);
    const end = rows.at(-1);
    if (!end || rows.length < RUNS_MAX) return;
    [left, after] = [left.slice(end.place - 1), end.run_id];
  }
}

/** Waits until nobody is left who may hand out, or make ready, by what was known before. */
export function claimsOver(query: Query, clock: Clock): Promise<void> {
  return writersOver({ query, clock }, "ready");
}

/** Waits until nobody is left who may make a lane by what was known before. */
export function lanesMade(query: Query, clock: Clock): Promise<void> {
  return writersOver({ query, clock }, "lane");
}

async function writersOver({ query, clock }: Mover, table: "ready" | "lane"): Promise<void> {
  const underWay = async (): Promise<ReadonlySet<string>> => {
    const rows = await query<{ transaction: string }>("claims_under_way", [table]);
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
