// The tasks of a queue that do not move by themselves, why, and how to resolve that. It is at the
// top of the queue's page, because people search for it.

import { type Circuit, CircuitSetting } from "@drover/proto/drover/v1/circuit_pb.ts";
import type {
  GetQueueResponse,
  QueueHolders,
  QueueTask,
} from "@drover/proto/drover/v1/queue_pb.ts";
import { Fragment } from "react";
import { Link } from "wouter";
import { Foreign } from "../../parts/foreign.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { counted } from "../../words/counts.ts";
import { runsHref } from "../runs/run-filter.ts";
import { LetThroughAct, useCircuits } from "./circuits.tsx";

export function Standstill({ of }: { readonly of: GetQueueResponse }) {
  const circuits = useCircuits();
  const { queue, namespacePause, tasks, holders } = of;
  if (queue === undefined || (queue.pause ?? namespacePause) !== undefined) return null;
  const unserved = tasks.filter(({ agents, depth }) => agents === 0 && depth > 0);
  const open = circuits.kind === "loaded" ? circuits.value.filter(isOpenIn(queue.name)) : [];
  if (unserved.length + open.length === 0 && holders === undefined) return null;
  return (
    <Panel title="Why tasks wait here">
      <ul className="standstill">
        {holders === undefined ? null : (
          <li>
            <Busy of={holders} depth={queue.depth} />
          </li>
        )}
        {unserved.map((task) => (
          <li key={`${task.task} ${task.agentVersion}`}>
            <Unserved of={task} queue={queue.name} />
          </li>
        ))}
        {open.map((circuit) => (
          <li key={`circuit ${circuit.task} ${circuit.agentVersion}`}>
            <OpenCircuit of={circuit} again={circuits.again} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Opened by the rules, for all agents; a circuit that a person holds open is shown elsewhere. */
const isOpenIn = (queue: string) => (one: Circuit) =>
  one.queue === queue && one.agentId === "" && one.setting === CircuitSetting.UNSPECIFIED;

function Unserved({ of, queue }: { readonly of: QueueTask; readonly queue: string }) {
  const namespace = useNamespace();
  const { task, depth, agentVersion } = of;
  const waits = counted(depth, "task waits", "tasks wait");
  return (
    <>
      <p>
        <b>{task}</b>:{" "}
        {agentVersion === ""
          ? `${waits}, and no agent polls for it. Start one:`
          : `${waits} for an agent of version ${agentVersion} because of a pin, and none polls for it. Remove the pin below, or start an agent of that version:`}
      </p>
      <pre>{`createAgent({ address: "${location.host}", namespace: "${namespace}", queues: ["${queue}"], handlers: { "${task}": … } })`}</pre>
    </>
  );
}

function Busy({ of, depth }: { readonly of: QueueHolders; readonly depth: number }) {
  const { tasks, more, lastGrantedTime, shares } = of;
  return (
    <p>
      {counted(depth, "task waits", "tasks wait")} while agents hold{" "}
      {more ? `more than ${tasks}; of ${tasks} of these, each is held` : `${tasks}, each`} for{" "}
      <Lasted from={lastGrantedTime} /> or longer.
      {shares.map(({ label, value, tasks: some }, at) => (
        <Fragment key={`${label} ${value}`}>
          {at === 0 ? " Of these, " : ", "}
          {some} {label === "" ? "are of workflow" : "have the label"}{" "}
          <Link href={runsHref(`waits:working ${field(label)}${JSON.stringify(value)}`)}>
            <Foreign text={label === "" ? value : `${label}=${value}`} />
          </Link>
        </Fragment>
      ))}
      {shares.length === 0 ? "" : "."} To serve the others, start another agent.
    </p>
  );
}

function field(label: string): string {
  return label === "" ? "workflow:" : `label.${label}=`;
}

function OpenCircuit({ of, again }: { readonly of: Circuit; readonly again: () => void }) {
  const { task, saw, tryTime } = of;
  return (
    <p>
      The circuit of <b>{task}</b> is open: <Foreign text={saw} />.{" "}
      {tryTime === undefined ? (
        "A probe task runs now"
      ) : (
        <>
          The next probe task runs <Ago at={tryTime} />
        </>
      )}
      ; if it succeeds, the circuit closes. Is the task repaired already?{" "}
      <LetThroughAct of={of} done={again} />
    </p>
  );
}
