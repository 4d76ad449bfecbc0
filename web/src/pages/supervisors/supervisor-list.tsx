// The supervisors, and how many partitions each owns.
import type { Supervisor } from "@drover/proto/drover/v1/partition_pb.ts";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { numberWords } from "../../words/counts.ts";
import { supervisorStatus } from "../../words/partition-words.ts";

const EVERY_MS = 2_000;

const columns: readonly Column<Supervisor>[] = [
  { title: "Address", width: "minmax(9rem, 1fr)", cell: ({ address }) => address },
  { title: "State", width: "8rem", cell: (one) => <Badge {...supervisorStatus(one)} /> },
  {
    title: "Partitions",
    width: "6rem",
    align: "end",
    cell: ({ partitions }) => numberWords(partitions),
  },
  { title: "Since", width: "8rem", cell: ({ startedTime }) => <Ago at={startedTime} /> },
  { title: "Last seen", width: "8rem", cell: ({ lastSeenTime }) => <Ago at={lastSeenTime} /> },
  {
    title: "Id",
    width: "minmax(10rem, 1.6fr)",
    cell: ({ id }) => <code title={id}>{id}</code>,
  },
];

export function SupervisorList() {
  const seen = useCall(
    "supervisors",
    async (signal) => (await operator.listSupervisors({}, { signal })).supervisors,
    { everyMs: EVERY_MS },
  );
  return (
    <Panel title="Supervisors">
      <Shown of={seen} what="the supervisors">
        {(supervisors) =>
          supervisors.length === 0 ? (
            <EmptyState
              title="No supervisor"
              text="Agents still get tasks, but timeouts and lost agents are not detected. Start a server, or drover supervisor."
            />
          ) : (
            <DataTable
              name="Supervisors"
              columns={columns}
              rows={supervisors}
              keyOf={({ id }) => id}
            />
          )
        }
      </Shown>
    </Panel>
  );
}
