// The items of a map as a table: first those that failed or need a person, then all others in the
// order of the list.
import { type Run, type Step, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { useMemo, useRef } from "react";
import { scheduler } from "../../calls/clients.ts";
import { type ListPage, useList } from "../../calls/use-list.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { CutText, Foreign } from "../../parts/foreign.tsx";
import { Shown } from "../../parts/states.tsx";
import { failureWords } from "../../words/attempt-words.ts";
import { counted, numberWords } from "../../words/counts.ts";
import { isFinal, stepStatus } from "../../words/run-words.ts";
import { placeOf } from "../../words/step-name.ts";
import type { Picked } from "./run-address.ts";
import { refOf } from "./run-ref.ts";

const idOf = ({ id }: Step) => id;
const AGAIN_MS = 2_000;

export function RunItems(props: {
  readonly run: Run;
  readonly step: Step;
  readonly onPick: (picked: Picked) => void;
}) {
  const { run, step, onPick } = props;
  const open = !isFinal(run.state);
  const list = useList(
    `items ${run.runId} ${step.id} ${step.state} ${step.undoState}`,
    (pageToken, signal) => loadItems(run, step.id, pageToken, signal),
    open ? { everyMs: AGAIN_MS } : {},
  );
  // A new function each time would draw all rows again.
  const pick = useRef(onPick);
  pick.current = onPick;
  const columns = useMemo(() => columnsOf((id) => pick.current(placeOf(id))), []);
  return (
    <section className="items">
      <h3>Items</h3>
      <Shown of={{ ...list.state, again: list.again }} what="the items">
        {() =>
          list.rows.length === 0 ? (
            <p className="dim">No item has started.</p>
          ) : (
            <>
              <p className="dim">
                {shownWords(list.rows.length, step.items?.total ?? list.rows.length, list.complete)}
              </p>
              <DataTable
                name={`Items of ${step.id}`}
                columns={columns}
                rows={list.rows}
                keyOf={idOf}
                onEnd={list.more}
                complete={list.complete}
              />
            </>
          )
        }
      </Shown>
    </section>
  );
}

/** Items that have not started are in no list. */
function shownWords(shown: number, total: number, complete: boolean): string {
  const of = `${numberWords(shown)} of ${counted(total, "item")}`;
  if (!complete) return `Showing ${of}, failed ones first. Scroll down for more.`;
  return shown < total
    ? `Showing ${of}, failed ones first; the others have not started.`
    : `All ${counted(total, "item")}, failed ones first.`;
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
const PAGE = 50;
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
