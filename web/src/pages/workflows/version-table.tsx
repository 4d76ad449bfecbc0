// The versions of a workflow, the open runs that still use each, and the default version.
import type { Workflow, WorkflowVersion } from "@drover/proto/drover/v1/workflow_pb.ts";
import { Link } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { Act } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { numberWords } from "../../words/counts.ts";

interface VersionTableProps {
  readonly workflow: Workflow;
  readonly versions: readonly WorkflowVersion[];
  readonly again: () => void;
}

export function VersionTable({ workflow, versions, again }: VersionTableProps) {
  return (
    <Panel title="Versions">
      <DataTable
        name="Versions"
        columns={columns(workflow, again)}
        rows={versions}
        keyOf={({ version }) => String(version)}
        hrefOf={({ version }) => `/workflows/${workflow.name}?version=${version}`}
      />
    </Panel>
  );
}

const columns = (workflow: Workflow, again: () => void): readonly Column<WorkflowVersion>[] => [
  {
    title: "Version",
    width: "7rem",
    cell: ({ version }) => (
      <Link href={`/workflows/${workflow.name}?version=${version}`}>v{version}</Link>
    ),
  },
  {
    title: "Registered",
    width: "minmax(8rem, 1fr)",
    cell: ({ createdTime }) => <Ago at={createdTime} />,
  },
  {
    title: "Open runs",
    width: "12rem",
    align: "end",
    cell: ({ openRuns }) => numberWords(openRuns),
  },
  {
    title: "Default",
    width: "minmax(11rem, 1fr)",
    cell: ({ version }) =>
      version === workflow.defaultVersion ? (
        <Badge tone="ok" word="default" />
      ) : (
        <span className="acts">
          <DefaultAct workflow={workflow} version={version} again={again} />
        </span>
      ),
  },
];

interface DefaultActProps {
  readonly workflow: Workflow;
  readonly version: number;
  readonly again: () => void;
}

function DefaultAct({ workflow, version, again }: DefaultActProps) {
  const { name, defaultVersion } = workflow;
  const namespace = useNamespace();
  return (
    <Act
      name="Make default"
      label={`Make default: v${version}`}
      title={`Make v${version} the default of ${name}?`}
      variant="quiet"
      done={again}
      onAct={async () => {
        await scheduler.setDefaultVersion({ namespace, name, version });
        return `The default of ${name} is v${version}.`;
      }}
    >
      <p>
        Runs that are started without a version use v{version} from now on, instead of v
        {defaultVersion}. Open runs keep their version.
      </p>
    </Act>
  );
}
