// Questions about lanes, under the locks of the lanes.
import type { Tx } from "../store.ts";
import { writeRows } from "./columns.ts";
import type { Transaction } from "./transaction.ts";

export function laneQuestionsOf({
  query,
  send,
}: Pick<Transaction, "query" | "send">): Pick<Tx, "lockLaneQuestions" | "writeLaneQuestions"> {
  return {
    async lockLaneQuestions(lanes) {
      await query("lock_lane_questions", { lanes });
      const rows = await query<{ lane: number }>("lane_questions", { lanes });
      return rows.map(({ lane }) => lane);
    },
    writeLaneQuestions: async (questions) =>
      writeRows(send, "write_lane_questions", questions, {
        lane: (row) => row.lane,
        run_id: (row) => row.runId,
        n: (row) => row.n,
      }),
  };
}
