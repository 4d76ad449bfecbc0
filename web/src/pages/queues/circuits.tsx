// Circuit breakers: what gets no tasks because almost all of them fail, and the settings of people.

import { type Circuit, CircuitSetting } from "@drover/proto/drover/v1/circuit_pb.ts";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Act } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { CutText } from "../../parts/foreign.tsx";
import { Panel } from "../../parts/panel.tsx";
import { PersonFields, personOf } from "../../parts/person-fields.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { circuitNote, circuitStatus } from "../../words/circuit-words.ts";

const LISTED_MAX = 1_000;
const EVERY_MS = 2_000;

interface Which {
  readonly queue: string;
  readonly task: string;
  /** Empty: the circuit of the task, for all agents. */
  readonly agentId?: string;
}

export function useCircuits() {
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

/** Circuits that are open, or that a person has set: of all queues, or of one. */
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
  { title: "State", width: "11rem", cell: (one) => <Badge {...circuitStatus(one)} /> },
  {
    title: "Since",
    width: "6.5rem",
    cell: ({ setTime, sinceTime }) => <Ago at={setTime ?? sinceTime} />,
  },
  {
    title: "Because",
    width: "minmax(10rem, 2fr)",
    cell: (one) => <CutText text={circuitNote(one)} />,
  },
  {
    title: "What you can say",
    width: "13.5rem",
    cell: (one) => (
      <CircuitActs {...one} isSet={one.setting !== CircuitSetting.UNSPECIFIED} done={again} />
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
    happens:
      "Everything goes through at once, whatever fails, until it is released: release it when it is calm, so that it may open again.",
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

interface SayProps extends Which {
  readonly saying: Saying;
  /** The look of the button on the page; left out: a plain button. */
  readonly look?: "main" | "quiet";
  readonly done?: () => void;
}

function SayAct({ queue, task, agentId = "", saying, look, done }: SayProps) {
  const namespace = useNamespace();
  const { setting, name, happens, done: did } = saying;
  const whose = agentId === "" ? "" : ` of agent ${agentId}`;
  return (
    <Act
      name={name}
      label={`${name} the circuit of ${task}${whose}`}
      title={`${name} the circuit of ${task} in ${queue}${whose}?`}
      act={name}
      {...(look ? { look } : {})}
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
}

/**
 * For a person who knows that the service is back, and does not want to wait for the next probe.
 */
export function LetThroughAct({ of, done }: { readonly of: Which; readonly done: () => void }) {
  const saying = { ...SAYINGS.close, name: "Let tasks through" };
  return <SayAct {...of} saying={saying} look="main" done={done} />;
}

/** The buttons of a circuit; `said`: a person has set it. */
export function CircuitActs(
  props: Which & { readonly isSet?: boolean; readonly done?: () => void },
) {
  const { isSet = false, ...of } = props;
  const which = isSet ? (["release"] as const) : (["open", "close"] as const);
  return (
    <span className="acts">
      {which.map((one) => (
        <SayAct key={one} {...of} saying={SAYINGS[one]} look="quiet" />
      ))}
    </span>
  );
}
