// Questions about lanes that no agent polls.
import type { Tx } from "../store.ts";
import type { Tables } from "./tables.ts";

interface Locking {
  readonly tables: Tables;
  readonly enter: (place: "lanes" | "writes and claims") => void;
}

export function laneQuestionsOf({
  tables,
  enter,
}: Locking): Pick<Tx, "lockLaneQuestions" | "writeLaneQuestions"> {
  return {
    lockLaneQuestions: async (lanes) => {
      enter("lanes");
      return lanes.filter((lane) => {
        const asked = tables.laneQuestion.get(String(lane));
        return asked && tables.escalation.expect(`${asked.runId}/${asked.n}`).closedAt === null;
      });
    },
    writeLaneQuestions: async (questions) => {
      enter("writes and claims");
      for (const question of questions) tables.laneQuestion.put(question);
    },
  };
}
