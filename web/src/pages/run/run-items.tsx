// The items of a map: first those that failed or need a person, then all others in the order of the
// list. A selected item is shown in full.
import { type Run, type Step, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useMemo, useState } from "react";
import { scheduler } from "../../calls/clients.ts";
import { type ListPage, useList } from "../../calls/use-list.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { CutText, Foreign } from "../../parts/foreign.tsx";
import { Shown } from "../../parts/states.tsx";
import { failureWords } from "../../words/attempt-words.ts";
import { isFinal, stepStatus } from "../../words/run-words.ts";
import { refOf } from "./run-ref.ts";
import { StepFacts, StepHistory } from "./step-history.tsx";

interface RunItemsProps {
  readonly run: Run;
  readonly step: Step;
  readonly history: GetRunResponse;
}

const idOf = ({ id }: Step) => id;
const AGAIN_MS = 2_000;

export function RunItems({ run, step, history }: RunItemsProps) {
  const [picked, setPicked] = useState("");
  const open = !isFinal(run.state);
  const list = useList(
    `items ${run.runId} ${step.id} ${step.state} ${step.undoState}`,
    (pageToken, signal) => loadItems(run, step.id, pageToken, signal),
    open ? { everyMs: AGAIN_MS } : {},
  );
  const columns = useMemo(() => columnsOf(setPicked), []);
  const item = list.rows.find(({ id }) => id === picked);
  return (
    <section className="items">
      <h3>Items</h3>
      <Shown of={{ ...list.state, again: list.again }} what="the items">
        {() =>
          list.rows.length === 0 ? (
            <p className="dim">No item has started.</p>
          ) : (
            <DataTable
              name={`Items of ${step.id}`}
              columns={columns}
              rows={list.rows}
              keyOf={idOf}
              onEnd={list.more}
              complete={list.complete}
            />
          )
        }
      </Shown>
      {item === undefined ? null : (
        <section className="item" aria-label={`Item ${item.id}`}>
          <div className="panel-head">
            <h3>Item {item.id}</h3>
            <button type="button" className="quiet" onClick={() => setPicked("")}>
              Close
            </button>
          </div>
          <StepFacts of={item} />
          <StepHistory run={run} step={item} of={history} output={item.output} />
        </section>
      )}
    </section>
  );
}

function columnsOf(onPick: (id: string) => void): readonly Column<Step>[] {
  return [
    {
      title: "Item",
      width: "minmax(7rem, 1fr)",
      cell: ({ id }) => (
        <button type="button" className="quiet step-name" onClick={() => onPick(id)}>
          {id}
        </button>
      ),
    },
    { title: "State", width: "10rem", cell: (item) => <Badge {...stepStatus(item)} /> },
    { title: "Attempt", width: "5rem", align: "end", cell: ({ attempt }) => attempt || "–" },
    { title: "Result", width: "minmax(12rem, 4fr)", cell: (item) => <Result of={item} /> },
  ];
}

/** The column cuts longer results; the item itself shows them in full. */
const RESULT_SHOWN = 300;

function Result({ of }: { readonly of: Step }) {
  const { error, output } = of;
  const failed = of.state === StepState.FAILED || output === undefined;
  if (failed && error !== undefined)
    return <CutText text={failureWords(error).slice(0, RESULT_SHOWN)} />;
  if (output?.body.case !== "json") return "–";
  return (
    <code>
      <Foreign text={output.body.value.slice(0, RESULT_SHOWN)} />
    </code>
  );
}

const URGENT: readonly StepState[] = [StepState.FAILED, StepState.ESCALATED];
const OTHERS: readonly StepState[] = [
  StepState.BLOCKED,
  StepState.READY,
  StepState.LEASED,
  StepState.BACKOFF,
  StepState.WAITING,
  StepState.VERIFYING,
  StepState.SUCCEEDED,
  StepState.SKIPPED,
  StepState.CANCELLED,
];
const PAGE = 200;
const TO_OTHERS = "others ";
const TO_URGENT = "urgent ";

/** Two lists, one after the other: the prefix of a token selects the list that it continues. */
async function loadItems(
  run: Run,
  stepId: string,
  from: string,
  signal: AbortSignal,
): Promise<ListPage<Step>> {
  const rows: Step[] = [];
  let next = from === "" ? TO_URGENT : from;
  // A page of certain states may be empty without being the last.
  while (rows.length < PAGE && next !== "") {
    const urgent = next.startsWith(TO_URGENT);
    const pageToken = next.slice(TO_URGENT.length);
    const states = [...(urgent ? URGENT : OTHERS)];
    const asked = { ...refOf(run), stepId, states, pageSize: PAGE, pageToken };
    const page = await scheduler.listItems(asked, { signal });
    rows.push(...page.items);
    if (page.nextPageToken !== "") next = `${urgent ? TO_URGENT : TO_OTHERS}${page.nextPageToken}`;
    else next = urgent ? TO_OTHERS : "";
  }
  return { rows, nextPageToken: next };
}
