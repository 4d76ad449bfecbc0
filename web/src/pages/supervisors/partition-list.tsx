// All partitions: as a field of squares, where a late or unwatched one is easy to see, and as a
// table of late partitions or of all.
import type { Partition } from "@drover/proto/drover/v1/partition_pb.ts";
import { useState } from "react";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago, Length } from "../../parts/time.tsx";
import { counted } from "../../words/counts.ts";
import { partitionStatus } from "../../words/partition-words.ts";

const PAGE = 1_000;
const EVERY_MS = 2_000;
/** The number of colours for owners; a fifth owner has the first colour again. */
const SHADES = 4;

async function allPartitions(signal: AbortSignal): Promise<readonly Partition[]> {
  const found: Partition[] = [];
  let pageToken = "";
  do {
    const page = await operator.listPartitions({ pageSize: PAGE, pageToken }, { signal });
    found.push(...page.partitions);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return found;
}

export function PartitionList() {
  const [all, setAll] = useState(false);
  const seen = useCall("partitions", allPartitions, { everyMs: EVERY_MS });
  return (
    <Panel
      title="Partitions"
      beside={
        <label className="choice">
          <input type="checkbox" checked={all} onChange={() => setAll(!all)} /> List all of them
        </label>
      }
    >
      <Shown of={seen} what="the partitions">
        {(partitions) => {
          const late = partitions.filter((one) => one.late);
          const shown = all ? partitions : late;
          return (
            <>
              <PartitionField partitions={partitions} />
              <p className="note" role="status">
                {late.length === 0
                  ? `All ${counted(partitions.length, "partition")} have a supervisor, and none is late.`
                  : `${counted(late.length, "partition")} of ${partitions.length} are late or have no supervisor.`}
              </p>
              {shown.length === 0 ? null : (
                <DataTable
                  name="Partitions"
                  columns={columns}
                  rows={shown}
                  keyOf={({ partition }) => String(partition)}
                  hrefOf={addressOf}
                />
              )}
            </>
          );
        }}
      </Shown>
    </Panel>
  );
}

const addressOf = ({ partition }: Partition): string => `/supervisors?partition=${partition}`;

/** Squares in the order of partition numbers; those of one owner have one colour. */
function PartitionField({ partitions }: { readonly partitions: readonly Partition[] }) {
  const owners = [...new Set(partitions.map(({ supervisor }) => supervisor))]
    .filter((owner) => owner !== "")
    .sort();
  const watched = partitions.filter((one) => one.watched).length;
  return (
    <>
      <div
        className="partitions"
        role="img"
        aria-label={`${watched} of ${counted(partitions.length, "partition")} have a supervisor`}
      >
        {partitions.map((one) => (
          <span
            key={one.partition}
            data-tone={partitionStatus(one).tone}
            data-owner={owners.indexOf(one.supervisor) % SHADES}
            title={`${one.partition}: ${one.watched ? one.address : "no supervisor"}`}
          />
        ))}
      </div>
      {owners.length < 2 ? null : <Legend owners={owners} partitions={partitions} />}
    </>
  );
}

interface LegendProps {
  readonly owners: readonly string[];
  readonly partitions: readonly Partition[];
}

function Legend({ owners, partitions }: LegendProps) {
  const alone = partitions.filter((one) => !one.watched).length;
  return (
    <ul className="legend" aria-label="Owners">
      {owners.map((owner, n) => {
        const its = partitions.filter((one) => one.watched && one.supervisor === owner);
        return its.length === 0 ? null : (
          <li key={owner}>
            <span data-owner={n % SHADES} />
            {its[0]?.address}: {its.length}
          </li>
        );
      })}
      {alone === 0 ? null : (
        <li>
          <span data-tone="bad" />
          no supervisor: {alone}
        </li>
      )}
    </ul>
  );
}

const columns: readonly Column<Partition>[] = [
  {
    title: "Partition",
    width: "6rem",
    align: "end",
    cell: (one) => <Link href={addressOf(one)}>{one.partition}</Link>,
  },
  { title: "State", width: "9.5rem", cell: (one) => <Badge {...partitionStatus(one)} /> },
  {
    title: "Supervisor",
    width: "minmax(9rem, 1fr)",
    cell: ({ watched, address }) => (watched ? address : "no supervisor"),
  },
  { title: "Late by", width: "7rem", align: "end", cell: ({ lag }) => <Length of={lag} /> },
  { title: "Taken", width: "8rem", cell: ({ takenTime }) => <Ago at={takenTime} /> },
  { title: "Hand-overs", width: "7rem", align: "end", cell: ({ epoch }) => String(epoch) },
];
