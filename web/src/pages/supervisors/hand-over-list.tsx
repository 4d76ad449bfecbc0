// The owners of partitions over time, and why a partition changed its owner; newest first.
import type { HandOver } from "@drover/proto/drover/v1/partition_pb.ts";
import { Link, useLocation } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { handOverWords } from "../../words/partition-words.ts";

const PAGE = 256;
const EVERY_MS = 5_000;

const columns: readonly Column<HandOver>[] = [
  { title: "Partition", width: "6rem", align: "end", cell: ({ partition }) => partition },
  { title: "Taken", width: "8rem", cell: ({ takenTime }) => <Ago at={takenTime} /> },
  { title: "Supervisor", width: "minmax(9rem, 1fr)", cell: ({ address }) => address || "–" },
  { title: "Reason", width: "minmax(10rem, 1fr)", cell: ({ reason }) => handOverWords(reason) },
  { title: "Left", width: "8rem", cell: ({ leftTime }) => <Ago at={leftTime} /> },
  {
    title: "Owned for",
    width: "7rem",
    align: "end",
    cell: ({ takenTime, leftTime }) => <Lasted from={takenTime} to={leftTime} />,
  },
];

/** null: hand-overs of all partitions. */
export function HandOverList({ partition }: { readonly partition: number | null }) {
  const [, go] = useLocation();
  const list = useList(
    `hand-overs ${partition ?? "all"}`,
    async (pageToken, signal) => {
      const of = partition === null ? {} : { partition };
      const page = await operator.listHandOvers({ ...of, pageSize: PAGE, pageToken }, { signal });
      return { rows: page.handOvers, nextPageToken: page.nextPageToken };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <Panel
      title={partition === null ? "Hand-overs" : `Hand-overs of partition ${partition}`}
      beside={
        <div className="acts">
          {partition === null ? null : <Link href="/supervisors">All partitions</Link>}
          <label className="inline-field">
            <span>Partition</span>
            <input
              type="number"
              min={0}
              max={65_535}
              value={partition ?? ""}
              onChange={({ target }) => {
                const to = target.value === "" ? "" : `?partition=${target.value}`;
                go(`/supervisors${to}`, { replace: true });
              }}
            />
          </label>
        </div>
      }
    >
      <Shown of={{ ...list.state, again: list.again }} what="the hand-overs">
        {() =>
          list.rows.length === 0 ? (
            <EmptyState title="No owner yet" />
          ) : (
            <DataTable
              name="Hand-overs"
              columns={columns}
              rows={list.rows}
              keyOf={({ partition: of, epoch }) => `${of} ${epoch}`}
              onEnd={list.more}
              complete={list.complete}
            />
          )
        }
      </Shown>
    </Panel>
  );
}
