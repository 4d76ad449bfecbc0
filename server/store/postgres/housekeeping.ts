// Forgets what nobody will ask for again (sql/housekeeping.sql), and finishes what whoever began it
// may have died of.
import type { Clock } from "../../clock.ts";
import { KEPT_FOR_DEFAULT, type KeptFor } from "../kept-for.ts";
import { DELIVERY_KEPT_MS } from "../outbox.ts";
import { finishMoves } from "./ready-moves.ts";
import type { Query } from "./transaction.ts";

export async function forgetOld(
  { query, clock }: { readonly query: Query; readonly clock: Clock },
  rowsMax: number,
  kept: Partial<KeptFor> = {},
): Promise<boolean> {
  const times = { ...KEPT_FOR_DEFAULT, ...kept };
  const { sessionKeptMs, pollerKeptMs, triggeredKeptMs, circuitEndsKeptMs } = times;
  const bounded: readonly (readonly [name: string, ...values: number[]])[] = [
    ["forget_sessions", sessionKeptMs],
    ["forget_agents", sessionKeptMs],
    ["forget_lane_pollers", pollerKeptMs],
    ["forget_keys"],
    ["forget_triggered", triggeredKeptMs],
    ["forget_refused"],
    ["forget_deliveries", DELIVERY_KEPT_MS],
    ["forget_schedules"],
  ];
  // Whoever paused, resumed or pinned a workflow may have died before its ready rows were moved.
  await finishMoves({ query, clock });
  let isMore = false;
  for (const [name, ...values] of bounded) {
    const [row] = await query<{ more: boolean }>(name, [rowsMax, ...values]);
    isMore ||= row?.more === true;
  }
  await query("forget_writers", []);
  await query("forget_circuit_ends", [circuitEndsKeptMs]);
  await query("forget_circuits", []);
  await query("forget_outages", []);
  return isMore;
}
