// The timeline: a row for each step with its waits, attempts and interventions, which
// timeline-track.tsx draws. While an agent works, the bar of its attempt grows to now, with a tick
// for its last heartbeat. The items of a map share the map's row. A long timeline scrolls by
// itself.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { memo, useMemo } from "react";
import { EmptyState } from "../../parts/states.tsx";
import { useNowMs } from "../../parts/time.tsx";
import { itemWords } from "../../words/item-words.ts";
import { clockTime, durationWords } from "../../words/time-words.ts";
import type { Explained } from "./run-page.tsx";
import { DensityTrack } from "./timeline-density.tsx";
import { msOf, type Row, rowsOf, type Scale } from "./timeline-rows.ts";
import { Track } from "./timeline-track.tsx";
import "./timeline.css";

interface TimelineProps {
  readonly of: GetRunResponse;
  readonly explained: Explained;
  /** Id of a step. */
  readonly picked: string | null;
  readonly onPick: (step: string) => void;
}

const LEAST_MS = 1_000;

export function RunTimeline(props: TimelineProps) {
  const { of, explained, picked, onPick } = props;
  const rows = useMemo(() => rowsOf(of), [of]);
  const scale = useScale(of);
  const heartbeats = useMemo(() => heartbeatsOf(explained), [explained]);
  if (rows.length === 0)
    return <EmptyState title="No step yet" text="Steps appear here as the run starts." />;
  return (
    <>
      <div className="timeline">
        <Axis of={scale} />
        {rows.map((row) => (
          <TimelineRow
            key={row.step}
            {...{ row, scale, onPick }}
            isPicked={row.step === picked}
            heartbeatMs={heartbeats.get(row.step) ?? null}
          />
        ))}
      </div>
      <Legend of={rows} heartbeats={heartbeats.size > 0} />
    </>
  );
}

/** From the start of the run to its end, or to now. */
function useScale(of: GetRunResponse): Scale {
  const now = useNowMs();
  const last = useMemo(() => lastOf(of), [of]);
  const fromMs = of.run?.createdTime ? timestampMs(of.run.createdTime) : now;
  const end = of.run?.endedTime ? timestampMs(of.run.endedTime) : Math.max(now, last);
  const toMs = Math.max(end, fromMs + LEAST_MS);
  return useMemo(() => ({ fromMs, toMs }), [fromMs, toMs]);
}

interface RowProps {
  readonly row: Row;
  readonly scale: Scale;
  readonly isPicked: boolean;
  readonly heartbeatMs: number | null;
  readonly onPick: (step: string) => void;
}

/** Memoized: of an ended run nothing is drawn again each second. */
const TimelineRow = memo(({ row, scale, isPicked, heartbeatMs, onPick }: RowProps) => (
  <div className="timeline-row" data-picked={isPicked}>
    <div className="timeline-name">
      <RowName step={row.step} onPick={onPick} />
      {row.items === null ? null : <span className="dim">{itemWords(row.items)}</span>}
    </div>
    {row.items === null ? (
      <Track {...{ row, scale, heartbeatMs }} />
    ) : (
      <DensityTrack row={row} scale={scale} />
    )}
  </div>
));

function RowName({ step, onPick }: Pick<RowProps, "onPick"> & { readonly step: string }) {
  if (step === "") return <span className="step-name">the run</span>;
  return (
    <button type="button" className="quiet step-name" title={step} onClick={() => onPick(step)}>
      {step}
    </button>
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

function Legend({ of, heartbeats }: { readonly of: readonly Row[]; readonly heartbeats: boolean }) {
  const others = of.some(({ attempts }) => attempts.some(({ kind }) => kind !== TaskKind.PERFORM));
  const waits = of.some((row) => row.waits.some(({ on }) => on !== "retry"));
  const retries = of.some((row) => row.waits.some(({ on }) => on === "retry"));
  const acted = of.some(({ interventions }) => interventions.length > 0);
  const withItems = of.some(({ items }) => items !== null);
  return (
    <p className="timeline-legend dim">
      <span>
        <b className="timeline-bar" data-tone="ok" /> attempt, coloured by how it ended
      </span>
      {others ? (
        <span>
          <b className="timeline-bar" data-tone="ok" data-kind="other" /> verification or
          compensation
        </span>
      ) : null}
      {waits ? (
        <span>
          <i className="timeline-wait" /> waiting
        </span>
      ) : null}
      {retries ? (
        <span>
          <i className="timeline-wait" data-on="retry" /> until the next attempt
        </span>
      ) : null}
      {acted ? (
        <>
          <span>
            <i className="timeline-mark" /> intervention of the supervisor
          </span>
          <span>
            <i className="timeline-gap" /> from when it was due until it acted
          </span>
        </>
      ) : null}
      {heartbeats ? (
        <span>
          <i className="timeline-heartbeat" /> last heartbeat
        </span>
      ) : null}
      {withItems ? (
        <span>
          <b className="timeline-density" data-tone="ok" /> items of a map in progress, with a mark
          where some failed
        </span>
      ) : null}
    </p>
  );
}

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
