// The immediate actions on a schedule: pause it, resume it, start a run of it now.
import type { Schedule } from "@drover/proto/drover/v1/schedule_pb.ts";
import { useRef } from "react";
import { scheduler } from "../../calls/clients.ts";
import { Act, written } from "../../parts/act.tsx";
import { WhyField } from "../../parts/person-fields.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { overlapWords } from "../../words/schedule-words.ts";

interface ScheduleActProps {
  readonly schedule: Schedule;
  readonly again: () => void;
}

export function PauseAct({ schedule, again }: ScheduleActProps) {
  const namespace = useNamespace();
  const { name, pause } = schedule;
  if (pause)
    return (
      <Act
        name="Resume"
        title={`Resume schedule ${name}?`}
        variant="main"
        done={again}
        onAct={async () => {
          await scheduler.resumeSchedule({ namespace, name });
          return `Schedule ${name} is resumed.`;
        }}
      >
        <p>The schedule continues with its next time. A backfill starts runs for missed times.</p>
      </Act>
    );
  return (
    <Act
      name="Pause"
      title={`Pause schedule ${name}?`}
      done={again}
      onAct={async (form) => {
        await scheduler.pauseSchedule({ namespace, name, reason: written(form, "why") });
        return `Schedule ${name} is paused.`;
      }}
    >
      <p>The schedule starts no run until it is resumed. Runs that it has started continue.</p>
      <WhyField />
    </Act>
  );
}

export function TriggerAct({ schedule, again }: ScheduleActProps) {
  const namespace = useNamespace();
  const { name, spec } = schedule;
  // One id for all tries of a dialog: if a response was lost, a repeated call starts no second run.
  const requestId = useRef("");
  return (
    <Act
      name="Start a run now"
      title={`Start a run of ${name} now?`}
      act="Start a run"
      done={again}
      onAct={async () => {
        requestId.current ||= `web-${crypto.randomUUID()}`;
        const asked = { namespace, name, requestId: requestId.current };
        const { runId } = await scheduler.triggerSchedule(asked);
        requestId.current = "";
        return `Run ${runId} has started.`;
      }}
    >
      <p>
        A run of {spec?.workflow} starts now. If another run is still open:{" "}
        {overlapWords(spec?.overlap ?? 0)}.
      </p>
    </Act>
  );
}
