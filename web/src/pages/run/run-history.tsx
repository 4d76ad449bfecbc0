// What happened to the run and when, newest first, and the whole of it as a file.
import { toJsonString } from "@bufbuild/protobuf";
import type { Run } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type GetRunResponse,
  GetRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useMemo, useRef, useState } from "react";
import { scheduler } from "../../calls/clients.ts";
import { type Problem, problemOf } from "../../calls/problem.ts";
import type { Loaded } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { CutText } from "../../parts/foreign.tsx";
import { Panel } from "../../parts/panel.tsx";
import { ProblemText, Shown } from "../../parts/states.tsx";
import { counted } from "../../words/counts.ts";
import { clockTime, durationWords, exactTime } from "../../words/time-words.ts";
import { eventsOf, type HistoryEvent } from "./history-events.ts";
import { LeftOut } from "./left-out.tsx";
import { refOf } from "./run-ref.ts";
import { msOf } from "./timeline-rows.ts";

interface RunHistoryProps {
  readonly run: Run;
  readonly history: Loaded<GetRunResponse>;
  readonly onPick: (step: string) => void;
}

export function RunHistory({ run, history, onPick }: RunHistoryProps) {
  return (
    <Panel title="History" beside={<Download run={run} />}>
      <Shown of={history} what="the history">
        {(value) => <Events of={value} onPick={onPick} />}
      </Shown>
    </Panel>
  );
}

function Events(props: Pick<RunHistoryProps, "onPick"> & { readonly of: GetRunResponse }) {
  const { of, onPick } = props;
  const events = useMemo(() => eventsOf(of), [of]);
  // A new function each time would draw all rows again.
  const pick = useRef(onPick);
  pick.current = onPick;
  const fromMs = msOf(of.run?.createdTime);
  const columns = useMemo(() => columnsOf(fromMs, (step) => pick.current(step)), [fromMs]);
  return (
    <>
      <p className="dim">{counted(events.length, "event")}, newest first.</p>
      <LeftOut of={of} />
      <DataTable name="History" columns={columns} rows={events} keyOf={keyOf} />
    </>
  );
}

const keyOf = ({ key }: HistoryEvent) => key;

function columnsOf(
  fromMs: number,
  onPick: (step: string) => void,
): readonly Column<HistoryEvent>[] {
  return [
    {
      title: "Time",
      width: "8rem",
      cell: ({ atMs }) => (
        <time className="number" dateTime={new Date(atMs).toISOString()} title={exactTime(atMs)}>
          {clockTime(atMs)}
        </time>
      ),
    },
    {
      title: "After",
      width: "6.5rem",
      align: "end",
      cell: ({ atMs }) => durationWords(Math.max(0, atMs - fromMs)),
    },
    {
      title: "Step",
      width: "minmax(7rem, 1.5fr)",
      cell: ({ stepId }) =>
        stepId === "" ? (
          <span className="dim">the run</span>
        ) : (
          <button
            type="button"
            className="quiet step-name"
            title={stepId}
            onClick={() => onPick(stepId)}
          >
            {stepId}
          </button>
        ),
    },
    {
      title: "Event",
      width: "minmax(19rem, 2fr)",
      cell: ({ what }) => <Badge {...what} />,
    },
    {
      title: "Detail",
      width: "minmax(14rem, 4fr)",
      cell: ({ detail }) => (detail === "" ? "" : <CutText text={detail} />),
    },
  ];
}

const WITH_EVERYTHING = {
  includeAttempts: true,
  includeInterventions: true,
  includeEscalations: true,
  includeSignals: true,
  includeDecisions: true,
  includeSettings: true,
  includeDefinition: true,
};

function Download({ run }: { readonly run: Run }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const download = async () => {
    setProblem(null);
    const answer = await scheduler.getRun({ ...refOf(run), ...WITH_EVERYTHING });
    const json = toJsonString(GetRunResponseSchema, answer, { prettySpaces: 2 });
    saveFile(`run-${run.runId}.json`, json);
  };
  return (
    <>
      <button
        type="button"
        onClick={() => void download().catch((error: unknown) => setProblem(problemOf(error)))}
      >
        Download JSON
      </button>
      {problem === null ? null : (
        <div role="alert">
          <ProblemText problem={problem} />
        </div>
      )}
    </>
  );
}

function saveFile(name: string, json: string): void {
  const address = URL.createObjectURL(new Blob([json], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
