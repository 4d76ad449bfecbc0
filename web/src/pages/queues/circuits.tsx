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
              All circuits are closed. A circuit opens when nearly all attempts of a task fail.
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
  { title: "Agent", width: "minmax(6rem, 8rem)", cell: ({ agentId }) => agentId || "all agents" },
  { title: "State", width: "11rem", cell: (one) => <Badge {...circuitStatus(one)} /> },
  {
    title: "Since",
    width: "6.5rem",
    cell: ({ setTime, sinceTime }) => <Ago at={setTime ?? sinceTime} />,
  },
  {
    title: "Reason",
    width: "minmax(10rem, 2fr)",
    cell: (one) => <CutText text={circuitNote(one)} />,
  },
  {
    title: "Actions",
    width: "13.5rem",
    cell: (one) => (
      <CircuitActs {...one} isSet={one.setting !== CircuitSetting.UNSPECIFIED} done={again} />
    ),
  },
];

interface Choice {
  readonly setting: CircuitSetting;
  readonly name: string;
  readonly happens: string;
  readonly done: string;
}

const CHOICES = {
  open: {
    setting: CircuitSetting.OPEN,
    name: "Open circuit",
    happens:
      "No task is handed out and no probe runs until you release the circuit. Steps that wait for it do not use up their total time.",
    done: "is held open",
  },
  close: {
    setting: CircuitSetting.CLOSED,
    name: "Keep closed",
    happens:
      "All tasks are handed out at once, however many fail, until you release the circuit. Release it once the task works, so that the circuit can open again.",
    done: "is kept closed",
  },
  release: {
    setting: CircuitSetting.UNSPECIFIED,
    name: "Release",
    happens:
      "Your setting is removed: the circuit is closed, and opens again when nearly all attempts fail.",
    done: "is released",
  },
} as const satisfies Readonly<Record<string, Choice>>;

interface ChoiceProps extends Which {
  readonly choice: Choice;
  /** The style of the button on the page; left out: a plain button. */
  readonly variant?: "main" | "quiet";
  readonly done?: () => void;
}

function ChoiceAct({ queue, task, agentId = "", choice, variant, done }: ChoiceProps) {
  const namespace = useNamespace();
  const { setting, name, happens, done: did } = choice;
  const forAgent = agentId === "" ? "" : ` for agent ${agentId}`;
  return (
    <Act
      name={name}
      label={`${name}: ${task}${forAgent}`}
      title={`${name}: ${task} in ${queue}${forAgent}?`}
      act={name}
      {...(variant ? { variant } : {})}
      {...(done ? { done } : {})}
      onAct={async (form) => {
        const { by, why } = personOf(form);
        await operator.setCircuit({ namespace, queue, task, agentId, setting, by, why });
        return `The circuit of ${task}${forAgent} ${did}.`;
      }}
    >
      <p>
        {happens} All servers apply this within a second; agents finish the tasks that they have.
      </p>
      <PersonFields why="optional" />
    </Act>
  );
}

/**
 * For a person who knows that the service is back, and does not want to wait for the next probe.
 */
export function LetThroughAct({ of, done }: { readonly of: Which; readonly done: () => void }) {
  const choice = { ...CHOICES.close, name: "Close circuit" };
  return <ChoiceAct {...of} choice={choice} variant="main" done={done} />;
}

/** The buttons of a circuit; `isSet`: a person has set it. */
export function CircuitActs(
  props: Which & { readonly isSet?: boolean; readonly done?: () => void },
) {
  const { isSet = false, ...of } = props;
  const which = isSet ? (["release"] as const) : (["open", "close"] as const);
  return (
    <span className="acts">
      {which.map((one) => (
        <ChoiceAct key={one} {...of} choice={CHOICES[one]} variant="quiet" />
      ))}
    </span>
  );
}
