// The steps of a version in two tables: what each does, and how long its attempts take.
import type { StepDefinition, StepDurations } from "@drover/proto/drover/v1/workflow_pb.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Length } from "../../parts/time.tsx";
import { numberWords } from "../../words/counts.ts";
import { retryWords, stepDoes, stepNotes, timeoutWords } from "../../words/workflow-words.ts";

/** What the definition says of each step. */
export function StepTable({ steps }: { readonly steps: readonly StepDefinition[] }) {
  return (
    <Panel title="Steps">
      <DataTable name="Steps" columns={stepColumns} rows={steps} keyOf={({ id }) => id} />
    </Panel>
  );
}

interface DurationTableProps {
  readonly steps: readonly StepDefinition[];
  readonly durations: readonly StepDurations[];
}

/** What was measured of each step that agents perform. */
export function DurationTable({ steps, durations }: DurationTableProps) {
  const known = steps.flatMap(({ id }) => durations.filter(({ stepId }) => stepId === id));
  return (
    <Panel title="Durations">
      {known.length === 0 ? (
        <p className="dim">No attempt of a step has succeeded yet.</p>
      ) : (
        <>
          <DataTable
            name="Durations"
            columns={durationColumns}
            rows={known}
            keyOf={({ stepId }) => stepId}
          />
          <p className="note">
            Durations are learned from successful attempts. An attempt that takes longer than
            “suspect after” is marked as slow.
          </p>
        </>
      )}
    </Panel>
  );
}

const stepColumns: readonly Column<StepDefinition>[] = [
  { title: "Step", width: "minmax(7rem, 1fr)", cell: ({ id }) => id },
  {
    title: "Kind",
    width: "minmax(9rem, 1.3fr)",
    cell: (step) => stepDoes(step),
  },
  {
    title: "Needs",
    width: "minmax(6rem, 1fr)",
    cell: ({ needs }) => needs.join(", ") || "–",
  },
  {
    title: "Retry",
    width: "minmax(6rem, 1.3fr)",
    cell: ({ retry }) => retryWords(retry) || "default",
  },
  {
    title: "Timeouts",
    width: "minmax(8rem, 1.7fr)",
    cell: ({ timeouts }) => timeoutWords(timeouts) || "default",
  },
  {
    title: "Notes",
    width: "minmax(8rem, 1.6fr)",
    cell: (step) => stepNotes(step) || "–",
  },
];

const durationColumns: readonly Column<StepDurations>[] = [
  { title: "Step", width: "minmax(8rem, 2fr)", cell: ({ stepId }) => stepId },
  {
    title: "Attempts",
    width: "minmax(5rem, 1fr)",
    align: "end",
    cell: ({ samples }) => numberWords(samples),
  },
  {
    title: "p50",
    width: "minmax(5rem, 1fr)",
    align: "end",
    cell: ({ p50 }) => <Length of={p50} />,
  },
  {
    title: "p90",
    width: "minmax(5rem, 1fr)",
    align: "end",
    cell: ({ p90 }) => <Length of={p90} />,
  },
  {
    title: "p99",
    width: "minmax(5rem, 1fr)",
    align: "end",
    cell: ({ p99 }) => <Length of={p99} />,
  },
  {
    title: "Suspect after",
    width: "minmax(6rem, 1fr)",
    align: "end",
    cell: ({ slowAfter }) => <Length of={slowAfter} />,
  },
];
