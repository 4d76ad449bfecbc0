// What triggers have refused: a row for each trigger and reason.
import type { Refusal } from "@drover/proto/drover/v1/trigger_pb.ts";
import { Link } from "wouter";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { ShortId } from "../../parts/short-id.tsx";
import { Ago } from "../../parts/time.tsx";
import { numberWords } from "../../words/counts.ts";

export const REFUSALS_MAX = 100;

/** `of`: the newest first, at most REFUSALS_MAX. */
export function RefusalPanel(props: {
  readonly of: readonly Refusal[];
  /** All are of one trigger, which the page names. */
  readonly ofOne?: boolean;
}) {
  const { of, ofOne = false } = props;
  return (
    <Panel title="Refused events">
      {of.length === 0 ? (
        <p className="dim">No event was refused.</p>
      ) : (
        <DataTable
          name="Refused events"
          columns={ofOne ? columns : [triggerColumn, ...columns]}
          rows={of}
          keyOf={({ trigger, reason, message, runId }) =>
            JSON.stringify([trigger, reason, message, runId])
          }
        />
      )}
      {of.length < REFUSALS_MAX ? null : (
        <p className="note">Only the newest {REFUSALS_MAX} are shown.</p>
      )}
    </Panel>
  );
}

const triggerColumn: Column<Refusal> = {
  title: "Trigger",
  width: "minmax(7rem, 1fr)",
  cell: ({ trigger }) => <Link href={`/triggers/${trigger}`}>{trigger}</Link>,
};

const columns: readonly Column<Refusal>[] = [
  { title: "Reason", width: "minmax(10rem, 1fr)", cell: ({ reason }) => reason },
  { title: "Times", width: "4rem", align: "end", cell: ({ count }) => numberWords(count) },
  { title: "Last", width: "6.5rem", cell: ({ lastTime }) => <Ago at={lastTime} /> },
  {
    title: "Run",
    width: "5.5rem",
    cell: ({ runId }) =>
      runId === "" ? (
        "–"
      ) : (
        <Link href={`/runs/${runId}`}>
          <ShortId of={runId} />
        </Link>
      ),
  },
  {
    title: "Message",
    width: "minmax(10rem, 3fr)",
    cell: ({ message }) => message,
  },
];
