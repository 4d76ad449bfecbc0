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
import { instanceWords } from "../../words/agent-words.ts";

const EVERY_MS = 3_000;

type Of = Cordon["of"];

/**
 * `agent mail-1`, `agents of version 2.0`, `instance 3f2a91bc of agent mail-1`. `agentId`: of the
 * instance.
 */
function agentWords(of: Of, agentId: string): string {
  switch (of.case) {
    case "agentId":
      return `agent ${of.value}`;
    case "version":
      return `agents of version ${of.value}`;
    case "session":
      return `instance ${instanceWords(of.value)} of agent ${agentId}`;
    case undefined:
      return "agents";
  }
}

/** `agents of version 2.0, by ada: rolled back` */
export function cordonWords({ of, sessionAgentId, cordonedBy, why }: Cordon): string {
  return `${agentWords(of, sessionAgentId)}, by ${cordonedBy}${why === "" ? "" : `: ${why}`}`;
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
              keyOf={({ of, sessionAgentId }) => agentWords(of, sessionAgentId)}
            />
          )
        }
      </Shown>
    </Panel>
  );
}

const columns = (again: () => void): readonly Column<Cordon>[] => [
  {
    title: "Agents",
    width: "minmax(12rem, 1.5fr)",
    cell: ({ of, sessionAgentId }) => agentWords(of, sessionAgentId),
  },
  { title: "By", width: "minmax(7rem, 10rem)", cell: ({ cordonedBy }) => cordonedBy },
  { title: "Reason", width: "minmax(9rem, 2fr)", cell: ({ why }) => why || "–" },
  { title: "Since", width: "8rem", cell: ({ cordonedTime }) => <Ago at={cordonedTime} /> },
  {
    title: "Actions",
    width: "9rem",
    cell: ({ of, sessionAgentId }) => (
      <span className="acts">
        <UncordonAct of={of} agentId={sessionAgentId} again={again} variant="quiet" />
      </span>
    ),
  },
];

/** For this agent, for this instance of it, and for all agents of its version. */
export function CordonActs({ agent, again }: { readonly agent: AgentInfo; again: () => void }) {
  const of: readonly Of[] = [
    { case: "agentId", value: agent.id },
    { case: "session", value: agent.session },
    ...(agent.version === "" ? [] : [{ case: "version", value: agent.version } as const]),
  ];
  return of.map((one) => {
    const isCordoned = agent.cordons.some((cordon) => cordon.of.case === one.case);
    return isCordoned ? (
      <UncordonAct key={one.case} of={one} agentId={agent.id} again={again} />
    ) : (
      <CordonAct key={one.case} of={one} agentId={agent.id} again={again} />
    );
  });
}

/** Behind "Cordon" and "Uncordon". */
const WHAT = { agentId: "", session: " this instance", version: " its version" } as const;

interface ActProps {
  readonly of: Of;
  readonly agentId: string;
  readonly again: () => void;
}

function CordonAct({ of, agentId, again }: ActProps) {
  const namespace = useNamespace();
  const words = agentWords(of, agentId);
  return (
    <Act
      name={`Cordon${of.case ? WHAT[of.case] : ""}`}
      title={`Cordon ${words}?`}
      act="Cordon"
      done={again}
      onAct={async (form) => {
        if (of.case === undefined)
          throw new Error("a cordon is of an agent, an instance or a version");
        await operator.cordonAgent({ namespace, of, ...personOf(form) });
        return `The cordon is set: no new tasks for ${words}.`;
      }}
    >
      <p>
        No server hands out new tasks to {words}, within a second. Tasks that they have can still be
        finished.
      </p>
      <PersonFields why="optional" />
    </Act>
  );
}

function UncordonAct(props: ActProps & { readonly variant?: "quiet" }) {
  const { of, agentId, again, variant } = props;
  const namespace = useNamespace();
  const words = agentWords(of, agentId);
  return (
    <Act
      name={`Uncordon${of.case && variant === undefined ? WHAT[of.case] : ""}`}
      label={`Uncordon ${words}`}
      title={`Uncordon ${words}?`}
      act="Uncordon"
      {...(variant ? { variant } : {})}
      done={again}
      onAct={async () => {
        if (of.case === undefined)
          throw new Error("a cordon is of an agent, an instance or a version");
        await operator.uncordonAgent({ namespace, of });
        return `The cordon is removed: tasks for ${words} again.`;
      }}
    >
      <p>All servers hand out tasks to them again, within a second.</p>
    </Act>
  );
}
