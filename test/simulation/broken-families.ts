// The good history, broken by hand in what runs share: parents and children, pauses and limits.
import { type BrokenHistory, must, runOf } from "./damage.ts";

export const BROKEN_FAMILIES: readonly BrokenHistory[] = [
  {
    promise: "G5",
    what: "a run is the child of a step that runs no other",
    break: (history) => {
      runOf(history, "r2").parent = { runId: "r1", stepId: "flight" };
    },
    message: /run r2 is stored as a child of no step that could begin it/,
  },
  {
    promise: "G16",
    what: "a namespace is paused, and its tasks are handed out",
    break: (history) => {
      const { at, process } = must(history.records[0], "record");
      const held = { what: "namespace", name: "blue" } as const;
      const request = { rpc: "Hold", namespace: "blue", held } as const;
      const answer = { kind: "done", run: null, repeated: false } as const;
      history.records.unshift(
        { kind: "call", at, process, call: 901, server: "server-1", request },
        { kind: "answer", at, process, call: 901, answer, canaries: [] },
      );
    },
    message: /was handed out at \d+, though the pause of namespace "blue" was acknowledged at \d+/,
  },
];
