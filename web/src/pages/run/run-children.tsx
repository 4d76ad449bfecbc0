// The runs that steps of this run have started, as a tree: each can be opened to its own child
// runs, which are loaded then.
import { type Run, type Step, StepKind } from "@drover/proto/drover/v1/run_pb.ts";
import { useState } from "react";
import { Link } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { Badge } from "../../parts/badge.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Panel } from "../../parts/panel.tsx";
import { ShortId } from "../../parts/short-id.tsx";
import { Shown } from "../../parts/states.tsx";
import { Lasted } from "../../parts/time.tsx";
import { counted } from "../../words/counts.ts";
import { isFinal, reasonWords, runOutcome, workflowWords } from "../../words/run-words.ts";
import { substateWords } from "../../words/substate-words.ts";
import "./run-children.css";

const AGAIN_MS = 5_000;
const PAGE = 50;

export function RunChildren({
  run,
  steps,
}: {
  readonly run: Run;
  readonly steps: readonly Step[];
}) {
  if (!steps.some(({ kind }) => kind === StepKind.RUN)) return null;
  return (
    <Panel title="Child runs">
      <ChildRuns of={run} />
    </Panel>
  );
}

/** The child runs of one run. The list is polled until all of its runs have ended. */
function ChildRuns({ of: run }: { readonly of: Run }) {
  const { namespace, runId } = run;
  const [settled, setSettled] = useState(false);
  const list = useList(
    `children ${runId}`,
    async (pageToken, signal) => {
      const filter = { parentRunId: runId };
      const asked = { namespace, filter, pageSize: PAGE, pageToken };
      const { runs, nextPageToken } = await scheduler.listRuns(asked, { signal });
      return { rows: runs, nextPageToken };
    },
    settled ? {} : { everyMs: AGAIN_MS },
  );
  const { rows, complete, more } = list;
  const allEnded = isFinal(run.state) && rows.every(({ state }) => isFinal(state));
  if (list.state.kind === "loaded" && allEnded !== settled) setSettled(allEnded);
  return (
    <Shown of={{ ...list.state, again: list.again }} what="the child runs">
      {() =>
        rows.length === 0 ? (
          <p className="dim">No child runs.</p>
        ) : (
          <>
            <p className="dim">{countWords(rows, complete)}</p>
            <ul className="child-runs">
              {rows.map((child) => (
                <ChildRun key={child.runId} of={child} />
              ))}
            </ul>
            {complete ? null : (
              <button type="button" onClick={more}>
                Show more
              </button>
            )}
          </>
        )
      }
    </Shown>
  );
}

/** `3 child runs, 1 failed`; `The newest 50 child runs, 2 failed. There are more.` */
function countWords(rows: readonly Run[], complete: boolean): string {
  const bad = rows.filter((run) => runOutcome(run).tone === "bad").length;
  const failed = bad === 0 ? "" : `, ${bad} failed or cancelled`;
  const known = `${counted(rows.length, "child run")}${failed}`;
  return complete ? known : `The newest ${known}. There are more.`;
}

function ChildRun({ of: run }: { readonly of: Run }) {
  const [isOpen, setOpen] = useState(false);
  const { runId, key, parent, summary, reason, substates } = run;
  const name = key || runId;
  const outcome = runOutcome(run);
  const startedBy = `by ${parent?.stepId ?? "a step"}`;
  const detail = summary || reasonWords(reason) || substateWords(substates);
  return (
    <li>
      <div className="child-run" data-tone={outcome.tone}>
        <button
          type="button"
          className="quiet"
          aria-expanded={isOpen}
          aria-label={`Child runs of ${name}`}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? "▾" : "▸"}
        </button>
        <span>
          <Badge {...outcome} />
        </span>
        <Link href={`/runs/${runId}`} title={name}>
          {key === "" ? <ShortId of={runId} /> : <Foreign text={key} />}
        </Link>
        <span className="dim" title={startedBy}>
          {workflowWords(run)}, {startedBy}
        </span>
        <span className="child-run-detail" title={detail}>
          <Foreign text={detail} />
        </span>
        <Lasted from={run.createdTime} to={run.endedTime} />
      </div>
      {isOpen ? <ChildRuns of={run} /> : null}
    </li>
  );
}
