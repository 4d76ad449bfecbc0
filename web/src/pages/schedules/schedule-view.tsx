// One schedule: its settings, its next occurrences, and the results of the last ones.

import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import type { Occurrence, Schedule } from "@drover/proto/drover/v1/schedule_pb.ts";
import { Link } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { ShortId } from "../../parts/short-id.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago, Length } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { runStatus } from "../../words/run-words.ts";
import {
  calendarWords,
  causeWords,
  nominalTimeWords,
  occurrenceStatus,
  overlapWords,
  scheduleStatus,
} from "../../words/schedule-words.ts";
import { BackfillAct } from "./backfill-act.tsx";
import { PauseAct, TriggerAct } from "./schedule-acts.tsx";

const EVERY_MS = 2_000;

export function ScheduleView({ name }: { readonly name: string }) {
  const namespace = useNamespace();
  const seen = useCall(
    `schedule ${namespace} ${name}`,
    async (signal) => (await scheduler.getSchedule({ namespace, name }, { signal })).schedule,
    { everyMs: EVERY_MS },
  );
  return (
    <Shown of={seen} what="the schedule" wholePage>
      {(schedule) =>
        schedule === undefined ? null : <Seen schedule={schedule} again={seen.again} />
      }
    </Shown>
  );
}

interface SeenProps {
  readonly schedule: Schedule;
  readonly again: () => void;
}

function Seen({ schedule, again }: SeenProps) {
  const { name, spec, last } = schedule;
  return (
    <>
      <PageHead
        title={name}
        above={<Link href="/schedules">Schedules</Link>}
        beside={<Badge {...scheduleStatus(schedule)} />}
      >
        <TriggerAct schedule={schedule} again={again} />
        <BackfillAct schedule={schedule} again={again} />
        <PauseAct schedule={schedule} again={again} />
      </PageHead>
      <PausedWorkflow schedule={schedule} />
      <Settings schedule={schedule} />
      <div className="beside">
        <NextTimes schedule={schedule} />
        <Panel title="Input of each run">
          <PayloadView of={spec?.input} what="the input of each run" />
        </Panel>
      </div>
      <Panel title="Last occurrences">
        {last.length === 0 ? (
          <EmptyState
            title="No occurrence yet"
            text="Each occurrence is listed here once its time has come."
          />
        ) : (
          <DataTable
            name="Last occurrences"
            columns={occurrenceColumns}
            rows={last}
            keyOf={({ nominalTime, runId, outcome }) => `${nominalTime} ${runId} ${outcome}`}
          />
        )}
      </Panel>
    </>
  );
}

/** Runs of a paused workflow are held, and by default a schedule waits for its last run. */
function PausedWorkflow({ schedule: { workflowPause: pause, spec } }: Pick<SeenProps, "schedule">) {
  if (pause === undefined) return null;
  const name = spec?.workflow ?? "";
  return (
    <Panel title="Why runs are held">
      <p>
        Workflow <b>{name}</b> is paused since <Ago at={pause.sinceTime} />
        {pause.reason === "" ? "" : ": "}
        <Foreign text={pause.reason} />. Its runs are held until you{" "}
        <Link href={`/workflows/${name}`}>resume it</Link>.
      </p>
    </Panel>
  );
}

function Settings({ schedule }: Pick<SeenProps, "schedule">) {
  const { spec, pause, createdTime, changedTime } = schedule;
  const isChanged = createdTime?.seconds !== changedTime?.seconds;
  const labels = Object.entries(spec?.labels ?? {}).map(([name, value]) => `${name}=${value}`);
  return (
    <Panel title="Settings">
      <Facts
        of={[
          ["When", calendarWords(schedule)],
          [
            "Workflow",
            <Link key="workflow" href={`/workflows/${spec?.workflow ?? ""}`}>
              {spec?.workflow} {spec?.version ? `v${spec.version}` : ""}
            </Link>,
          ],
          ["Overlap", overlapWords(spec?.overlap ?? 0)],
          ["Catch-up window", <Length key="late" of={spec?.catchUp} />],
          ["Jitter, at most", isNone(spec?.jitter) ? null : <Length key="j" of={spec?.jitter} />],
          ["Labels", labels.join(" ")],
          ["Notifies", spec?.notifyHook],
          ["Paused", pause ? <Ago key="paused" at={pause.sinceTime} /> : null],
          ["Reason", pause?.reason],
          ["Created", <Ago key="made" at={schedule.createdTime} />],
          ["Changed", isChanged ? <Ago key="changed" at={schedule.changedTime} /> : null],
        ]}
      />
    </Panel>
  );
}

function isNone(length: Duration | undefined): boolean {
  return length === undefined || durationMs(length) === 0;
}

function NextTimes({ schedule: { next, pause } }: Pick<SeenProps, "schedule">) {
  return (
    <Panel title="Next times">
      {next.length === 0 ? (
        <p className="dim">
          {pause ? "None while it is paused." : "The schedule has no further time."}
        </p>
      ) : (
        <ol className="times">
          {next.map(({ time, nominalTime }) => (
            <li key={nominalTime}>
              <span className="number">{nominalTimeWords(nominalTime)}</span>
              <Ago at={time} />
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

const occurrenceColumns: readonly Column<Occurrence>[] = [
  {
    title: "Nominal time",
    width: "minmax(13rem, 1.3fr)",
    cell: ({ nominalTime }) => nominalTimeWords(nominalTime),
  },
  { title: "Due", width: "7rem", cell: ({ time }) => <Ago at={time} /> },
  {
    title: "Outcome",
    width: "11rem",
    cell: (occurrence) => <Badge {...occurrenceStatus(occurrence)} />,
  },
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
    title: "State",
    width: "9rem",
    cell: ({ runId, runState }) => (runId === "" ? "–" : <Badge {...runStatus(runState)} />),
  },
  { title: "Triggered by", width: "7rem", cell: ({ cause }) => causeWords(cause) },
  {
    title: "Reason",
    width: "minmax(7rem, 1.3fr)",
    cell: ({ message }) => (message === "" ? "–" : <span title={message}>{message}</span>),
  },
];
