// The steps of a version: what each does, and how long its attempts take.
import type { StepDefinition, StepDurations } from "@drover/proto/drover/v1/workflow_pb.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Length } from "../../parts/time.tsx";
import { numberWords } from "../../words/counts.ts";
import { retryWords, stepDoes, stepNotes, timeoutWords } from "../../words/workflow-words.ts";

interface StepTableProps {
  readonly steps: readonly StepDefinition[];
  readonly durations: readonly StepDurations[];
}

export function StepTable({ steps, durations }: StepTableProps) {
  const of = (step: StepDefinition) => durations.find(({ stepId }) => stepId === step.id);
  return (
    <Panel title="Steps and durations">
      <DataTable name="Steps" columns={columns(of)} rows={steps} keyOf={({ id }) => id} />
      <p className="note">
        Durations are learned from successful attempts. An attempt that takes longer than “suspect
        after” is marked as slow.
      </p>
    </Panel>
  );
}

type DurationsOf = (step: StepDefinition) => StepDurations | undefined;

const columns = (of: DurationsOf): readonly Column<StepDefinition>[] => [
  { title: "Step", width: "minmax(8rem, 1fr)", cell: ({ id }) => id },
  {
    title: "Kind",
    width: "minmax(9rem, 1.2fr)",
    cell: (step) => <span title={stepDoes(step)}>{stepDoes(step)}</span>,
  },
  {
    title: "Needs",
    width: "minmax(7rem, 1fr)",
    cell: ({ needs }) => <span title={needs.join(", ")}>{needs.join(", ") || "–"}</span>,
  },
  {
    title: "Notes",
    width: "minmax(8rem, 1.3fr)",
    cell: (step) => <span title={stepNotes(step)}>{stepNotes(step) || "–"}</span>,
  },
  {
    title: "Retry",
    width: "minmax(7rem, 1fr)",
    cell: ({ retry }) => <span title={retryWords(retry)}>{retryWords(retry) || "default"}</span>,
  },
  {
    title: "Timeouts",
    width: "minmax(8rem, 1.2fr)",
    cell: ({ timeouts }) => (
      <span title={timeoutWords(timeouts)}>{timeoutWords(timeouts) || "default"}</span>
    ),
  },
  {
    title: "Attempts",
    width: "5rem",
    align: "end",
    cell: (step) => numberWords(of(step)?.samples ?? 0),
  },
  {
    title: "p50",
    width: "5rem",
    align: "end",
    cell: (step) => <Length of={of(step)?.p50} />,
  },
  {
    title: "p90",
    width: "5rem",
    align: "end",
    cell: (step) => <Length of={of(step)?.p90} />,
  },
  {
    title: "p99",
    width: "5rem",
    align: "end",
    cell: (step) => <Length of={of(step)?.p99} />,
  },
  {
    title: "Suspect after",
    width: "6rem",
    align: "end",
    cell: (step) => <Length of={of(step)?.slowAfter} />,
  },
];
