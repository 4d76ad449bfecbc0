// What the runs of the last thirty minutes came to, and how fast supervisors acted.
import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Activity, ActivityMinute, RetriedStep } from "@drover/proto/drover/v1/overview_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { useMemo } from "react";
import { Link } from "wouter";
import { Badge } from "../../parts/badge.tsx";
import { Chart } from "../../parts/chart.tsx";
import { Panel } from "../../parts/panel.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Ago, useNowMs } from "../../parts/time.tsx";
import { counted, numberWords } from "../../words/counts.ts";
import { isFinal, runStanding, stateName } from "../../words/run-words.ts";
import { durationWords } from "../../words/time-words.ts";

const MINUTES = 30;
const MINUTE_MS = 60_000;

export function ActivityPanels({ of }: { readonly of: Activity }) {
  const total = totalOf(of);
  return (
    <>
      <ActivityTiles of={of} />
      <div className="panels-2">
        <Panel title="Runs by the minute">
          {of.minutes.length === 0 ? (
            <EmptyState
              title="No run in the last 30 minutes"
              text="Start one: drover run start WORKFLOW."
            />
          ) : (
            <MinutesChart of={of.minutes} />
          )}
        </Panel>
        <Panel title="Where they stand">
          <ul className="standings">
            {of.states.map(({ state, count }) => (
              <li key={state}>
                <Badge {...runStanding(state)} />
                <meter
                  min={0}
                  max={Math.max(1, total)}
                  value={count}
                  aria-label={`${runStanding(state).word}: ${count} of ${total}`}
                />
                <Link href={`/runs?state=${stateName(state)}`}>{numberWords(count)}</Link>
              </li>
            ))}
          </ul>
        </Panel>
      </div>
      {of.retriedSteps.length === 0 ? null : <RetriedSteps of={of.retriedSteps} />}
    </>
  );
}

const totalOf = ({ states }: Activity) => states.reduce((sum, { count }) => sum + count, 0);

function ActivityTiles({ of }: { readonly of: Activity }) {
  const ended = of.states.filter(({ state }) => isFinal(state));
  const endedCount = ended.reduce((sum, { count }) => sum + count, 0);
  const total = totalOf(of);
  const completed = ended.find(({ state }) => state === RunState.COMPLETED)?.count ?? 0;
  const rate = endedCount === 0 ? "–" : `${((100 * completed) / endedCount).toFixed(1)} %`;
  const detect = (value: Activity["detectTypical"]) =>
    value === undefined ? "–" : durationWords(durationMs(value));
  const of30 = of.moreRuns ? `of the newest ${numberWords(total)} runs` : "in the last 30 minutes";
  return (
    <div className="tiles">
      <Tile
        name="Runs"
        value={`${numberWords(total)}${of.moreRuns ? "+" : ""}`}
        note="accepted in the last 30 minutes"
      />
      <Tile
        name="Completed"
        value={rate}
        note={`of ${counted(endedCount, "run")} that ended, ${of30}`}
      />
      <Tile
        name="Retries"
        value={`${numberWords(of.retries)}${of.moreRetries ? "+" : ""}`}
        note={
          of.retries === 0
            ? "nothing had to be tried again"
            : "of steps in the last 30 minutes, after a failure"
        }
      />
      <Tile
        name="Time to detect"
        value={detect(of.detectTypical)}
        note={
          of.interventions === 0
            ? "supervisors had nothing to act upon"
            : `typical; 95 of 100 within ${detect(of.detectSlow)}`
        }
      />
      <Tile
        name="Interventions"
        value={numberWords(of.interventions)}
        note="of supervisors, the newest 200 at most"
        href="/audit"
      />
    </div>
  );
}

/** Where trying again is spent; the run in which it was last shows the failures in full. */
function RetriedSteps({ of }: { readonly of: readonly RetriedStep[] }) {
  return (
    <Panel title="Tried again most">
      <ul className="retried">
        {of.map(({ workflow, stepId, retries, lastTime, lastRunId }) => (
          <li key={`${workflow} ${stepId} ${lastRunId}`}>
            <span className="number">{numberWords(retries)} ×</span>
            <span>
              Step <b>{stepId}</b> of <Link href={`/workflows/${workflow}`}>{workflow}</Link>, last{" "}
              <Ago at={lastTime} />
            </span>
            <Link href={`/runs/${lastRunId}`}>Look at the last run</Link>
          </li>
        ))}
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

function chartOf(minutes: readonly ActivityMinute[], lastMinute: number) {
  const known = new Map(
    minutes.map((one) => [
      Math.floor((one.startTime ? timestampMs(one.startTime) : 0) / MINUTE_MS),
      one,
    ]),
  );
  const shown = Array.from({ length: MINUTES }, (_, n) => lastMinute - MINUTES + 1 + n);
  const of = (pick: (one: ActivityMinute) => number) =>
    shown.map((minute) => {
      const one = known.get(minute);
      return one === undefined ? 0 : pick(one);
    });
  const completed = of((one) => one.completed);
  const others = of((one) => one.notCompleted);
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  return {
    times: shown.map((minute) => minute * 60),
    // Drawn one before the other: what was not completed stands in front, at the foot.
    series: [
      { name: "ended", colour: "--ok", values: completed.map((one, n) => one + (others[n] ?? 0)) },
      { name: "of these not completed", colour: "--bad", values: others },
    ],
    label: `Runs that ended in the last ${MINUTES} minutes: ${sum(completed)} completed, ${sum(others)} not.`,
  };
}
