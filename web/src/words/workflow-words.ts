// A definition in a few words: what a step does, and in which queue.
import { Effects, type StepDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";

/** `book-flight in flights`, `waits`, `approval`: what a step does. */
export function stepDoes({ kind }: StepDefinition): string {
  switch (kind.case) {
    case "task":
      return inQueue(kind.value.name, kind.value.queue);
    case "map":
      return `${inQueue(kind.value.task, kind.value.queue)}, for each item`;
    case "run":
      return `run of ${kind.value.workflow}`;
    case "wait":
      return "waits";
    case "signal":
      return `signal ${kind.value.name}`;
    case "approval":
      return "approval";
    default:
      return "unknown";
  }
}

function inQueue(task: string, queue: string): string {
  return queue === "" || queue === task ? task : `${task} in ${queue}`;
}

const effects: Readonly<Record<number, string>> = {
  [Effects.VERIFIABLE]: "verified",
  [Effects.ONCE]: "runs once only",
};

/** What is special about a step; empty: nothing is. */
export function stepNotes(step: StepDefinition): string {
  return [
    effects[step.effects] ?? "",
    step.compensate ? "has compensation" : "",
    step.fallback.length > 0 ? "has a fallback" : "",
    step.pivot ? "pivot: no compensation from here on" : "",
    step.always ? "always runs, however the run ends" : "",
    step.when === "" ? "" : `when ${step.when}`,
  ]
    .filter((note) => note !== "")
    .join("; ");
}
