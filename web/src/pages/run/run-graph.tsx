// The steps of a run as a graph, with the progress that agents have reported.
import type { Wait } from "@drover/proto/drover/v1/explain_pb.ts";
import { type Step, StepKind, StepState, WaitingOn } from "@drover/proto/drover/v1/run_pb.ts";
import type { Progress } from "@drover/proto/drover/v1/task_pb.ts";
import { useMemo } from "react";
import { Graph, type GraphNode } from "../../parts/graph.tsx";
import { isPartial, itemWords } from "../../words/item-words.ts";
import { progressWords } from "../../words/progress-words.ts";
import { stepStatus } from "../../words/run-words.ts";
import type { Explained } from "./run-page.tsx";

export function RunGraph(props: {
  readonly steps: readonly Step[];
  readonly explained: Explained;
  readonly picked: string | null;
  readonly onPick: (id: string) => void;
}) {
  const { steps, explained, picked, onPick } = props;
  const nodes = useMemo(() => {
    const waits = new Map((explained?.steps ?? []).map((wait) => [wait.stepId, wait]));
    return steps.map((step) => nodeOf(step, waits.get(step.id)));
  }, [steps, explained]);
  return <Graph name="Steps of the run" nodes={nodes} picked={picked} onPick={onPick} />;
}

function nodeOf(step: Step, wait: Wait | undefined): GraphNode {
  const reported = wait?.detail.case === "agent" ? wait.detail.value.progress : undefined;
  const share = isFinalStep(step) ? null : shareOf(step, reported);
  return {
    id: step.id,
    needs: step.needs,
    note: noteOf(step, reported),
    ...stepStatus(step),
    ...(share === null ? {} : { progress: share }),
  };
}

function isFinalStep({ state }: Step): boolean {
  return [StepState.SUCCEEDED, StepState.FAILED, StepState.SKIPPED, StepState.CANCELLED].some(
    (final) => final === state,
  );
}

function shareOf({ items }: Step, reported: Progress | undefined): number | null {
  if (reported?.kind.case === "fraction") return reported.kind.value;
  if (items === undefined || items.total === 0) return null;
  return (items.started - items.open) / items.total;
}

/** If a step takes unusually long, its note shows that first: it is the most important fact. */
function noteOf(step: Step, reported: Progress | undefined): string {
  if (step.suspectTime !== undefined) return "unusually long";
  // The state of a partial success already shows the counts.
  if (step.items) return isPartial(step) ? "" : itemWords(step.items);
  if (reported !== undefined) return progressWords(reported);
  if (step.state === StepState.WAITING) return waitingFor[step.waitingOn] ?? "";
  if (step.attempt > 1) return `attempt ${step.attempt}`;
  return step.task === "" ? (kinds[step.kind] ?? "") : step.task;
}

const waitingFor: Readonly<Partial<Record<WaitingOn, string>>> = {
  [WaitingOn.TIMER]: "for a timer",
  [WaitingOn.SIGNAL]: "for a signal",
  [WaitingOn.APPROVAL]: "for approval",
  [WaitingOn.CALLBACK]: "for a callback",
  [WaitingOn.CHILD]: "for a child run",
  [WaitingOn.CHILD_END]: "for a child run to end",
};

const kinds: Readonly<Partial<Record<StepKind, string>>> = {
  [StepKind.WAIT]: "timer",
  [StepKind.SIGNAL]: "signal",
  [StepKind.APPROVAL]: "approval",
  [StepKind.RUN]: "run",
  [StepKind.MAP]: "map",
};
