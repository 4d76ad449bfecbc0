// Appends the interventions of supervisors: those of passes, and those that needed no pass.
import type { Intervention } from "../../core/model/history.ts";
import type { Actor } from "../pass-record.ts";
import type { RowsOfEffects } from "../rows-of-effects.ts";
import type { RunId } from "../run-head.ts";
import { ofEach, writeRows } from "./batch.ts";
import { rules } from "./codes.ts";
import type { Query, Send } from "./transaction.ts";

export function writeInterventions(send: Send, changes: readonly RowsOfEffects[]): void {
  writeRows(
    send,
    "insert_interventions",
    ofEach(changes, (change) => change.interventions),
    {
      run_id: ({ head }) => head.runId,
      step_no: ({ row }) => row.step ?? -1,
      fence: ({ row }) => row.fence,
      rule: ({ row }) => rules.code(row.rule),
      n: ({ row }) => row.n,
      partition: ({ head }) => head.partition,
      saw: ({ row }) => row.saw,
      did: ({ row }) => row.did,
      due_at: ({ row }) => row.dueAt,
      acted_at: ({ row }) => row.actedAt,
      node: ({ actor }) => actor?.node ?? null,
      epoch: ({ actor }) => actor?.epoch ?? null,
      namespace_id: ({ head }) => head.namespaceId,
    },
  );
}

/** Nothing is stored if the partition has another owner by now. */
export async function recordIntervention(
  query: Query,
  runId: RunId,
  { fence, rule, n, saw, did, dueAt }: Intervention,
  { node, epoch }: Actor,
): Promise<void> {
  await query("insert_intervention", {
    run_id: runId,
    fence,
    rule: rules.code(rule),
    n,
    saw,
    did,
    due_at: dueAt,
    node,
    epoch,
  });
}
