// Appends the interventions of supervisors.
import type { RowsOfEffects } from "../rows-of-effects.ts";
import { ofEach, writeRows } from "./batch.ts";
import { rules } from "./codes.ts";
import type { Send } from "./transaction.ts";

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
