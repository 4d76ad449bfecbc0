// How the runs of the last thirty minutes ended, and how fast supervisors acted.
import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type {
  Activity,
  ActivityMinute,
  WorkflowActivity,
} from "@drover/proto/drover/v1/overview_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { useMemo } from "react";
import { Link } from "wouter";
import { Chart } from "../../parts/chart.tsx";
import { Panel } from "../../parts/panel.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { useNowMs } from "../../parts/time.tsx";
import { counted, numberWords } from "../../words/counts.ts";
import { runStatus, stateName } from "../../words/run-words.ts";
import { durationWords } from "../../words/time-words.ts";
import { countOf, ENDS, RunsByState } from "./runs-by-state.tsx";

const MINUTES = 30;
const MINUTE_MS = 60_000;
/**
 * The parts of a column, from bottom to top: runs that did not complete are at the bottom, where
 * they are easy to see.
 */
const PARTS: readonly {
  readonly state: RunState;
  readonly colour: string;
  readonly pick: (of: ActivityMinute) => number;
}[] = [
  { state: RunState.FAILED, colour: "--bad", pick: (of) => of.failed },
  { state: RunState.COMPENSATED, colour: "--undo", pick: (of) => of.compensated },
  { state: RunState.CANCELLED, colour: "--dim", pick: (of) => of.cancelled },
  { state: RunState.COMPLETED, colour: "--ok", pick: (of) => of.completed },
];

export function ActivityPanels({ of }: { readonly of: Activity }) {
  return (
    <>
      <ActivityTiles of={of} />
      <div className="panels-2">
        <Panel title="Ended runs by the minute">
          {of.minutes.length === 0 ? (
            <EmptyState
              title="No run in the last 30 minutes"
              text="Start one: drover run start WORKFLOW."
            />
          ) : (
            <MinutesChart of={of.minutes} />
          )}
        </Panel>
        <RunsByState of={of} />
      </div>
      {of.unsuccessfulWorkflows.length === 0 ? null : (
        <UnsuccessfulWorkflows of={of.unsuccessfulWorkflows} />
      )}
    </>
  );
}

/** `18 failed, 2 compensated` */
function endsWords(ends: readonly (readonly [state: RunState, count: number])[]): string {
  return ends.map(([state, count]) => `${numberWords(count)} ${runStatus(state).word}`).join(", ");
}

/** Rounded down, so that it never shows 100 % if some are missing. */
function shareWords(part: number, whole: number): string {
  return whole === 0 ? "–" : `${(Math.floor((1_000 * part) / whole) / 10).toFixed(1)} %`;
}

function RunTiles({ of }: { readonly of: Activity }) {
  const accepted = of.minutes.reduce((sum, minute) => sum + minute.accepted, 0);
  const completed = countOf(of, RunState.COMPLETED);
  const others = ENDS.filter((state) => state !== RunState.COMPLETED).map(
    (state) => [state, countOf(of, state)] as const,
  );
  const notCompleted = others.reduce((sum, [, count]) => sum + count, 0);
  const ended = completed + notCompleted;
  return (
    <>
      <Tile name="Runs" value={numberWords(accepted)} note="started in the last 30 minutes" />
      <Tile
        name="Completed"
        value={shareWords(completed, ended)}
        note={`${numberWords(completed)} of ${counted(ended, "run")} that ended in the last 30 minutes`}
      />
      <Tile name="Not completed" value={numberWords(notCompleted)} note={endsWords(others)} />
    </>
  );
}

function ActivityTiles({ of }: { readonly of: Activity }) {
  const { retries, moreRetries, interventions, moreInterventions } = of;
  return (
    <div className="tiles">
      <RunTiles of={of} />
      <Tile
        name="Retries"
        value={`${numberWords(retries)}${moreRetries ? "+" : ""}`}
        note={
          retries === 0 ? "no step was retried" : "of steps in the last 30 minutes, after a failure"
        }
      />
      <Tile
        name="Time to detect"
        value={of.detectTypical ? durationWords(durationMs(of.detectTypical)) : "–"}
        note={detectWords(of)}
      />
      <Tile
        name="Interventions"
        value={`${numberWords(interventions)}${moreInterventions ? "+" : ""}`}
        note={
          interventions === 0
            ? "no intervention in the last 30 minutes"
            : `of supervisors in the last 30 minutes, ${numberWords(retries)} of them retries`
        }
        href="/interventions"
      />
    </div>
  );
}

/** Which interventions the time to detect is computed from; they may be a sample. */
function detectWords({ detectSlow, detectSampled, interventions, retries }: Activity): string {
  if (detectSlow === undefined) return "no interventions other than retries";
  const all = interventions - retries;
  const which =
    detectSampled < all
      ? `the last ${numberWords(detectSampled)} interventions`
      : counted(detectSampled, "intervention");
  const slow = durationWords(durationMs(detectSlow));
  return `median delay of ${which}, without retries; 95 % within ${slow}`;
}

/** The workflows of the runs that did not complete. */
function UnsuccessfulWorkflows({ of }: { readonly of: readonly WorkflowActivity[] }) {
  return (
    <Panel title="Workflows with runs that did not complete">
      <ul className="unsuccessful">
        {of.map(({ workflow, completed, failed, compensated, cancelled }) => {
          const others = [
            [RunState.FAILED, failed],
            [RunState.COMPENSATED, compensated],
            [RunState.CANCELLED, cancelled],
          ] as const;
          const found = others.filter(([, count]) => count > 0);
          const first = found[0]?.[0] ?? RunState.FAILED;
          const ended = completed + failed + compensated + cancelled;
          return (
            <li key={workflow}>
              <span className="number">{numberWords(ended - completed)} ×</span>
              <span>
                <Link href={`/workflows/${workflow}`}>{workflow}</Link>: {endsWords(found)}, of{" "}
                {counted(ended, "run")} that ended in the last 30 minutes
              </span>
              <Link href={`/runs?state=${stateName(first)}&workflow=${workflow}`}>
                See the runs
              </Link>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

function Tile(props: {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly href?: string;
}) {
  const { name, value, note, href } = props;
  return (
    <div className="tile">
      <h2>{href === undefined ? name : <Link href={href}>{name}</Link>}</h2>
      <p className="tile-value">{value}</p>
      <p className="dim">{note}</p>
    </div>
  );
}

function MinutesChart({ of }: { readonly of: readonly ActivityMinute[] }) {
  const minute = Math.floor(useNowMs() / MINUTE_MS);
  const { times, series, label } = useMemo(() => chartOf(of, minute), [of, minute]);
  return <Chart label={label} times={times} series={series} />;
}

function chartOf(minutes: readonly ActivityMinute[], minuteHere: number) {
  const known = new Map(
    minutes.map((one) => [
      Math.floor((one.startTime ? timestampMs(one.startTime) : 0) / MINUTE_MS),
      one,
    ]),
  );
  // The clock of this machine may be behind that of the database.
  const last = Math.max(minuteHere, ...known.keys());
  const shown = Array.from({ length: MINUTES }, (_, n) => last - MINUTES + 1 + n);
  const series = PARTS.map(({ state, colour, pick }) => ({
    name: runStatus(state).word,
    colour,
    values: shown.map((minute) => {
      const one = known.get(minute);
      return one === undefined ? 0 : pick(one);
    }),
  }));
  const sums = series.map(({ name, values }) => `${values.reduce((a, b) => a + b, 0)} ${name}`);
  return {
    series,
    times: shown.map((minute) => minute * 60),
    label: `Runs that ended in the last ${MINUTES} minutes: ${sums.join(", ")}.`,
  };
}
