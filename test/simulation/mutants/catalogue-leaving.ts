// The mutants of how a step leaves a strategy that may have an effect: G19.
import type { Mutant } from "./catalogue.ts";

export const LEAVING_MUTANTS: readonly Mutant[] = [
  {
    name: "strategy left without its undo",
    file: "core/recovery/leave-strategy.ts",
    find: 'if (plan.compensate && continues) return "undo";',
    replace: "",
    why: "a run completes with the effects of two strategies of one step",
  },
  {
    name: "step passed over without its undo",
    file: "core/recovery/leave-strategy.ts",
    find: 'return onFailure === "continue" || (itemOf(no) > 0 && onFailure !== "escalate");',
    replace: "return itemOf(no) > 0 && onFailure === undefined;",
    why: "a run completes with the effect of a step that failed",
  },
  {
    name: "strategy undone before its attempt has settled",
    file: "core/recovery/unknown-outcome.ts",
    find: 'const waits = task === "compensate" || effects !== "idempotent";',
    replace: 'const waits = effects !== "idempotent";',
    why: "a lost attempt may make its effect after that was undone",
  },
  {
    name: "undone strategy tried again under its key",
    file: "core/events/on-answer.ts",
    find: 'if (strategy?.effectStatus === "UNDONE") {',
    replace: "if (strategy === undefined) {",
    why: "the remote service knows the key as done, and does nothing",
  },
  {
    name: "next strategy started beside the undo",
    file: "core/recovery/leave-strategy.ts",
    find: `  if (pass.view.run.state.kind === "STOPPING") leaveUndoToRun(pass, no);
  else afterUndo(pass, no);`,
    replace: "  leaveUndoToRun(pass, no);",
    why: "what was to follow the undo of a strategy never does",
  },
];
