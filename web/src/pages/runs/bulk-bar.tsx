// One action on many runs: those that are selected, or all that match the filter, which must be
// set. For a filter the server first counts the runs and changes nothing. The user reads the filter
// in words, the number and the first runs; if the number has changed meanwhile, nothing is done.

import type { Run, RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  BulkKind,
  type RunFilter,
  RunOrder,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useState } from "react";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { ProblemText } from "../../parts/states.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { useNotice } from "../../shell/notices.tsx";
import { counted, numberWords } from "../../words/counts.ts";
import { runOutcome, workflowWords } from "../../words/run-words.ts";
import {
  actOnChosen,
  actOnFiltered,
  type BulkAct,
  bulkActs,
  countFiltered,
  type Tally,
} from "./bulk-acts.ts";
import type { ReadFilter } from "./run-filter.ts";

interface BulkBarProps {
  readonly read: ReadFilter;
  readonly chosen: ReadonlySet<string>;
  readonly rows: readonly Run[];
  readonly onDone: () => void;
}

export function BulkBar({ read, chosen, rows, onDone }: BulkBarProps) {
  const [act, setAct] = useState<BulkAct | null>(null);
  const what = chosen.size > 0 ? `${counted(chosen.size, "run")} selected` : "All matching runs";
  if (rows.length === 0) return null;
  if (chosen.size === 0 && read.words === "")
    return <p className="bulk dim">Select or filter runs to act on many at once.</p>;
  return (
    <div className="bulk">
      <span className="dim">{what}:</span>
      {bulkActs.map((one) => (
        <button type="button" key={one.name} onClick={() => setAct(one)}>
          {one.name}
        </button>
      ))}
      {act === null ? null : chosen.size > 0 ? (
        <ChosenDialog {...{ act, chosen, rows, onDone }} onClose={() => setAct(null)} />
      ) : (
        <FilterDialog {...{ act, read, onDone }} onClose={() => setAct(null)} />
      )}
    </div>
  );
}

interface DialogProps {
  readonly act: BulkAct;
  readonly rows: readonly Run[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function ChosenDialog(props: DialogProps & { readonly chosen: ReadonlySet<string> }) {
  const { act, chosen, rows, onDone, onClose } = props;
  const namespace = useNamespace();
  const notify = useNotice();
  return (
    <ConfirmDialog
      title={`${act.name} ${counted(chosen.size, "run")}?`}
      act={`${act.name} ${counted(chosen.size, "run")}`}
      danger={act.kind === BulkKind.CANCEL}
      onClose={onClose}
      onAct={async (form) => {
        const how = { undo: undoOf(form), reason: String(form.get("reason") ?? "") };
        notify(tallyWords(await actOnChosen(namespace, [...chosen], act.kind, how), act));
        onDone();
      }}
    >
      <FirstRuns rows={rows.filter(({ runId }) => chosen.has(runId))} count={chosen.size} />
      <WhatWillHappen act={act} />
    </ConfirmDialog>
  );
}

/** Applies an action to all runs that meet the filter, after it has counted them. */
export function FilterDialog(props: Omit<DialogProps, "rows"> & { readonly read: ReadFilter }) {
  const { act, read, onDone, onClose } = props;
  const namespace = useNamespace();
  const notify = useNotice();
  const [requestId] = useState(() => `dashboard-${crypto.randomUUID()}`);
  const asking = useCall(`count ${requestId}`, async (signal) => {
    const [count, runs] = await Promise.all([
      countFiltered(namespace, read.filter, act.kind, signal),
      firstFiltered(namespace, read.filter, act.states, signal),
    ]);
    return { count, runs };
  });
  const found = asking.kind === "loaded" ? asking.value : null;
  const count = found?.count ?? null;
  const many = count === null ? "…" : counted(count, "run");
  const possible = count !== null && count > 0 && count <= BULK_MAX;
  return (
    <ConfirmDialog
      title={`${act.name} all matching runs?`}
      act={`${act.name} ${many}`}
      danger={act.kind === BulkKind.CANCEL}
      disabled={!possible}
      onClose={onClose}
      onAct={async (form) => {
        const how = { undo: undoOf(form), reason: String(form.get("reason") ?? "") };
        const request = { namespace, filter: read.filter, kind: act.kind, requestId };
        const tally = await actOnFiltered({ ...request, ...how, expectedCount: count ?? 0 });
        notify(tallyWords(tally, act));
        onDone();
      }}
    >
      <p>
        <strong>Filter:</strong> <Foreign text={read.words} />
      </p>
      {found === null ? null : <FirstRuns rows={found.runs} count={found.count} />}
      {asking.kind === "failed" ? <ProblemText problem={asking.problem} /> : null}
      <p role="status">{countWords(count, act)}</p>
      <WhatWillHappen act={act} />
    </ConfirmDialog>
  );
}

const BULK_MAX = 10_000;
const FIRST_RUNS = 5;

function countWords(count: number | null, act: BulkAct): string {
  if (count === null) return "Counting…";
  if (count === 0) return `No matching run can be ${act.done}.`;
  if (count > BULK_MAX)
    return `More than ${numberWords(BULK_MAX)} runs match: make the filter narrower.`;
  return `${counted(count, "run")} counted just now. If the number changes before you confirm, nothing happens.`;
}

/** In the order of the action; the page may have loaded other runs. */
async function firstFiltered(
  namespace: string,
  filter: RunFilter,
  actStates: readonly RunState[],
  signal: AbortSignal,
): Promise<readonly Run[]> {
  const states = filter.states.length > 0 ? filter.states : actStates;
  const request = {
    namespace,
    filter: { ...filter, states: [...states] },
    order: RunOrder.CREATED_ASC,
    pageSize: FIRST_RUNS,
  };
  return (await scheduler.listRuns(request, { signal })).runs;
}

/** Shows the first runs, so that the user can check that the right ones are meant. */
function FirstRuns({ rows, count }: { readonly rows: readonly Run[]; readonly count: number }) {
  const shown = rows.slice(0, FIRST_RUNS);
  const more = count - shown.length;
  return (
    <ul className="first-runs" aria-label="The first runs">
      {shown.map((run) => (
        <li key={run.runId}>
          <span className="mono">
            <Foreign text={run.key || run.runId} />
          </span>{" "}
          {workflowWords(run)} <Badge {...runOutcome(run)} />
        </li>
      ))}
      {more > 0 ? <li className="dim">and {numberWords(more)} more</li> : null}
    </ul>
  );
}

function WhatWillHappen({ act }: { readonly act: BulkAct }) {
  return (
    <>
      <p>
        <strong>What will happen:</strong> {act.willHappen}
      </p>
      {act.kind === BulkKind.CANCEL ? (
        <Field name="Completed steps">
          <select name="undo">
            <option value="compensate">compensate them</option>
            <option value="leave">leave them as they are</option>
          </select>
        </Field>
      ) : null}
      <Field name="Reason (stored with the runs)">
        <input name="reason" maxLength={1_024} />
      </Field>
    </>
  );
}

function undoOf(form: FormData): Undo {
  return form.get("undo") === "leave" ? Undo.LEAVE : Undo.COMPENSATE;
}

function tallyWords({ done, left }: Tally, act: BulkAct): string {
  const rest =
    left === 0 ? "" : ` ${counted(left, "run")} could not be ${act.done}, and did not change.`;
  return `${counted(done, "run")} ${act.done}.${rest}`;
}
