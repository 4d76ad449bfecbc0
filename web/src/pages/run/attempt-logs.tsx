// The lines that the handler of one attempt has logged. They are read when a person opens them, and
// as they come while the attempt runs; the last ones arrive within seconds after its end.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Attempt, AttemptSource, type Run } from "@drover/proto/drover/v1/run_pb.ts";
import type { LogLine } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { LogLevel } from "@drover/proto/drover/v1/task_pb.ts";
import { useRef, useState } from "react";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Shown } from "../../parts/states.tsx";
import { placeOf } from "../../words/step-name.ts";
import { clockTime, exactTime } from "../../words/time-words.ts";
import { refOf } from "./run-ref.ts";
import "./attempt-logs.css";

interface AttemptLogsProps {
  readonly run: Pick<Run, "namespace" | "runId">;
  readonly attempt: Attempt;
}

const AGAIN_MS = 2_000;
/** Reads without a new line after the end of the attempt; then no more are expected. */
const QUIET_MAX = 3;

export function AttemptLogs(props: AttemptLogsProps) {
  const [open, setOpen] = useState(isLive(props.attempt));
  // The server itself ended the step, or the line is the second report of an attempt.
  if (props.attempt.source !== AttemptSource.TASK || props.attempt.late) return null;
  return (
    <details
      className="attempt-logs"
      open={open}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>Logs</summary>
      {open ? <Lines {...props} /> : null}
    </details>
  );
}

/** An agent holds the task. */
function isLive({ endedTime }: Attempt): boolean {
  return endedTime === undefined;
}

function Lines({ run, attempt }: AttemptLogsProps) {
  const { kind, fence, n } = attempt;
  const { step, item } = placeOf(attempt.stepId);
  const live = isLive(attempt);
  /** What was read so far, and where the next read continues. */
  const read = useRef<{ lines: readonly LogLine[]; token: string }>({ lines: [], token: "" });
  const [quiet, setQuiet] = useState(0);
  const load = async (signal: AbortSignal): Promise<readonly LogLine[]> => {
    let { lines, token } = read.current;
    for (let more = true; more; ) {
      const page = await scheduler.listLogs(
        {
          ...refOf(run),
          stepId: step,
          ...(item === null ? {} : { item }),
          attempt: { kind, fence, n },
          pageToken: token,
        },
        { signal },
      );
      lines = [...lines, ...page.lines];
      token = page.tailToken;
      more = page.nextPageToken !== "";
    }
    setQuiet((last) => (live || lines.length > read.current.lines.length ? 0 : last + 1));
    read.current = { lines, token };
    return lines;
  };
  const key = `logs ${run.runId} ${step} ${item} ${kind} ${fence} ${n}`;
  const found = useCall(key, load, quiet < QUIET_MAX ? { everyMs: AGAIN_MS } : {});
  return (
    <Shown of={found} what="the logs">
      {(lines) => (lines.length === 0 ? <NoLines live={live} /> : <LineList of={lines} />)}
    </Shown>
  );
}

function NoLines({ live }: { readonly live: boolean }) {
  return (
    <p className="dim">
      {live
        ? "The handler has logged nothing yet, or its logs are off."
        : "No lines are stored: the handler logged none, its logs are off, or their time is over."}
    </p>
  );
}

function LineList({ of }: { readonly of: readonly LogLine[] }) {
  return (
    // A keyboard scrolls what has the focus.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
    <ol className="log-lines" aria-label="Lines of the handler" tabIndex={0}>
      {of.map((line) => (
        <Line key={line.line} of={line} />
      ))}
    </ol>
  );
}

const LEVELS: Readonly<Record<LogLevel, string>> = {
  [LogLevel.UNSPECIFIED]: "info",
  [LogLevel.DEBUG]: "debug",
  [LogLevel.INFO]: "info",
  [LogLevel.WARN]: "warn",
  [LogLevel.ERROR]: "error",
};

function Line({ of: { time, level, message, fields } }: { readonly of: LogLine }) {
  const atMs = time === undefined ? 0 : timestampMs(time);
  const word = LEVELS[level] ?? "info";
  return (
    <li data-level={word}>
      <time dateTime={new Date(atMs).toISOString()} title={exactTime(atMs)}>
        {clockTime(atMs)}
      </time>
      <span className="log-level">{word}</span>
      <span className="log-text">
        <Foreign text={message} />
        {Object.entries(fields).map(([name, value]) => (
          <span key={name} className="log-field">
            {" "}
            <Foreign text={`${name}=${value}`} />
          </span>
        ))}
      </span>
    </li>
  );
}
