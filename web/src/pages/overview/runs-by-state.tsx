// The number of runs in each state: all open runs, and recently ended runs by their final state.
import type { Activity, OpenRuns, SubstateRuns } from "@drover/proto/drover/v1/overview_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { Link } from "wouter";
import { Badge } from "../../parts/badge.tsx";
import { Panel } from "../../parts/panel.tsx";
import { numberWords } from "../../words/counts.ts";
import { isFinal, runStatus, stateName } from "../../words/run-words.ts";
import { substateName, substateWord } from "../../words/substate-words.ts";

export const ENDS: readonly RunState[] = [
  RunState.COMPLETED,
  RunState.FAILED,
  RunState.COMPENSATED,
  RunState.CANCELLED,
];

export function countOf({ states }: Activity, state: RunState): number {
  return states.find((one) => one.state === state)?.count ?? 0;
}

export function RunsByState({ of }: { readonly of: Activity }) {
  const open = of.states.filter(({ state }) => !isFinal(state));
  return (
    <Panel title="Runs by state">
      <h3>Open now</h3>
      {open.length === 0 ? <p className="dim">No run is open.</p> : <Statuses of={open} />}
      <Substates of={of.substates} />
      {of.moreRuns ? <p className="dim">There are more, which were not counted.</p> : null}
      <h3>Ended in the last 30 minutes</h3>
      <Statuses of={ENDS.map((state) => ({ state, count: countOf(of, state) }))} />
    </Panel>
  );
}

/** A run may be in several of these lines. */
function Substates({ of }: { readonly of: readonly SubstateRuns[] }) {
  if (of.length === 0) return null;
  return (
    <ul className="substates" aria-label="Open runs by what they do or wait for">
      {of.map(({ substate, runs, moreRuns }) => (
        <li key={substate}>
          <Link href={`/runs?substate=${substateName(substate)}`}>
            {numberWords(runs)}
            {moreRuns ? "+" : ""} {substateWord(substate)}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Statuses({ of }: { readonly of: readonly Pick<OpenRuns, "state" | "count">[] }) {
  const total = of.reduce((sum, { count }) => sum + count, 0);
  return (
    <ul className="standings">
      {of.map(({ state, count }) => (
        <li key={state}>
          <Badge {...runStatus(state)} />
          <meter
            min={0}
            max={Math.max(1, total)}
            value={count}
            aria-label={`${runStatus(state).word}: ${count} of ${total}`}
          />
          <Link href={`/runs?state=${stateName(state)}`}>{numberWords(count)}</Link>
        </li>
      ))}
    </ul>
  );
}
