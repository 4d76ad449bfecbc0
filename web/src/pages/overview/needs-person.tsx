// What needs attention: one line for each thing, the most serious first, with a link to where it is
// resolved.
import { CircuitState, type Cordon } from "@drover/proto/drover/v1/circuit_pb.ts";
import type { Activity, GetOverviewResponse } from "@drover/proto/drover/v1/overview_pb.ts";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/time.tsx";
import { failingWords, instanceWords, processWords } from "../../words/agent-words.ts";
import { counted } from "../../words/counts.ts";
import { agentAddress } from "../queues/agent-list.tsx";
import { useOpenApprovals } from "./open-approvals.tsx";
import { useOpenQuestions } from "./open-questions.tsx";
import { useSuspectSteps } from "./stuck-runs.tsx";

export interface Need {
  readonly key: string;
  readonly tone: Tone;
  readonly word: string;
  readonly text: ReactNode;
  readonly href: string;
  readonly act: string;
}

export function NeedsPerson({
  of,
  activity,
}: {
  readonly of: GetOverviewResponse;
  readonly activity: Activity | undefined;
}) {
  const questions = useOpenQuestions(of.openEscalations);
  const suspects = useSuspectSteps();
  const approvals = useOpenApprovals(activity);
  const needs = [...questions, ...approvals, ...needsOf(of), ...suspects];
  return (
    <Panel
      title="Needs attention"
      beside={
        needs.length === 0 ? null : <span className="dim">{counted(needs.length, "thing")}</span>
      }
    >
      {needs.length === 0 ? (
        <p className="all-well">
          <Icon name="ok" /> Nothing needs attention. All open runs are supervised.
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
        tone: "bad",
        word: "no agent",
        text: (
          <>
            No agent{agentVersion === "" ? "" : ` of version ${agentVersion}`} polls queue{" "}
            <b>{queue}</b> for <b>{task}</b>. The oldest task became ready <Ago at={oldestTime} />.
            {polledTime === undefined ? (
              ""
            ) : (
              <>
                {" "}
                The last poll was <Ago at={polledTime} />.
              </>
            )}
          </>
        ),
        href: `/queues/${queue}`,
        act: "See the queue",
      }),
    ),
    ...failingAgentsOf(of),
    ...cordonsOf(of),
    ...circuitsOf(of),
    ...regionsOf(of),
  ];
}

function failingAgentsOf({ failingAgents }: GetOverviewResponse): readonly Need[] {
  return failingAgents.map((agent): Need => {
    const { agentId, session, queue, task } = agent;
    return {
      key: `failing ${session.toHex()} ${queue} ${task}`,
      tone: "bad",
      word: "agent fails",
      text: (
        <>
          Agent <b>{agentId}</b> ({processWords(agent) || `instance ${instanceWords(session)}`}) at{" "}
          <b>{task}</b> of queue <b>{queue}</b>: {failingWords(agent)}
        </>
      ),
      href: agentAddress(agent),
      act: "See the agent",
    };
  });
}

function circuitsOf({ openCircuits }: GetOverviewResponse): readonly Need[] {
  return openCircuits.map(
    ({ queue, task, agentId, state, saw, why, setBy, setTime, sinceTime, tryTime }): Need => ({
      key: `circuit ${queue} ${task} ${agentId}`,
      tone: "warning",
      word: state === CircuitState.TRYING ? "probing" : "open circuit",
      text: (
        <>
          The circuit of <b>{task}</b> in queue <b>{queue}</b>
          {agentId === "" ? "" : ` for agent ${agentId}`} opened <Ago at={setTime ?? sinceTime} />
          {setTime === undefined ? because(saw) : `, set by ${setBy}${because(why)}`}.{" "}
          {setTime === undefined ? (
            <>
              {tryTime === undefined ? (
                "A probe task runs now"
              ) : (
                <>
                  The next probe task runs <Ago at={tryTime} />
                </>
              )}
              ; if it succeeds, the circuit closes.
            </>
          ) : null}
        </>
      ),
      href: `/queues/${queue}`,
      act: "See the circuit",
    }),
  );
}

function cordonsOf({ cordons }: GetOverviewResponse): readonly Need[] {
  return cordons.map(
    ({ of, sessionAgentId, cordonedBy, cordonedTime, why }): Need => ({
      key: `cordon ${of.case} ${nameOf(of)}`,
      tone: "paused",
      word: "cordoned",
      text: (
        <>
          {of.case === "version" ? "Agents of version" : "Agent"}{" "}
          <b>{of.case === "session" ? sessionAgentId : nameOf(of)}</b>
          {of.case === "session" ? ` (instance ${nameOf(of)}) ` : " "}
          {of.case === "version" ? "get" : "gets"} no new tasks since <Ago at={cordonedTime} />, set
          by {cordonedBy}
          {because(why)}.
        </>
      ),
      href: "/queues",
      act: of.case === "version" ? "Uncordon them" : "Uncordon it",
    }),
  );
}

/** `mail-1`, `2.0`, `3f2a91bc` */
function nameOf(of: Cordon["of"]): string {
  return of.case === "session" ? instanceWords(of.value) : (of.value ?? "");
}

/** `: moving house`; empty if no reason was given. */
function because(why: string): string {
  return why === "" ? "" : `: ${why}`;
}

function pausesOf(of: GetOverviewResponse): readonly Need[] {
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
                {because(namespacePause.reason)}.
              </>
            ),
            href: "/queues",
            act: "Resume it",
          },
        ]),
    ...[
      ...of.pausedQueues.map((one) => ({ ...one, what: "Queue", at: "/queues" })),
      ...of.pausedWorkflows.map((one) => ({ ...one, what: "Workflow", at: "/workflows" })),
    ].map(({ name, pause, schedules, what, at }) => ({
      ...({ key: `${what} ${name}`, tone: "paused", word: "paused" } as const),
      text: (
        <>
          {what} <b>{name}</b>, since <Ago at={pause?.sinceTime} />
          {schedules === 0 ? "" : `, holds ${counted(schedules, "schedule")}`}
          {because(pause?.reason ?? "")}.
        </>
      ),
      href: `${at}/${name}`,
      act: "Resume it",
    })),
  ];
}

function regionsOf({ lateRegions }: GetOverviewResponse): readonly Need[] {
  return lateRegions.map(({ region, partitions, unwatched, overdue }) => {
    const parts = [
      ...(unwatched > 0
        ? [
            `${unwatched} of ${counted(partitions, "partition")} of region ${region} without a supervisor (to start one: drover supervisor --region ${region})`,
          ]
        : []),
      ...(overdue > 0
        ? [`${counted(overdue, "partition")} of region ${region} with overdue work`]
        : []),
    ];
    return {
      key: `region ${region}`,
      tone: "bad",
      word: "supervision late",
      text: `${parts.join(", ")}.`,
      href: "/supervisors",
      act: "See the supervisors",
    };
  });
}
