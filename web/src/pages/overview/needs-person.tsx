// What needs a person: one line for each thing, the gravest first, and where it is put right.
import { CircuitState } from "@drover/proto/drover/v1/circuit_pb.ts";
import type { GetOverviewResponse } from "@drover/proto/drover/v1/overview_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { counted } from "../../words/counts.ts";

interface Need {
  readonly key: string;
  readonly tone: Tone;
  readonly word: string;
  readonly text: ReactNode;
  readonly href: string;
  readonly act: string;
}

export function NeedsPerson({ of }: { readonly of: GetOverviewResponse }) {
  const stuck = useStuckRuns();
  // Each of a few is named; of many it is said how many there are.
  const few = of.openEscalations <= stuck.length;
  const needs = [...(few ? [] : escalationsOf(of)), ...stuck, ...needsOf(of)];
  return (
    <Panel
      title="What needs a person"
      beside={
        needs.length === 0 ? null : <span className="dim">{counted(needs.length, "thing")}</span>
      }
    >
      {needs.length === 0 ? (
        <p className="all-well">
          <Icon name="ok" /> Nothing needs you. Everything that is under way is being looked after.
        </p>
      ) : (
        <ul className="needs">
          {needs.map(({ key, tone, word, text, href, act }) => (
            <li key={key}>
              <Badge tone={tone} word={word} />
              <span>{text}</span>
              <Link href={href}>{act}</Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function needsOf(of: GetOverviewResponse): readonly Need[] {
  return [
    ...pausesOf(of),
    ...of.unservedTasks.map(
      ({ queue, task, oldestTime, polledTime, agentVersion }): Need => ({
        key: `unserved ${queue} ${task} ${agentVersion}`,
        ...{ tone: "bad", word: "no agent" },
        text: (
          <>
            Nobody asks queue <b>{queue}</b> for <b>{task}</b>
            {agentVersion === "" ? "" : ` of version ${agentVersion}`}; the oldest waits since{" "}
            <Ago at={oldestTime} />
            {polledTime === undefined ? (
              ""
            ) : (
              <>
                {" "}
                and agents were last seen <Ago at={polledTime} />
              </>
            )}
            .
          </>
        ),
        ...{ href: `/queues/${queue}`, act: "Look at the queue" },
      }),
    ),
    ...of.openCircuits.map(
      ({ queue, task, agentId, state, saw, sinceTime }): Need => ({
        key: `circuit ${queue} ${task} ${agentId}`,
        ...{
          tone: "warning",
          word: state === CircuitState.TRYING ? "circuit tries" : "open circuit",
        },
        text: (
          <>
            Nothing of <b>{task}</b> in queue <b>{queue}</b> goes{" "}
            {agentId === "" ? "through" : `to the agent ${agentId}`} since <Ago at={sinceTime} />
            {saw === "" ? "" : `: ${saw}`}.
          </>
        ),
        ...{ href: `/queues/${queue}`, act: "Look at the circuit" },
      }),
    ),
    ...partitionsOf(of),
  ];
}

function escalationsOf({ openEscalations }: GetOverviewResponse): readonly Need[] {
  if (openEscalations === 0) return [];
  const many = openEscalations >= 10_000 ? "10,000 or more" : counted(openEscalations, "question");
  return [
    {
      ...{ key: "escalations", tone: "warning", word: "questions" },
      text: `${many} can only be answered by a person.`,
      ...{ href: "/escalations", act: "Answer" },
    },
  ];
}

function pausesOf(of: GetOverviewResponse): readonly Need[] {
  const why = (reason: string) => (reason === "" ? "" : `: ${reason}`);
  const { namespacePause } = of;
  return [
    ...(namespacePause === undefined
      ? []
      : [
          {
            ...({ key: "namespace", tone: "paused", word: "paused" } as const),
            text: (
              <>
                The whole namespace, since <Ago at={namespacePause.sinceTime} />
                {why(namespacePause.reason)}.
              </>
            ),
            ...{ href: "/queues", act: "Resume it" },
          },
        ]),
    ...[
      ...of.pausedQueues.map((one) => ({ ...one, what: "Queue", at: "/queues" })),
      ...of.pausedWorkflows.map((one) => ({ ...one, what: "Workflow", at: "/workflows" })),
    ].map(({ name, pause, what, at }) => ({
      ...({ key: `${what} ${name}`, tone: "paused", word: "paused" } as const),
      text: (
        <>
          {what} <b>{name}</b>, since <Ago at={pause?.sinceTime} />
          {why(pause?.reason ?? "")}.
        </>
      ),
      ...{ href: `${at}/${name}`, act: "Resume it" },
    })),
  ];
}

function partitionsOf({ latePartitions }: GetOverviewResponse): readonly Need[] {
  const unwatched = latePartitions.filter(({ watched }) => !watched).length;
  const late = latePartitions.length - unwatched;
  if (latePartitions.length === 0) return [];
  const said = [
    ...(unwatched > 0 ? [`${counted(unwatched, "partition")} of runs watched by nobody`] : []),
    ...(late > 0 ? [`${counted(late, "partition")} with overdue work`] : []),
  ];
  return [
    {
      ...{ key: "partitions", tone: "bad", word: "supervision late" },
      text: `${said.join(", ")}.`,
      ...{ href: "/supervisors", act: "Look at the supervisors" },
    },
  ];
}

const STUCK_RUNS_MAX = 5;
const LOOK_AGAIN_MS = 10_000;

/** Runs that stand still for a person, by name, so that one click leads to each. */
function useStuckRuns(): readonly Need[] {
  const namespace = useNamespace();
  const found = useCall(
    `stuck ${namespace}`,
    (signal) =>
      scheduler.listRuns(
        { namespace, filter: { states: [RunState.ESCALATED] }, pageSize: STUCK_RUNS_MAX },
        { signal },
      ),
    { everyMs: LOOK_AGAIN_MS },
  );
  if (found.kind !== "loaded") return [];
  return found.value.runs.map((run) => ({
    ...({ key: `run ${run.runId}`, tone: "warning", word: "stuck run" } as const),
    text: (
      <>
        <b>{run.key || run.runId}</b> of {run.workflow} cannot move without a person.
      </>
    ),
    ...{ href: `/runs/${run.runId}`, act: "Answer it" },
  }));
}
