// Cron schedules: a list, and one schedule with its occurrences.
//
//   /schedules         all of them
//   /schedules/NAME    one of them
import type { Schedule } from "@drover/proto/drover/v1/schedule_pb.ts";
import { Link, useParams } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { calendarWords, occurrenceStatus, scheduleStatus } from "../../words/schedule-words.ts";
import { ScheduleView } from "./schedule-view.tsx";

const PAGE = 200;
const EVERY_MS = 3_000;

export function SchedulesPage() {
  const { "*": name = "" } = useParams();
  return name === "" ? <ScheduleList /> : <ScheduleView name={name} />;
}

const columns: readonly Column<Schedule>[] = [
  {
    title: "Schedule",
    width: "minmax(10rem, 1.2fr)",
    cell: ({ name }) => <Link href={`/schedules/${name}`}>{name}</Link>,
  },
  { title: "State", width: "14rem", cell: (one) => <Badge {...scheduleStatus(one)} /> },
  {
    title: "Workflow",
    width: "minmax(9rem, 1fr)",
    cell: ({ spec }) => `${spec?.workflow ?? ""}${spec?.version ? ` v${spec.version}` : ""}`,
  },
  { title: "When", width: "minmax(13rem, 1.4fr)", cell: calendarWords },
  { title: "Next", width: "7rem", cell: ({ next }) => <Ago at={next[0]?.time} /> },
  {
    title: "Last",
    width: "minmax(9rem, 1fr)",
    cell: ({ last: [occurrence] }) =>
      occurrence ? <Badge {...occurrenceStatus(occurrence)} /> : "–",
  },
];

function ScheduleList() {
  const namespace = useNamespace();
  const list = useList(
    `schedules ${namespace}`,
    async (pageToken, signal) => {
      const asked = { namespace, pageSize: PAGE, pageToken };
      const page = await scheduler.listSchedules(asked, { signal });
      return { rows: page.schedules, nextPageToken: page.nextPageToken };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <>
      <PageHead title="Schedules" />
      <Shown of={{ ...list.state, again: list.again }} what="the schedules">
        {() =>
          list.rows.length === 0 ? (
            <EmptyState
              title="No schedule"
              text="Create one with drover schedule create NAME WORKFLOW."
            />
          ) : (
            <DataTable
              name="Schedules"
              columns={columns}
              rows={list.rows}
              keyOf={({ name }) => name}
              hrefOf={({ name }) => `/schedules/${name}`}
              onEnd={list.more}
              complete={list.complete}
            />
          )
        }
      </Shown>
    </>
  );
}
