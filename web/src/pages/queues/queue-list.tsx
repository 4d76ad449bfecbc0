// All queues: how many tasks wait, since when, and how many agents poll for them.
import type { Pause, Queue } from "@drover/proto/drover/v1/queue_pb.ts";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { Badge, type Status } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { limitWords } from "../../words/circuit-words.ts";
import { numberWords } from "../../words/counts.ts";

const PAGE = 200;
const EVERY_MS = 3_000;

/**
 * The state that matters to a person: paused by itself or with its namespace, without agents, or
 * fine.
 */
export function queueStatus(
  { pause, depth, agents }: Queue,
  namespacePause: Pause | undefined,
): Status {
  if (pause ?? namespacePause) return { tone: "paused", word: "paused" };
  if (depth > 0 && agents === 0) return { tone: "warning", word: "no agents" };
  if (depth > 0) return { tone: "waiting", word: "tasks waiting" };
  return { tone: "ok", word: "active" };
}

/** A queue with the pause of its namespace, which pauses each of its queues. */
type Row = Queue & { readonly held: Pause | undefined };

const columns: readonly Column<Row>[] = [
  {
    title: "Queue",
    width: "minmax(10rem, 2fr)",
    cell: ({ name }) => <Link href={`/queues/${name}`}>{name}</Link>,
  },
  { title: "State", width: "9rem", cell: (row) => <Badge {...queueStatus(row, row.held)} /> },
  { title: "Waiting", width: "5rem", align: "end", cell: ({ depth }) => numberWords(depth) },
  { title: "Oldest", width: "7rem", cell: ({ oldestTime }) => <Ago at={oldestTime} /> },
  {
    title: "In progress",
    width: "6.5rem",
    align: "end",
    cell: ({ leased }) => numberWords(leased),
  },
  { title: "Agents", width: "5rem", align: "end", cell: ({ agents }) => numberWords(agents) },
  { title: "Last poll", width: "7rem", cell: ({ polledTime }) => <Ago at={polledTime} /> },
  {
    title: "Limits",
    width: "minmax(7rem, 1fr)",
    cell: ({ limits }) => <span title={limitWords(limits)}>{limitWords(limits) || "–"}</span>,
  },
];

export function QueueList() {
  const namespace = useNamespace();
  const list = useList(
    `queues ${namespace}`,
    async (pageToken, signal) => {
      const page = await operator.listQueues({ namespace, pageSize: PAGE, pageToken }, { signal });
      const { queues, namespacePause: held, nextPageToken } = page;
      return { rows: queues.map((queue): Row => ({ ...queue, held })), nextPageToken };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <Panel title="Queues">
      <Shown of={{ ...list.state, again: list.again }} what="the queues">
        {() =>
          list.rows.length === 0 ? (
            <EmptyState
              title="No queue yet"
              text="A queue appears as soon as a step or an agent names it."
            />
          ) : (
            <DataTable
              name="Queues"
              columns={columns}
              rows={list.rows}
              keyOf={({ name }) => name}
              hrefOf={({ name }) => `/queues/${name}`}
              onEnd={list.more}
              complete={list.complete}
            />
          )
        }
      </Shown>
    </Panel>
  );
}
