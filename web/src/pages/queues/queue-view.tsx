// One queue: its tasks and the agents that poll for them, its limits, and its pins.
import type { GetQueueResponse, Queue, QueueTask } from "@drover/proto/drover/v1/queue_pb.ts";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Act, written } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Field } from "../../parts/field.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { WhyField } from "../../parts/person-fields.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { limitWords } from "../../words/circuit-words.ts";
import { counted, numberWords } from "../../words/counts.ts";
import { CircuitActs, CircuitList } from "./circuits.tsx";
import { PinList } from "./pins.tsx";
import { queueStatus } from "./queue-list.tsx";
import { Standstill } from "./standstill.tsx";

const EVERY_MS = 2_000;

export function QueueView({ name }: { readonly name: string }) {
  const namespace = useNamespace();
  const seen = useCall(
    `queue ${namespace} ${name}`,
    (signal) => operator.getQueue({ namespace, queue: name }, { signal }),
    { everyMs: EVERY_MS },
  );
  return (
    <Shown of={seen} what="the queue" wholePage>
      {(answer) =>
        answer.queue === undefined ? null : (
          <Seen seen={answer} queue={answer.queue} again={seen.again} />
        )
      }
    </Shown>
  );
}

interface SeenProps {
  readonly seen: GetQueueResponse;
  readonly queue: Queue;
  readonly again: () => void;
}

function Seen({ seen, queue, again }: SeenProps) {
  const { pause, limits } = queue;
  const { namespacePause } = seen;
  const paused = pause ?? namespacePause;
  return (
    <>
      <PageHead
        title={queue.name}
        above={<Link href="/queues">Queues and agents</Link>}
        beside={<Badge {...queueStatus(queue, namespacePause)} />}
      >
        <PauseAct queue={queue} again={again} />
        <LimitAct queue={queue} again={again} />
      </PageHead>
      <Standstill of={seen} />
      <Panel title="Status">
        <Facts
          of={[
            ["Waiting", numberWords(queue.depth)],
            ["Oldest", <Ago key="oldest" at={queue.oldestTime} />],
            ["In progress", numberWords(queue.leased)],
            ["Agents that poll", numberWords(queue.agents)],
            ["Last poll", <Ago key="polled" at={queue.polledTime} />],
            ["Limits", limitWords(limits) || "none"],
            ["Paused", paused ? <Ago key="paused" at={paused.sinceTime} /> : null],
            ["Reason", paused?.reason],
            ["Namespace", namespacePause ? "all its queues are paused" : null],
          ]}
        />
      </Panel>
      <Panel title="Tasks">
        {seen.tasks.length === 0 ? (
          <EmptyState
            title="No task yet"
            text="No step and no agent has named a task of this queue."
          />
        ) : (
          <DataTable
            name="Tasks"
            columns={taskColumns(queue.name)}
            rows={seen.tasks}
            keyOf={({ task, agentVersion }) => `${task} ${agentVersion}`}
          />
        )}
      </Panel>
      <CircuitList queue={queue.name} />
      <PinList queue={queue.name} pins={seen.pins} again={again} />
    </>
  );
}

function taskColumns(queue: string): readonly Column<QueueTask>[] {
  return [
    { title: "Task", width: "minmax(9rem, 2fr)", cell: ({ task }) => task },
    {
      title: "For version",
      width: "minmax(5rem, 1fr)",
      cell: ({ agentVersion }) => agentVersion || "any",
    },
    { title: "Waiting", width: "4.5rem", align: "end", cell: ({ depth }) => numberWords(depth) },
    { title: "Oldest", width: "7rem", cell: ({ oldestTime }) => <Ago at={oldestTime} /> },
    {
      title: "In progress",
      width: "6.5rem",
      align: "end",
      cell: ({ leased }) => numberWords(leased),
    },
    {
      title: "Agents",
      width: "6rem",
      cell: ({ agents, depth }) =>
        agents === 0 && depth > 0 ? <Badge tone="warning" word="none" /> : numberWords(agents),
    },
    { title: "Last poll", width: "7rem", cell: ({ polledTime }) => <Ago at={polledTime} /> },
    {
      title: "Circuit",
      width: "12.5rem",
      cell: ({ task }) => <CircuitActs queue={queue} task={task} />,
    },
  ];
}

function PauseAct({ queue, again }: Omit<SeenProps, "seen">) {
  const namespace = useNamespace();
  const { name, pause, depth, leased } = queue;
  if (pause)
    return (
      <Act
        name="Resume"
        title={`Resume queue ${name}?`}
        variant="main"
        done={again}
        onAct={async () => {
          await operator.resumeQueue({ namespace, queue: name });
          return `Queue ${name} is resumed.`;
        }}
      >
        <p>{counted(depth, "task that waits", "tasks that wait")} may be handed out at once.</p>
      </Act>
    );
  return (
    <Act
      name="Pause"
      title={`Pause queue ${name}?`}
      done={again}
      onAct={async (form) => {
        await operator.pauseQueue({ namespace, queue: name, reason: written(form, "why") });
        return `Queue ${name} is paused.`;
      }}
    >
      <p>
        No server hands out new tasks of this queue. Agents finish the tasks that they have (
        {counted(leased, "task")} now). The timeouts of steps and runs continue.
      </p>
      <WhyField />
    </Act>
  );
}

function LimitAct({ queue, again }: Omit<SeenProps, "seen">) {
  const namespace = useNamespace();
  const { name, limits } = queue;
  const number = (form: FormData, field: string) => Number(written(form, field) || 0);
  return (
    <Act
      name="Limits"
      title={`Limits of queue ${name}`}
      act="Set the limits"
      done={again}
      onAct={async (form) => {
        const limits = {
          leased: number(form, "leased"),
          perSecond: number(form, "per-second"),
          burst: number(form, "burst"),
        };
        const answer = await operator.setQueueLimits({ namespace, queue: name, limits });
        return `Queue ${name} limits: ${limitWords(answer.queue?.limits) || "none"}.`;
      }}
    >
      <p>
        No server hands out more tasks than this. Agents keep the tasks that they have. An empty
        field means no limit.
      </p>
      <Field name="Most tasks in progress at a time">
        <input
          name="leased"
          type="number"
          min={0}
          max={1_000_000}
          defaultValue={limits?.leased || ""}
        />
      </Field>
      <Field name="Most tasks a second">
        <input
          name="per-second"
          type="number"
          min={0}
          max={100_000}
          step="any"
          defaultValue={limits?.perSecond || ""}
        />
      </Field>
      <Field name="Burst: most tasks at once" help="Empty: as many as in a second.">
        <input
          name="burst"
          type="number"
          min={0}
          max={100_000}
          defaultValue={limits?.burst || ""}
        />
      </Field>
    </Act>
  );
}
