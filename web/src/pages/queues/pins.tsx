// Pins of a queue: workflows whose tasks only agents of one version get.
import type { VersionPin } from "@drover/proto/drover/v1/queue_pb.ts";
import { operator } from "../../calls/clients.ts";
import { Act, written } from "../../parts/act.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Field } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";

const NAME = "[A-Za-z0-9._\\-]{1,128}";

interface PinsProps {
  readonly queue: string;
  readonly pins: readonly VersionPin[];
  readonly again: () => void;
}

/** `book-holiday`, `book-holiday v3` */
function pinned({ workflow, version }: Pick<VersionPin, "workflow" | "version">): string {
  return version === 0 ? workflow : `${workflow} v${version}`;
}

export function PinList({ queue, pins, again }: PinsProps) {
  return (
    <Panel title="Pins" beside={<PinAct queue={queue} again={again} />}>
      {pins.length === 0 ? (
        <p className="dim">Tasks of this queue go to agents of any version.</p>
      ) : (
        <DataTable
          name="Pins"
          columns={columns(queue, again)}
          rows={pins}
          keyOf={(pin) => pinned(pin)}
        />
      )}
    </Panel>
  );
}

const columns = (queue: string, again: () => void): readonly Column<VersionPin>[] => [
  { title: "Tasks of", width: "minmax(10rem, 2fr)", cell: pinned },
  {
    title: "Agent version",
    width: "minmax(9rem, 1fr)",
    cell: ({ agentVersion }) => agentVersion,
  },
  { title: "Pinned", width: "8rem", cell: ({ pinnedTime }) => <Ago at={pinnedTime} /> },
  {
    title: "Actions",
    width: "9rem",
    cell: (pin) => (
      <span className="acts">
        <UnpinAct queue={queue} pin={pin} again={again} />
      </span>
    ),
  },
];

function PinAct({ queue, again }: Omit<PinsProps, "pins">) {
  const namespace = useNamespace();
  return (
    <Act
      name="Pin a workflow"
      title={`Give tasks in ${queue} only to agents of one version?`}
      act="Pin"
      done={again}
      onAct={async (form) => {
        const version = Number(written(form, "version") || 0);
        const workflow = written(form, "workflow");
        const agentVersion = written(form, "agents");
        await operator.pinQueue({ namespace, queue, workflow, version, agentVersion });
        return `Tasks of ${pinned({ workflow, version })} go to agents of version ${agentVersion}.`;
      }}
    >
      <p>
        Tasks of the workflow in this queue are handed out only to agents of that version. Agents
        finish the tasks that they have.
      </p>
      <Field name="Workflow">
        <input name="workflow" required pattern={NAME} autoComplete="off" />
      </Field>
      <Field
        name="Version of the workflow"
        help="Empty: all versions that have no pin of their own."
      >
        <input name="version" type="number" min={0} />
      </Field>
      <Field name="Version of the agents">
        <input name="agents" required maxLength={128} autoComplete="off" />
      </Field>
    </Act>
  );
}

function UnpinAct(props: { readonly queue: string; readonly pin: VersionPin; again: () => void }) {
  const { queue, pin, again } = props;
  const namespace = useNamespace();
  const { workflow, version } = pin;
  return (
    <Act
      name="Unpin"
      label={`Unpin ${pinned(pin)}`}
      title={`Remove the pin of ${pinned(pin)}?`}
      act="Unpin"
      variant="quiet"
      done={again}
      onAct={async () => {
        await operator.unpinQueue({ namespace, queue, workflow, version });
        return `Tasks of ${pinned(pin)} go to any agent.`;
      }}
    >
      <p>Waiting tasks to which no other pin applies are handed to any agent at once.</p>
    </Act>
  );
}
