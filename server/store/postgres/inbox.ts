// The inbox, which users fill by drover.schedule in transactions of their own.
import type { InboxRow, InboxRows } from "../inbox.ts";
import { columns, labelsOf } from "./columns.ts";
import type { Query } from "./transaction.ts";

export function createInboxRows(query: Query): InboxRows {
  return Object.freeze({
    async take(limit) {
      const rows = await query<{
        id: number;
        namespace: string;
        workflow: string;
        version: number;
        input: string | null;
        key: string;
        labels: unknown;
        digest: string;
      }>("take_inbox", { limit });
      return rows
        .map(
          ({ input, labels, ...row }): InboxRow => ({
            ...row,
            input: input === null ? null : { kind: "json", json: input },
            labels: labelsOf(labels),
          }),
        )
        .sort((a, b) => a.id - b.id);
    },
    async settle(answers) {
      const done = answers.filter((answer) => answer.kind === "began");
      const refused = answers.filter((answer) => answer.kind === "refused");
      if (done.length > 0)
        await query(
          "empty_inbox",
          columns(done, {
            id: ({ id }) => id,
            key: ({ key }) => key,
            run_id: ({ began }) => began,
          }),
        );
      if (refused.length > 0)
        await query(
          "refuse_inbox",
          columns(refused, {
            id: (one) => one.id,
            key: (one) => one.key,
            reason: (one) => one.reason,
            message: (one) => one.message,
          }),
        );
    },
  } satisfies InboxRows);
}
