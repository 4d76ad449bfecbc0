// The track of one step in the timeline. From back to front: what it waited for as thin bars, the
// gap between the due time and the action of an intervention, a mark for the intervention, and a
// bar for each attempt. An attempt of some milliseconds is visible, too.
import type { Attempt, Intervention } from "@drover/proto/drover/v1/run_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { attemptAgentWords, tryName } from "../../words/attempt-words.ts";
import { visibleText } from "../../words/foreign-words.ts";
import { outcomeStatus } from "../../words/outcome-words.ts";
import { clockTime, durationWords } from "../../words/time-words.ts";
import { msOf, percent, type Row, type Scale, width } from "./timeline-rows.ts";
import type { WaitFor, WaitSpan } from "./timeline-waits.ts";

export function Track(props: {
  readonly row: Row;
  readonly scale: Scale;
  readonly heartbeatMs: number | null;
}) {
  const { row, scale, heartbeatMs } = props;
  const isOpen = row.attempts.some(({ endedTime }) => endedTime === undefined);
  return (
    <div className="timeline-track">
      {row.waits.map((one) => (
        <Wait key={`${one.on} ${one.fromMs}`} of={one} scale={scale} />
      ))}
      {row.interventions.map((one) => (
        <Mark key={`${one.rule} ${one.fence} ${msOf(one.actedTime)}`} of={one} scale={scale} />
      ))}
      {row.attempts.map((one) => (
        <Bar key={`${one.kind} ${one.fence} ${one.n} ${one.late}`} of={one} scale={scale} />
      ))}
      {heartbeatMs === null || !isOpen ? null : (
        <i
          className="timeline-heartbeat"
          style={{ left: percent(heartbeatMs, scale) }}
          role="img"
          aria-label={`last heartbeat ${clockTime(heartbeatMs)}`}
          title={`last heartbeat ${clockTime(heartbeatMs)}`}
        />
      )}
    </div>
  );
}

const waitWords: Readonly<Record<WaitFor, string>> = {
  agent: "waited for an agent",
  retry: "waited for its next attempt",
  signal: "waited for a signal",
  approval: "waited for approval",
  callback: "waited for a callback",
  timer: "waited for a timer",
  child: "waited for a child run",
};

function Wait({ of, scale }: { readonly of: WaitSpan; readonly scale: Scale }) {
  const to = of.toMs ?? scale.toMs;
  const text = `${waitWords[of.on]} for ${durationWords(Math.max(0, to - of.fromMs))}`;
  return (
    <i
      className="timeline-wait"
      data-on={of.on}
      style={{ left: percent(of.fromMs, scale), width: width(of.fromMs, to, scale) }}
      role="img"
      aria-label={text}
      title={text}
    />
  );
}

function Bar({ of, scale }: { readonly of: Attempt; readonly scale: Scale }) {
  const from = msOf(of.startedTime);
  const to = of.endedTime === undefined ? scale.toMs : msOf(of.endedTime);
  const { tone, word } = outcomeStatus(of.outcome);
  const took = durationWords(Math.max(0, to - from));
  const agent = attemptAgentWords(of);
  const withAgent = agent === "" ? "" : ` with ${agent}`;
  const failure = of.failure === undefined ? "" : of.failure.message || of.failure.code;
  const why = failure === "" ? "" : `: ${visibleText(failure)}`;
  const late = of.late ? ", too late" : "";
  const text = `${tryName(of.kind)} ${of.attempt}${withAgent}: ${word} after ${took}${late}${why}`;
  return (
    <b
      className="timeline-bar"
      data-tone={tone}
      data-open={of.endedTime === undefined}
      data-kind={of.kind === TaskKind.PERFORM ? "perform" : "other"}
      style={{ left: percent(from, scale), width: width(from, to, scale) }}
      role="img"
      aria-label={text}
      title={text}
    />
  );
}

function Mark({ of, scale }: { readonly of: Intervention; readonly scale: Scale }) {
  const due = msOf(of.dueTime);
  const acted = msOf(of.actedTime);
  const gap = durationWords(Math.max(0, acted - due));
  const text = visibleText(`${of.rule}: ${of.saw} → ${of.did} (${gap} after it was due)`);
  return (
    <>
      <i
        className="timeline-gap"
        style={{ left: percent(due, scale), width: width(due, acted, scale) }}
        aria-hidden="true"
      />
      <i
        className="timeline-mark"
        style={{ left: percent(acted, scale) }}
        role="img"
        aria-label={text}
        title={text}
      />
    </>
  );
}
