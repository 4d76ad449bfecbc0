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
    ({ head }) => head.runId,
    ({ row }) => row.step ?? -1,
    ({ row }) => row.fence,
    ({ row }) => rules.code(row.rule),
    ({ row }) => row.n,
    ({ head }) => head.partition,
    ({ row }) => row.saw,
    ({ row }) => row.did,
    ({ row }) => row.dueAt,
    ({ row }) => row.actedAt,
    ({ actor }) => actor?.node ?? null,
    ({ actor }) => actor?.epoch ?? null,
    ({ head }) => head.namespaceId,
  );
}
