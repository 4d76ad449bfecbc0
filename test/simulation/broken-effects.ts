// The good history, broken by hand in what the remote service has at the end: G19.
import { type Broken, type BrokenHistory, must } from "./damage.ts";

function madeBy(history: Broken, runId: string) {
  const made = history.records.find(
    (record) => record.kind === "effect" && record.did === "made" && record.runId === runId,
  );
  if (made?.kind !== "effect") throw new Error(`nothing was made for run ${runId}`);
  return made;
}

export const BROKEN_EFFECTS: readonly BrokenHistory[] = [
  {
    promise: "G19",
    what: "the effect of another strategy exists beside the one that succeeded",
    break: (history) => {
      const made = madeBy(history, "r1");
      history.records.push({ ...made, key: made.key.replace(/0$/, "1") });
    },
    message:
      /step "flight" of run r1 has succeeded by strategy 0, and the remote service still has the effect "r1\/flight\/1" of another one/,
  },
  {
    promise: "G19",
    what: "the effect of a step that succeeded was undone",
    break: (history) => {
      const last = must(history.records.at(-1), "record");
      history.records.push({ ...madeBy(history, "r1"), at: last.at, did: "undone" });
    },
    message: /step "flight" of run r1 has succeeded, and its effect was undone at \d+/,
  },
];
