// The tasks of a queue that do not move by themselves, why, and how to resolve that. It is at the
// top of the queue's page, because people search for it.

import { type Circuit, CircuitSetting } from "@drover/proto/drover/v1/circuit_pb.ts";
import type { GetQueueResponse, QueueTask } from "@drover/proto/drover/v1/queue_pb.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { counted } from "../../words/counts.ts";
import { LetThroughAct, useCircuits } from "./circuits.tsx";

export function Standstill({ of }: { readonly of: GetQueueResponse }) {
  const circuits = useCircuits();
  const { queue, namespacePause, tasks } = of;
  if (queue === undefined || (queue.pause ?? namespacePause) !== undefined) return null;
  const unserved = tasks.filter(({ agents, depth }) => agents === 0 && depth > 0);
  const open = circuits.kind === "loaded" ? circuits.value.filter(isOpenIn(queue.name)) : [];
  if (unserved.length + open.length === 0) return null;
  return (
    <Panel title="Why tasks wait here">
      <ul className="standstill">
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
