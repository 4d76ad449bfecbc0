// The timeline: a row for each step, a bar for each attempt, a mark for each intervention, and
// before the mark the gap between its due time and its action. While an agent works, its bar grows
// to now, with a tick for its last heartbeat. The items of a map share the map's row.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Attempt, Intervention } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { useMemo } from "react";
import { EmptyState } from "../../parts/states.tsx";
import { useNowMs } from "../../parts/time.tsx";
import { attemptAgentWords } from "../../words/attempt-words.ts";
import { numberWords } from "../../words/counts.ts";
import { visibleText } from "../../words/foreign-words.ts";
import { itemWords } from "../../words/item-words.ts";
import { outcomeStatus } from "../../words/outcome-words.ts";
import { clockTime, durationWords } from "../../words/time-words.ts";
import type { Explained } from "./run-page.tsx";
import { DensityTrack } from "./timeline-density.tsx";
import { msOf, percent, type Row, rowsOf, type Scale, width } from "./timeline-rows.ts";

export interface TimelineProps {
  readonly of: GetRunResponse;
  readonly explained: Explained;
  readonly picked: string | null;
  readonly onPick: (step: string) => void;
}

const LEAST_MS = 1_000;

export function RunTimeline(props: TimelineProps) {
  const { of, explained, picked, onPick } = props;
  const rows = useMemo(() => rowsOf(of), [of]);
  const now = useNowMs();
  const from = of.run?.createdTime ? timestampMs(of.run.createdTime) : now;
  const end = of.run?.endedTime ? timestampMs(of.run.endedTime) : Math.max(now, lastOf(of));
  const scale = { fromMs: from, toMs: Math.max(end, from + LEAST_MS) };
  const heartbeats = useMemo(() => heartbeatsOf(explained), [explained]);
  if (rows.length === 0)
    return <EmptyState title="No attempt yet" text="Attempts appear here as they start." />;
  return (
    <div className="timeline">
      <LeftOut of={of} />
      <Axis of={scale} />
      {rows.map((row) => (
        <div key={row.step} className="timeline-row" data-picked={row.step === picked}>
          <div className="timeline-name">
            <RowName step={row.step} onPick={onPick} />
            {row.items === null ? null : <span className="dim">{itemWords(row.items)}</span>}
          </div>
          {row.items === null ? (
            <Track row={row} scale={scale} heartbeatMs={heartbeats.get(row.step) ?? null} />
          ) : (
            <DensityTrack row={row} scale={scale} />
          )}
        </div>
      ))}
      <Legend withItems={rows.some(({ items }) => items !== null)} />
    </div>
  );
}

function RowName({ step, onPick }: { readonly step: string } & Pick<TimelineProps, "onPick">) {
  if (step === "") return <span className="step-name">the run</span>;
  return (
    <button type="button" className="quiet step-name" title={step} onClick={() => onPick(step)}>
      {step}
    </button>
  );
}

/** The server returns at most this many rows of each kind. */
const HISTORY_MAX = 1_000;

function LeftOut({ of }: { readonly of: GetRunResponse }) {
  const cut = [
    ...(of.attempts.length >= HISTORY_MAX ? ["attempts"] : []),
    ...(of.interventions.length >= HISTORY_MAX ? ["interventions"] : []),
  ];
  if (cut.length === 0) return null;
  const what = cut.map((name) => `${numberWords(HISTORY_MAX)} ${name}`).join(" and ");
  return (
    <p className="note">
      Only the newest {what} are shown; there may be older ones. Select a map to list all of its
      items.
    </p>
  );
}

function Axis({ of }: { readonly of: Scale }) {
  const marks = [0, 0.25, 0.5, 0.75, 1];
  const length = of.toMs - of.fromMs;
  return (
    <div className="timeline-row timeline-axis" aria-hidden="true">
      <span>{clockTime(of.fromMs)}</span>
      <div className="timeline-track">
        {marks.map((share) => (
          <span
            key={share}
            style={{ left: `${share * 100}%` }}
            data-last={share === 1}
            data-between={share === 0.25 || share === 0.75}
          >
            {share === 0 ? "0" : durationWords(length * share)}
          </span>
        ))}
      </div>
    </div>
  );
}

function Track(props: {
  readonly row: Row;
  readonly scale: Scale;
  readonly heartbeatMs: number | null;
}) {
  const { row, scale, heartbeatMs } = props;
  const isOpen = row.attempts.some(({ endedTime }) => endedTime === undefined);
  return (
    <div className="timeline-track">
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
  const text = `${kindWords[of.kind] ?? "task"} ${of.attempt}${withAgent}: ${word} after ${took}${late}${why}`;
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

function Legend({ withItems }: { readonly withItems: boolean }) {
  return (
    <p className="timeline-legend dim">
      <span>
        <b className="timeline-bar" data-tone="ok" /> attempt, coloured by how it ended
      </span>
      <span>
        <i className="timeline-mark" /> intervention of the supervisor
      </span>
      <span>
        <i className="timeline-gap" /> from when it was due until it acted
      </span>
      <span>
        <i className="timeline-heartbeat" /> last heartbeat
      </span>
      {withItems ? (
        <span>
          <b className="timeline-density" data-tone="ok" /> items of a map under way, with a mark
          where some failed
        </span>
      ) : null}
    </p>
  );
}

const kindWords: Readonly<Partial<Record<TaskKind, string>>> = {
  [TaskKind.PERFORM]: "attempt",
  [TaskKind.VERIFY]: "verify",
  [TaskKind.COMPENSATE]: "undo",
};

function heartbeatsOf(explained: Explained): ReadonlyMap<string, number> {
  return new Map(
    (explained?.steps ?? []).flatMap(({ stepId, detail }) =>
      detail.case === "agent" && detail.value.lastHeartbeatTime
        ? [[stepId, timestampMs(detail.value.lastHeartbeatTime)] as const]
        : [],
    ),
  );
}

function lastOf({ attempts, interventions }: GetRunResponse): number {
  const times = [
    ...attempts.map(({ endedTime, startedTime }) => msOf(endedTime ?? startedTime)),
    ...interventions.map(({ actedTime }) => msOf(actedTime)),
  ];
  return Math.max(0, ...times);
}
