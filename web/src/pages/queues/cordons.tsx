// Cordons: agents, and versions of agents, that get no new tasks.
import type { AgentInfo } from "@drover/proto/drover/v1/agent_info_pb.ts";
import type { Cordon } from "@drover/proto/drover/v1/circuit_pb.ts";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Act } from "../../parts/act.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { PersonFields, personOf } from "../../parts/person-fields.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";

const EVERY_MS = 3_000;

type Of = Cordon["of"];

/** `agent mail-1`, `version 2.0` */
function agentWords(of: Of): string {
  if (of.case === "agentId") return `agent ${of.value}`;
  return of.case === "version" ? `agents of version ${of.value}` : "agents";
}

/** `agents of version 2.0, by ada: rolled back` */
export function cordonWords({ of, cordonedBy, why }: Cordon): string {
  return `${agentWords(of)}, by ${cordonedBy}${why === "" ? "" : `: ${why}`}`;
}

export function CordonList() {
  const namespace = useNamespace();
  const seen = useCall(
    `cordons ${namespace}`,
    async (signal) => (await operator.listCordons({ namespace }, { signal })).cordons,
    { everyMs: EVERY_MS },
  );
  return (
    <Panel title="Cordons">
      <Shown of={seen} what="the cordons">
        {(cordons) =>
          cordons.length === 0 ? (
            <p className="dim">No agent is cordoned. Open an agent to cordon it.</p>
          ) : (
            <DataTable
              name="Cordons"
              columns={columns(seen.again)}
              rows={cordons}
              keyOf={({ of }) => agentWords(of)}
            />
          )
        }
      </Shown>
    </Panel>
  );
}

const columns = (again: () => void): readonly Column<Cordon>[] => [
  { title: "Agents", width: "minmax(12rem, 1.5fr)", cell: ({ of }) => agentWords(of) },
  { title: "By", width: "minmax(7rem, 10rem)", cell: ({ cordonedBy }) => cordonedBy },
  { title: "Reason", width: "minmax(9rem, 2fr)", cell: ({ why }) => why || "–" },
  { title: "Since", width: "8rem", cell: ({ cordonedTime }) => <Ago at={cordonedTime} /> },
  {
    title: "Actions",
    width: "9rem",
    cell: ({ of }) => (
      <span className="acts">
        <UncordonAct of={of} again={again} variant="quiet" />
      </span>
    ),
  },
];

/** For this agent, and for all agents of its version. */
export function CordonActs({ agent, again }: { readonly agent: AgentInfo; again: () => void }) {
  const of: readonly Of[] = [
    { case: "agentId", value: agent.id },
    ...(agent.version === "" ? [] : [{ case: "version", value: agent.version } as const]),
  ];
  return of.map((one) => {
    const isCordoned = agent.cordons.some((cordon) => cordon.of.case === one.case);
    return isCordoned ? (
      <UncordonAct key={one.case} of={one} again={again} />
    ) : (
      <CordonAct key={one.case} of={one} again={again} />
    );
  });
}

function CordonAct({ of, again }: { readonly of: Of; again: () => void }) {
  const namespace = useNamespace();
  return (
    <Act
      name={of.case === "version" ? "Cordon its version" : "Cordon"}
      title={`Cordon ${agentWords(of)}?`}
      act="Cordon"
      done={again}
      onAct={async (form) => {
        if (of.case === undefined) throw new Error("a cordon is of an agent or of a version");
        await operator.cordonAgent({ namespace, of, ...personOf(form) });
        return `The cordon is set: no new tasks for ${agentWords(of)}.`;
      }}
    >
      <p>
        No server hands out new tasks to {agentWords(of)}, within a second. Tasks that they have can
        still be finished.
      </p>
      <PersonFields why="optional" />
    </Act>
  );
}

function UncordonAct(props: { readonly of: Of; again: () => void; readonly variant?: "quiet" }) {
  const { of, again, variant } = props;
  const namespace = useNamespace();
  return (
    <Act
      name={of.case === "version" && variant === undefined ? "Uncordon its version" : "Uncordon"}
      label={`Uncordon ${agentWords(of)}`}
      title={`Uncordon ${agentWords(of)}?`}
      act="Uncordon"
      {...(variant ? { variant } : {})}
      done={again}
      onAct={async () => {
        if (of.case === undefined) throw new Error("a cordon is of an agent or of a version");
        await operator.uncordonAgent({ namespace, of });
        return `The cordon is removed: tasks for ${agentWords(of)} again.`;
      }}
    >
      <p>All servers hand out tasks to them again, within a second.</p>
    </Act>
  );
}
