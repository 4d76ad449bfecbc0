// The schedules and triggers that start runs of a workflow.
import { Link } from "wouter";
import { operator, scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { calendarWords, scheduleStatus } from "../../words/schedule-words.ts";

const EVERY_MS = 10_000;
const SCHEDULES_MAX = 100;

export function StartersPanel({ workflow }: { readonly workflow: string }) {
  const namespace = useNamespace();
  const seen = useCall(
    `starters ${namespace} ${workflow}`,
    async (signal) => {
      const page = { namespace, workflow, pageSize: SCHEDULES_MAX };
      const [{ schedules, nextPageToken }, { triggers }] = await Promise.all([
        scheduler.listSchedules(page, { signal }),
        operator.listTriggers({ namespace, workflow }, { signal }),
      ]);
      return { schedules, triggers, more: nextPageToken !== "" };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <Panel title="Schedules and triggers">
      <Shown of={seen} what="the schedules and triggers">
        {({ schedules, triggers, more }) => (
          <>
            {schedules.length + triggers.length === 0 ? (
              <p className="dim">No schedule and no trigger starts this workflow.</p>
            ) : null}
            <ul className="starters">
              {schedules.map((one) => (
                <li key={`schedule ${one.name}`}>
                  Schedule <Link href={`/schedules/${one.name}`}>{one.name}</Link>{" "}
                  <Badge {...scheduleStatus(one)} /> {calendarWords(one)}, next{" "}
                  <Ago at={one.next[0]?.time} />
                </li>
              ))}
              {triggers.map(({ definition }) => (
                <li key={`trigger ${definition?.trigger}`}>
                  Trigger{" "}
                  <Link href={`/triggers/${definition?.trigger}`}>{definition?.trigger}</Link>,{" "}
                  {definition?.source.case === "runEnd" ? (
                    <>
                      when runs of{" "}
                      <Link href={`/workflows/${definition.source.value.workflow}`}>
                        {definition.source.value.workflow}
                      </Link>{" "}
                      end
                    </>
                  ) : (
                    "called over HTTP"
                  )}
                  {definition?.when ? (
                    <>
                      , if <Foreign text={definition.when} />
                    </>
                  ) : null}
                </li>
              ))}
            </ul>
            {more ? (
              <p className="note">Only the first {SCHEDULES_MAX} schedules are shown.</p>
            ) : null}
          </>
        )}
      </Shown>
    </Panel>
  );
}
