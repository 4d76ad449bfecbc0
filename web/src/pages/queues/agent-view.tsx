// One start of an agent: what it polls for, what it holds, and why it gets no tasks.
import type {
  AgentInfo,
  GetAgentResponse,
  HeldTask,
  TaskAttempts,
} from "@drover/proto/drover/v1/agent_info_pb.ts";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { attemptsWords, clockWords, processWords } from "../../words/agent-words.ts";
import { taskKindWords } from "../../words/attempt-words.ts";
import { circuitNote, circuitStatus } from "../../words/circuit-words.ts";
import { progressWords } from "../../words/progress-words.ts";
import { AgentInstances } from "./agent-instances.tsx";
import { agentStatus, asksFor, heldWords } from "./agent-list.tsx";
import { CordonActs, cordonWords } from "./cordons.tsx";

const EVERY_MS = 2_000;

export function AgentView({ session }: { readonly session: string }) {
  const namespace = useNamespace();
  const seen = useCall(
    `agent ${namespace} ${session}`,
    (signal) => operator.getAgent({ namespace, session: Uint8Array.fromHex(session) }, { signal }),
    { everyMs: EVERY_MS },
  );
  return (
    <Shown of={seen} what="the agent" wholePage>
      {(answer) =>
        answer.agent === undefined ? null : (
          <Seen agent={answer.agent} tasks={answer.tasks} again={seen.again} />
        )
      }
    </Shown>
  );
}

interface SeenProps extends Pick<GetAgentResponse, "tasks"> {
  readonly agent: AgentInfo;
  readonly again: () => void;
}

function Seen({ agent, tasks, again }: SeenProps) {
  const clock = clockWords(agent);
  return (
    <>
      <PageHead
        title={agent.id}
        above={<Link href="/queues">Queues and agents</Link>}
        beside={<Badge {...agentStatus(agent)} />}
      >
        <CordonActs agent={agent} again={again} />
      </PageHead>
      <Panel title="Agent">
        <Facts
          of={[
            ["Version", agent.version],
            ["Process", processWords(agent) || "–"],
            ["Started", <Ago key="started" at={agent.startedTime} />],
            ["Clock", clock === "" ? null : `${clock}; run NTP on its machine`],
            ["Polls for", asksFor(agent)],
            ["In progress", heldWords(agent)],
            ["Server", agent.server],
            ["Session", <code key="session">{agent.session.toHex()}</code>],
            ["First seen", <Ago key="first" at={agent.firstSeenTime} />],
            ["Last seen", <Ago key="last" at={agent.lastSeenTime} />],
            ["Last heartbeat", <Ago key="heartbeat" at={agent.lastHeartbeatTime} />],
            ["Last success", <Ago key="success" at={agent.lastSuccessTime} />],
            ["Attempts in the last hour", attemptsWords(agent.attempts) || "none"],
            ...Object.entries(agent.labels).map(([name, value]) => [name, value] as const),
            ...restrictionFacts(agent),
          ]}
        />
      </Panel>
      <AgentInstances agent={agent} />
      {agent.taskAttempts.length > 0 && (
        <Panel title="Attempts in the last hour">
          <DataTable
            name="Attempts by task"
            columns={attemptColumns}
            rows={agent.taskAttempts}
            keyOf={({ queue, task }) => `${queue} ${task}`}
          />
        </Panel>
      )}
      <Panel title="Tasks in progress">
        {tasks.length === 0 ? (
          <EmptyState
            title="No tasks in progress"
            text="Its next poll gets the tasks that wait for it."
          />
        ) : (
          <DataTable
            name="Tasks in progress"
            columns={columns}
            rows={tasks}
            keyOf={({ runId, stepId, fence }) => `${runId} ${stepId} ${fence}`}
            hrefOf={({ runId }) => `/runs/${runId}`}
          />
        )}
      </Panel>
    </>
  );
}

/** Why it gets no tasks, or not all. */
function restrictionFacts({ circuits, cordons }: AgentInfo) {
  return [
    ...cordons.map((one, n) => [`Cordoned${n === 0 ? "" : " also"}`, cordonWords(one)] as const),
    ...circuits.map(
      (one) =>
        [`Circuit of ${one.task}`, `${circuitStatus(one).word}; ${circuitNote(one)}`] as const,
    ),
  ];
}

const attemptColumns: readonly Column<TaskAttempts>[] = [
  { title: "Task", width: "minmax(8rem, 2fr)", cell: ({ task, queue }) => `${task} in ${queue}` },
  { title: "Ended", width: "6rem", align: "end", cell: ({ attempts }) => attempts?.ended ?? 0 },
  { title: "Failed", width: "6rem", align: "end", cell: ({ attempts }) => attempts?.failed ?? 0 },
  { title: "Unknown", width: "6rem", align: "end", cell: ({ attempts }) => attempts?.unknown ?? 0 },
];

const columns: readonly Column<HeldTask>[] = [
  {
    title: "Step",
    width: "minmax(10rem, 1.5fr)",
    cell: ({ runId, stepId, workflow }) => (
      <Link href={`/runs/${runId}`}>
        {stepId} of {workflow}
      </Link>
    ),
  },
  { title: "Kind", width: "5.5rem", cell: ({ kind }) => taskKindWords(kind) },
  { title: "Task", width: "minmax(8rem, 1fr)", cell: ({ task, queue }) => `${task} in ${queue}` },
  { title: "Attempt", width: "5rem", align: "end", cell: ({ attempt }) => attempt },
  { title: "Since", width: "7rem", cell: ({ grantedTime }) => <Ago at={grantedTime} /> },
  {
    title: "Until",
    width: "7rem",
    cell: ({ attemptDeadlineTime }) => <Ago at={attemptDeadlineTime} />,
  },
  {
    title: "Progress",
    width: "minmax(7rem, 1fr)",
    cell: ({ progress, cancelling }) =>
      cancelling ? <Badge tone="undo" word="asked to stop" /> : progressWords(progress) || "–",
  },
];
