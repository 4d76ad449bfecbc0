// Hooks, and the newest webhooks that were sent to them. To be read only: a hook has a secret,
// which belongs to the command line.
import type { Delivery, Hook } from "@drover/proto/drover/v1/hook_pb.ts";
import { Link, useSearchParams } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { useList } from "../../calls/use-list.ts";
import { Badge, type Status } from "../../parts/badge.tsx";
import { CommandNote } from "../../parts/command-note.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Panel } from "../../parts/panel.tsx";
import { ShortId } from "../../parts/short-id.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { numberWords } from "../../words/counts.ts";

const EVERY_MS = 5_000;
const PAGE = 200;

export function HooksPage() {
  const namespace = useNamespace();
  const seen = useCall(
    `hooks ${namespace}`,
    async (signal) => (await operator.listHooks({ namespace }, { signal })).hooks,
    { everyMs: EVERY_MS },
  );
  return (
    <>
      <PageHead title="Hooks" />
      <Shown of={seen} what="the hooks">
        {(hooks) =>
          hooks.length === 0 ? (
            <EmptyState
              title="No hook"
              text="A hook sends webhooks: of escalations, approvals and ends of runs."
            />
          ) : (
            <DataTable name="Hooks" columns={hookColumns} rows={hooks} keyOf={({ name }) => name} />
          )
        }
      </Shown>
      <CommandNote does="Create or change a hook" command="drover hook put NAME URL" />
      <Deliveries />
    </>
  );
}

const hookColumns: readonly Column<Hook>[] = [
  { title: "Hook", width: "minmax(8rem, 1fr)", cell: ({ name }) => name },
  {
    title: "URL",
    width: "minmax(12rem, 2fr)",
    cell: ({ url }) => url,
  },
  {
    title: "Events",
    width: "minmax(12rem, 2fr)",
    cell: ({ events }) => events.join(", ") || "ends of runs that name it",
  },
  { title: "Changed", width: "7rem", cell: ({ changedTime }) => <Ago at={changedTime} /> },
];

const states = ["pending", "delivered", "given-up"] as const;

/** `?state=given-up`: only those in this state. */
function Deliveries() {
  const namespace = useNamespace();
  const [search, setSearch] = useSearchParams();
  const state = states.find((one) => one === search.get("state")) ?? "";
  const list = useList(
    `deliveries ${namespace} ${state}`,
    async (pageToken, signal) => {
      const asked = { namespace, states: state === "" ? [] : [state], pageSize: PAGE, pageToken };
      const page = await operator.listDeliveries(asked, { signal });
      return { rows: page.deliveries, nextPageToken: page.nextPageToken };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <Panel
      title="Webhooks"
      beside={
        <select
          aria-label="State"
          value={state}
          onChange={({ target }) =>
            setSearch(target.value === "" ? {} : { state: target.value }, { replace: true })
          }
        >
          <option value="">Any state</option>
          {states.map((one) => (
            <option key={one} value={one}>
              {statusOf(one).word}
            </option>
          ))}
        </select>
      }
    >
      <Shown of={{ ...list.state, again: list.again }} what="the webhooks">
        {() =>
          list.rows.length === 0 ? (
            <p className="dim">
              {state === "" ? "No webhook in the last 7 days." : "No webhook is in this state."}
            </p>
          ) : (
            <DataTable
              name="Webhooks"
              columns={deliveryColumns}
              rows={list.rows}
              keyOf={({ id }) => id}
              onEnd={list.more}
              complete={list.complete}
            />
          )
        }
      </Shown>
    </Panel>
  );
}

function statusOf(state: string): Status {
  switch (state) {
    case "pending":
      return { tone: "moving", word: "pending" };
    case "delivered":
      return { tone: "ok", word: "delivered" };
    case "given-up":
      return { tone: "bad", word: "given up" };
    default:
      return { tone: "idle", word: state };
  }
}

const deliveryColumns: readonly Column<Delivery>[] = [
  { title: "Hook", width: "minmax(6rem, 1fr)", cell: ({ hook }) => hook },
  { title: "State", width: "8rem", cell: ({ state }) => <Badge {...statusOf(state)} /> },
  { title: "Event", width: "minmax(9rem, 1fr)", cell: ({ kind }) => kind },
  { title: "Count", width: "3.5rem", align: "end", cell: ({ count }) => numberWords(count) },
  {
    title: "Run",
    width: "5.5rem",
    cell: ({ runId, escalationId }) => (
      <Link href={escalationId === "" ? `/runs/${runId}` : `/escalations/${runId}/${escalationId}`}>
        <ShortId of={runId} />
      </Link>
    ),
  },
  { title: "Created", width: "6rem", cell: ({ createdTime }) => <Ago at={createdTime} /> },
  { title: "Tries", width: "3.5rem", align: "end", cell: ({ tries }) => numberWords(tries) },
  { title: "Next try", width: "6rem", cell: ({ nextTryTime }) => <Ago at={nextTryTime} /> },
  {
    title: "Last error",
    width: "minmax(9rem, 3fr)",
    cell: ({ error }) => error || "–",
  },
];
