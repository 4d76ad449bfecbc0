// The attempts of all items of a map in one row: the height shows how many were active, and a mark
// shows where some failed or a supervisor acted.
import { type Attempt, OutcomeKind } from "@drover/proto/drover/v1/run_pb.ts";
import type { Tone } from "../../parts/badge.tsx";
import { counted } from "../../words/counts.ts";
import { msOf, percent, type Row, type Scale, width } from "./timeline-rows.ts";

const PARTS = 120;
const HEIGHT_PX = 20;
/** The least height, so that one attempt among a thousand is visible. */
const LEAST_PX = 4;
const NAMES_SHOWN = 3;

interface Part {
  readonly fromMs: number;
  readonly toMs: number;
  readonly active: number;
  readonly failed: readonly Attempt[];
  readonly acted: number;
}

export function DensityTrack({ row, scale }: { readonly row: Row; readonly scale: Scale }) {
  const parts = partsOf(row, scale);
  const most = Math.max(1, ...parts.map(({ active }) => active));
  return (
    <div className="timeline-track">
      {parts.map((part) => (
        <PartMarks key={part.fromMs} of={part} most={most} scale={scale} />
      ))}
    </div>
  );
}

function PartMarks(props: { readonly of: Part; readonly most: number; readonly scale: Scale }) {
  const { fromMs, toMs, active, failed, acted } = props.of;
  const left = percent(fromMs, props.scale);
  const high = LEAST_PX + (HEIGHT_PX - LEAST_PX) * (active / props.most);
  return (
    <>
      {active === 0 ? null : (
        <b
          className="timeline-density"
          data-tone="ok"
          style={{ left, width: width(fromMs, toMs, props.scale), height: `${high}px` }}
          aria-hidden="true"
          title={`${counted(active, "attempt")} under way`}
        />
      )}
      {failed.length === 0 ? null : <FailedMark of={failed} left={left} />}
      {acted === 0 ? null : (
        <i
          className="timeline-mark"
          style={{ left }}
          role="img"
          aria-label={counted(acted, "intervention")}
          title={counted(acted, "intervention")}
        />
      )}
    </>
  );
}

function FailedMark({ of, left }: { readonly of: readonly Attempt[]; readonly left: string }) {
  const tone: Tone = of.some(({ outcome }) => outcome === OutcomeKind.FAILURE) ? "bad" : "warning";
  const names = [...new Set(of.map(({ stepId }) => stepId))];
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : "";
  const text = `${counted(of.length, "attempt")} failed: ${names.slice(0, NAMES_SHOWN).join(", ")}${more}`;
  return (
    <b
      className="timeline-density"
      data-kind="failed"
      data-tone={tone}
      style={{ left }}
      role="img"
      aria-label={text}
      title={text}
    />
  );
}

function partsOf({ attempts, interventions }: Row, scale: Scale): readonly Part[] {
  const lengthMs = (scale.toMs - scale.fromMs) / PARTS;
  const placeOf = (at: number) =>
    Math.max(0, Math.min(PARTS - 1, Math.floor((at - scale.fromMs) / lengthMs)));
  const active = Array.from({ length: PARTS }, () => 0);
  for (const one of attempts) {
    const last = one.endedTime === undefined ? PARTS - 1 : placeOf(msOf(one.endedTime));
    for (let at = placeOf(msOf(one.startedTime)); at <= last; at++)
      active[at] = (active[at] ?? 0) + 1;
  }
  const failed = Map.groupBy(attempts.filter(hasFailed), (one) => placeOf(msOf(one.endedTime)));
  const acted = Map.groupBy(interventions, (one) => placeOf(msOf(one.actedTime)));
  return active.map((count, at) => ({
    fromMs: scale.fromMs + at * lengthMs,
    toMs: scale.fromMs + (at + 1) * lengthMs,
    active: count,
    failed: failed.get(at) ?? [],
    acted: acted.get(at)?.length ?? 0,
  }));
}

function hasFailed({ outcome }: Attempt): boolean {
  return outcome === OutcomeKind.FAILURE || outcome === OutcomeKind.UNKNOWN;
}
