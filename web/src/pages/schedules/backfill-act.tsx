// Starts the runs of past occurrences that have none. The dialog first shows how many these are, by
// a dry run on the server.
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { BackfillScheduleResponse, Schedule } from "@drover/proto/drover/v1/schedule_pb.ts";
import { useState } from "react";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { ProblemText } from "../../parts/states.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { useNotice } from "../../shell/notices.tsx";
import { counted } from "../../words/counts.ts";
import { fieldTime, timeOfField } from "../../words/time-words.ts";

const DAY_MS = 86_400_000;
const CONCURRENCY_MAX = 1_000;

interface BackfillProps {
  readonly schedule: Schedule;
  readonly again: () => void;
}

export function BackfillAct(props: BackfillProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Backfill
      </button>
      {open ? <BackfillDialog {...props} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function BackfillDialog({ schedule, again, onClose }: BackfillProps & { onClose: () => void }) {
  const namespace = useNamespace();
  const notify = useNotice();
  const [openedMs] = useState(() => Date.now());
  const [from, setFrom] = useState(() => fieldTime(openedMs - DAY_MS));
  const [to, setTo] = useState(() => fieldTime(openedMs));
  const [concurrency, setConcurrency] = useState(1);
  const { name } = schedule;
  const fromMs = timeOfField(from);
  const toMs = timeOfField(to);
  const isSpan = fromMs !== null && toMs !== null && fromMs < toMs;
  const asked = {
    namespace,
    name,
    concurrency,
    startTime: timestampFromMs(fromMs ?? 0),
    endTime: timestampFromMs(toMs ?? 0),
  };
  const preview = useCall(
    isSpan ? `backfill ${namespace} ${name} ${fromMs} ${toMs}` : null,
    (signal) => scheduler.backfillSchedule({ ...asked, dryRun: true }, { signal }),
  );
  return (
    <ConfirmDialog
      title={`Start the missed runs of ${name}?`}
      act="Start them"
      disabled={preview.kind !== "loaded" || preview.value.count === 0}
      onClose={onClose}
      onAct={async () => {
        const { occurrences, started } = await backfill(asked);
        notify(`${counted(started, "run")} started for ${counted(occurrences, "time")}.`);
        again();
      }}
    >
      <p>Starts a run for each time of the schedule in this range that has none, oldest first.</p>
      <div className="beside">
        <TimeField name="From" value={from} onChange={setFrom} />
        <TimeField name="To (not in the future)" value={to} onChange={setTo} />
      </div>
      <Field name="Most runs at a time">
        <input
          type="number"
          min={1}
          max={CONCURRENCY_MAX}
          required
          value={concurrency}
          onChange={({ target }) => setConcurrency(Math.max(1, target.valueAsNumber || 1))}
        />
      </Field>
      <div role="status">
        {preview.kind === "loaded" ? (
          <p className="message">{whatWouldStart(preview.value)}</p>
        ) : null}
        {preview.kind === "failed" ? <ProblemText problem={preview.problem} /> : null}
        {isSpan ? null : <p>“From” must be before “To”.</p>}
      </div>
    </ConfirmDialog>
  );
}

interface TimeFieldProps {
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function TimeField({ name, value, onChange }: TimeFieldProps) {
  return (
    <Field name={name}>
      <input
        type="datetime-local"
        required
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    </Field>
  );
}

/**
 * `12 times: 9 runs would start, 3 have one already`; for a long range only the count is known.
 */
function whatWouldStart({ count, occurrences, nextStartTime }: BackfillScheduleResponse): string {
  if (count === 0) return "No time of the schedule is in this range.";
  const had = occurrences.filter(({ runId, created }) => runId !== "" && !created).length;
  if (nextStartTime) return `${counted(count, "time")}, each of which gets a run if it has none.`;
  const left = counted(count - had, "run");
  return `${counted(count, "time")}: ${left} would start, ${had} have one already.`;
}

interface Asked {
  readonly namespace: string;
  readonly name: string;
  readonly concurrency: number;
  readonly startTime: Timestamp;
  readonly endTime: Timestamp;
}

/** Page by page. */
async function backfill(asked: Asked): Promise<{ occurrences: number; started: number }> {
  let occurrences = 0;
  let started = 0;
  let startTime: Timestamp | undefined = asked.startTime;
  while (startTime) {
    const page: BackfillScheduleResponse = await scheduler.backfillSchedule({
      ...asked,
      startTime,
    });
    occurrences += page.occurrences.length;
    started += page.occurrences.filter(({ created }) => created).length;
    startTime = page.nextStartTime;
  }
  return { occurrences, started };
}
