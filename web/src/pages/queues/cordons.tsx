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
function whom(of: Of): string {
  if (of.case === "agentId") return `agent ${of.value}`;
  return of.case === "version" ? `agents of version ${of.value}` : "agents";
}

/** `agents of version 2.0, said ada: rolled back` */
export function cordonWords({ of, cordonedBy, why }: Cordon): string {
  return `${whom(of)}, said ${cordonedBy}${why === "" ? "" : `: ${why}`}`;
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
            <p className="dim">No agent is kept from work. Open an agent to cordon it.</p>
          ) : (
            <DataTable
              name="Cordons"
              columns={columns(seen.again)}
              rows={cordons}
              keyOf={({ of }) => whom(of)}
            />
          )
        }
      </Shown>
    </Panel>
  );
}

const columns = (again: () => void): readonly Column<Cordon>[] => [
  { title: "Who gets nothing new", width: "minmax(12rem, 1.5fr)", cell: ({ of }) => whom(of) },
  { title: "Said", width: "minmax(7rem, 10rem)", cell: ({ cordonedBy }) => cordonedBy },
  { title: "Because", width: "minmax(9rem, 2fr)", cell: ({ why }) => why || "–" },
  { title: "Since", width: "8rem", cell: ({ cordonedTime }) => <Ago at={cordonedTime} /> },
  {
    title: "What you can do",
    width: "9rem",
    cell: ({ of }) => (
      <span className="acts">
        <UncordonAct of={of} again={again} look="quiet" />
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
      title={`Cordon ${whom(of)}?`}
      act="Cordon"
      done={again}
      onAct={async (form) => {
        if (of.case === undefined) throw new Error("a cordon is of an agent or of a version");
        await operator.cordonAgent({ namespace, of, ...personOf(form) });
        return `Nothing new goes to ${whom(of)}.`;
      }}
    >
      <p>
        Nothing new goes to {whom(of)}, on every server within a second. What they have they may
        finish; their polls wait.
      </p>
      <PersonFields why="optional" />
    </Act>
  );
}

function UncordonAct(props: { readonly of: Of; again: () => void; readonly look?: "quiet" }) {
  const { of, again, look } = props;
  const namespace = useNamespace();
  return (
    <Act
      name={of.case === "version" && look === undefined ? "Uncordon its version" : "Uncordon"}
      label={`Uncordon ${whom(of)}`}
      title={`Give ${whom(of)} tasks again?`}
      act="Uncordon"
      {...(look ? { look } : {})}
      done={again}
      onAct={async () => {
        if (of.case === undefined) throw new Error("a cordon is of an agent or of a version");
        await operator.uncordonAgent({ namespace, of });
        return `Tasks go to ${whom(of)} again.`;
      }}
    >
      <p>They get tasks again, on every server within a second.</p>
    </Act>
  );
}
