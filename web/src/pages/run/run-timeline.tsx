// What happened when: a row for each step, a bar for each attempt, a mark for each intervention,
// and before it the gap between when it was due and when somebody acted. While an agent works the
// bar grows to now, with a tick for its last beat.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Attempt, Intervention } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { useMemo } from "react";
import { EmptyState } from "../../parts/states.tsx";
import { useNowMs } from "../../parts/time.tsx";
import { outcomeStanding } from "../../words/outcome-words.ts";
import { clockTime, durationWords } from "../../words/time-words.ts";
import type { Explained } from "./run-page.tsx";

export interface TimelineProps {
  readonly of: GetRunResponse;
  readonly explained: Explained;
  readonly picked: string | null;
  readonly onPick: (step: string) => void;
}

interface Row {
  readonly step: string;
  readonly attempts: readonly Attempt[];
  readonly interventions: readonly Intervention[];
}

interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
}

const LEAST_MS = 1_000;

export function RunTimeline(props: TimelineProps) {
  const { of, explained, picked, onPick } = props;
  const rows = useMemo(() => rowsOf(of), [of]);
  const now = useNowMs();
  const from = of.run?.createdTime ? timestampMs(of.run.createdTime) : now;
  const end = of.run?.endedTime ? timestampMs(of.run.endedTime) : Math.max(now, lastOf(of));
  const scale = { fromMs: from, toMs: Math.max(end, from + LEAST_MS) };
  const beats = useMemo(() => beatsOf(explained), [explained]);
  if (rows.length === 0)
    return <EmptyState title="Nothing has been tried yet" text="Attempts appear here at once." />;
  return (
    <div className="timeline">
      <Axis of={scale} />
      {rows.map((row) => (
        <div key={row.step} className="timeline-row" data-picked={row.step === picked}>
          <button
            type="button"
            className="quiet step-name"
            title={row.step}
            onClick={() => onPick(row.step)}
          >
            {row.step || "the run"}
          </button>
          <Track row={row} scale={scale} beatMs={beats.get(row.step) ?? null} />
        </div>
      ))}
      <Legend />
    </div>
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
          <span key={share} style={{ left: `${share * 100}%` }} data-last={share === 1}>
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
  readonly beatMs: number | null;
}) {
  const { row, scale, beatMs } = props;
  const isOpen = row.attempts.some(({ endedTime }) => endedTime === undefined);
  return (
    <div className="timeline-track">
      {row.interventions.map((one) => (
        <Mark key={`${one.rule} ${one.fence} ${momentOf(one.actedTime)}`} of={one} scale={scale} />
      ))}
      {row.attempts.map((one) => (
        <Bar key={`${one.kind} ${one.fence} ${one.n} ${one.late}`} of={one} scale={scale} />
      ))}
      {beatMs === null || !isOpen ? null : (
        <i
          className="timeline-beat"
          style={{ left: percent(beatMs, scale) }}
          role="img"
          aria-label={`last beat ${clockTime(beatMs)}`}
          title={`last beat ${clockTime(beatMs)}`}
        />
      )}
    </div>
  );
}

function Bar({ of, scale }: { readonly of: Attempt; readonly scale: Scale }) {
  const from = momentOf(of.startedTime);
  const to = of.endedTime === undefined ? scale.toMs : momentOf(of.endedTime);
  const { tone, word } = outcomeStanding(of.outcome);
  const took = durationWords(Math.max(0, to - from));
  const who = of.agentId === "" ? "" : ` with ${of.agentId}`;
  const why = of.failure === undefined ? "" : `: ${of.failure.message || of.failure.code}`;
  const late = of.late ? ", too late" : "";
  const text = `${kindWords[of.kind] ?? "task"} ${of.attempt}${who}: ${word} after ${took}${late}${why}`;
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
  const due = momentOf(of.dueTime);
  const acted = momentOf(of.actedTime);
  const gap = durationWords(Math.max(0, acted - due));
  const text = `${of.rule}: ${of.saw} → ${of.did} (${gap} after it was due)`;
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

function Legend() {
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
        <i className="timeline-beat" /> last beat
      </span>
    </p>
  );
}

const kindWords: Readonly<Partial<Record<TaskKind, string>>> = {
  [TaskKind.PERFORM]: "attempt",
  [TaskKind.VERIFY]: "verify",
  [TaskKind.COMPENSATE]: "undo",
};

function rowsOf({ steps, attempts, interventions }: GetRunResponse): readonly Row[] {
  const order = ["", ...steps.map(({ id }) => id)];
  const ids = new Set([...attempts, ...interventions].map(({ stepId }) => stepId));
  const known = order.filter((id) => ids.has(id));
  // Items of maps come behind their map's name, which is not a step of its own here.
  const items = [...ids].filter((id) => !order.includes(id)).sort();
  return [...known, ...items].map((step) => ({
    step,
    attempts: attempts.filter(({ stepId }) => stepId === step),
    interventions: interventions.filter(({ stepId }) => stepId === step),
  }));
}

function beatsOf(explained: Explained): ReadonlyMap<string, number> {
  return new Map(
    (explained?.steps ?? []).flatMap(({ stepId, detail }) =>
      detail.case === "agent" && detail.value.lastBeatTime
        ? [[stepId, timestampMs(detail.value.lastBeatTime)] as const]
        : [],
    ),
  );
}

function lastOf({ attempts, interventions }: GetRunResponse): number {
  const moments = [
    ...attempts.map(({ endedTime, startedTime }) => momentOf(endedTime ?? startedTime)),
    ...interventions.map(({ actedTime }) => momentOf(actedTime)),
  ];
  return Math.max(0, ...moments);
}

function momentOf(at: Attempt["startedTime"]): number {
  return at === undefined ? 0 : timestampMs(at);
}

function percent(at: number, { fromMs, toMs }: Scale): string {
  const share = (at - fromMs) / (toMs - fromMs);
  return `${Math.max(0, Math.min(1, share)) * 100}%`;
}

function width(from: number, to: number, { fromMs, toMs }: Scale): string {
  return `${(Math.max(0, to - Math.max(from, fromMs)) / (toMs - fromMs)) * 100}%`;
}
