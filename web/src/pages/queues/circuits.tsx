// Circuits: what rests because nearly all of its tasks fail, and what a person says of it.
import { type Circuit, CircuitSetting } from "@drover/proto/drover/v1/circuit_pb.ts";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Act } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { PersonFields, personOf } from "../../parts/person-fields.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { circuitNote, circuitStanding } from "../../words/circuit-words.ts";

const LISTED_MAX = 1_000;
const EVERY_MS = 2_000;

interface Which {
  readonly queue: string;
  readonly task: string;
  /** Empty: the circuit of the task, for all agents. */
  readonly agentId?: string;
}

function useCircuits() {
  const namespace = useNamespace();
  return useCall(
    `circuits ${namespace}`,
    async (signal) => {
      const answer = await operator.listCircuits({ namespace, pageSize: LISTED_MAX }, { signal });
      return answer.circuits;
    },
    { everyMs: EVERY_MS },
  );
}

/** Those that are open, or that a person has moved: of all queues, or of this one. */
export function CircuitList({ queue }: { readonly queue?: string }) {
  const seen = useCircuits();
  return (
    <Panel title="Circuits">
      <Shown of={seen} what="the circuits">
        {(all) => {
          const shown = all.filter((one) => queue === undefined || one.queue === queue);
          return shown.length === 0 ? (
            <p className="dim">
              Every circuit is closed. A task that fails for nearly all of its tries rests here
              until one succeeds.
            </p>
          ) : (
            <DataTable
              name="Circuits"
              columns={columns(seen.again)}
              rows={shown}
              keyOf={(one) => [one.queue, one.task, one.agentId, one.agentVersion].join(" ")}
            />
          );
        }}
      </Shown>
    </Panel>
  );
}

const columns = (again: () => void): readonly Column<Circuit>[] => [
  {
    title: "Task",
    width: "minmax(9rem, 1.2fr)",
    cell: ({ queue, task, agentVersion }) => (
      <Link href={`/queues/${queue}`}>
        {task} in {queue}
        {agentVersion === "" ? "" : `, version ${agentVersion}`}
      </Link>
    ),
  },
  { title: "Of", width: "minmax(6rem, 8rem)", cell: ({ agentId }) => agentId || "all agents" },
  { title: "Stands", width: "11rem", cell: (one) => <Badge {...circuitStanding(one)} /> },
  {
    title: "Since",
    width: "6.5rem",
    cell: ({ setTime, sinceTime }) => <Ago at={setTime ?? sinceTime} />,
  },
  {
    title: "Because",
    width: "minmax(10rem, 2fr)",
    cell: (one) => <span title={circuitNote(one)}>{circuitNote(one)}</span>,
  },
  {
    title: "What you can say",
    width: "13.5rem",
    cell: (one) => (
      <CircuitActs {...one} said={one.setting !== CircuitSetting.UNSPECIFIED} done={again} />
    ),
  },
];

interface Saying {
  readonly setting: CircuitSetting;
  readonly name: string;
  readonly happens: string;
  readonly done: string;
}

const SAYINGS = {
  open: {
    setting: CircuitSetting.OPEN,
    name: "Hold open",
    happens:
      "Nothing goes through and nothing tries, until it is released. Steps that wait behind it do not use up their total time.",
    done: "is held open",
  },
  close: {
    setting: CircuitSetting.CLOSED,
    name: "Hold closed",
    happens: "Everything goes through, whatever fails, until it is released.",
    done: "is held closed",
  },
  release: {
    setting: CircuitSetting.UNSPECIFIED,
    name: "Release",
    happens:
      "What a person said of it is taken back: it is closed, and the supervisor decides by what comes.",
    done: "is released",
  },
} as const satisfies Readonly<Record<string, Saying>>;

/** The buttons; `said`: a person holds it already. */
export function CircuitActs(
  props: Which & { readonly said?: boolean; readonly done?: () => void },
) {
  const { queue, task, agentId = "", said = false, done } = props;
  const namespace = useNamespace();
  const which = said ? (["release"] as const) : (["open", "close"] as const);
  const whose = agentId === "" ? "" : ` of agent ${agentId}`;
  return (
    <span className="acts">
      {which.map((one) => {
        const { setting, name, happens, done: did } = SAYINGS[one];
        return (
          <Act
            key={one}
            name={name}
            label={`${name} the circuit of ${task}${whose}`}
            title={`${name} the circuit of ${task} in ${queue}${whose}?`}
            act={name}
            look="quiet"
            {...(done ? { done } : {})}
            onAct={async (form) => {
              const { by, why } = personOf(form);
              await operator.setCircuit({ namespace, queue, task, agentId, setting, by, why });
              return `The circuit of ${task}${whose} ${did}.`;
            }}
          >
            <p>{happens} On every server within a second; what agents have goes on.</p>
            <PersonFields why="optional" />
          </Act>
        );
      })}
    </span>
  );
}
