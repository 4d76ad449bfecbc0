// One workflow: its runs of a day and what failed in them, its steps as a graph and as a table
// with their typical durations, what starts it, its versions, its definition, and its actions.
import type { FailingStep } from "@drover/proto/drover/v1/overview_pb.ts";
import type { GetWorkflowResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { StepDefinition, Workflow } from "@drover/proto/drover/v1/workflow_pb.ts";
import { useMemo } from "react";
import { Link } from "wouter";
import { operator, scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Act, written } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Graph, type GraphNode } from "../../parts/graph.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { WhyField } from "../../parts/person-fields.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago, Length } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { counted } from "../../words/counts.ts";
import { stepDoes } from "../../words/workflow-words.ts";
import { DefinitionPanel } from "./definition-panel.tsx";
import { StartRun } from "./start-run.tsx";
import { stepFailures } from "./step-failures.ts";
import { DurationTable, StepTable } from "./step-table.tsx";
import { VersionTable } from "./version-table.tsx";
import { StartersPanel } from "./workflow-starters.tsx";
import { FailingStepsPanel, StatisticsPanel } from "./workflow-statistics.tsx";
import "./workflows.css";

const EVERY_MS = 5_000;

interface WorkflowViewProps {
  readonly name: string;
  /** 0: the default version. */
  readonly version: number;
}

export function WorkflowView({ name, version }: WorkflowViewProps) {
  const namespace = useNamespace();
  const seen = useCall(
    `workflow ${namespace} ${name} ${version}`,
    (signal) => {
      const more = {
        includeVersions: true,
        includeDurations: true,
        includeStatistics: true,
        includeText: true,
      };
      return scheduler.getWorkflow({ namespace, name, version, ...more }, { signal });
    },
    { everyMs: EVERY_MS },
  );
  return (
    <Shown of={seen} what="the workflow" wholePage>
      {(answer) =>
        answer.workflow === undefined ? null : (
          <Seen seen={answer} workflow={answer.workflow} again={seen.again} />
        )
      }
    </Shown>
  );
}

interface SeenProps {
  readonly seen: GetWorkflowResponse;
  readonly workflow: Workflow;
  readonly again: () => void;
}

function Seen({ seen, workflow, again }: SeenProps) {
  const { name, version, defaultVersion, definition, pause } = workflow;
  const steps = definition?.steps ?? [];
  const isDefault = version === defaultVersion;
  return (
    <>
      <PageHead
        title={`${name} v${version}`}
        above={<Link href="/workflows">Workflows</Link>}
        beside={
          <>
            <Badge
              tone={isDefault ? "ok" : "idle"}
              word={isDefault ? "default" : "not the default"}
            />
            {pause ? <Badge tone="paused" word="paused" /> : null}
          </>
        }
      >
        <Link href={`/runs?workflow=${name}`}>Runs</Link>
        <StartRun workflow={workflow} />
        <PauseAct workflow={workflow} again={again} />
      </PageHead>
      {seen.statistics === undefined ? null : <StatisticsPanel of={seen.statistics} />}
      <FailingStepsPanel of={seen} />
      <Panel title={counted(steps.length, "step")}>
        <Facts
          of={[
            ["Registered", <Ago key="created" at={workflow.createdTime} />],
            ["Default version", `v${defaultVersion}`],
            [
              "Timeout of a run",
              definition?.timeout ? <Length key="t" of={definition.timeout} /> : null,
            ],
            ["Paused", pause ? <Ago key="paused" at={pause.sinceTime} /> : null],
            ["Reason", pause?.reason],
          ]}
        />
        <DefinitionGraph steps={steps} failing={seen.failingSteps} />
        {seen.failingSteps.length === 0 ? null : (
          <p className="note">
            The number at a step counts its failures in 24 hours, in all versions.
            {seen.moreFailingSteps ? " Codes that are not listed above are left out." : ""}
          </p>
        )}
      </Panel>
      <StepTable steps={steps} />
      <DurationTable steps={steps} durations={seen.durations} />
      <StartersPanel workflow={name} />
      <VersionTable workflow={workflow} versions={seen.versions} again={again} />
      <DefinitionPanel
        key={version}
        workflow={workflow}
        text={seen.definitionText}
        versions={seen.versions}
      />
      {definition?.inputSchema === undefined ? null : (
        <Panel title="Input schema">
          <PayloadView of={definition.inputSchema} what="the input schema" />
        </Panel>
      )}
    </>
  );
}

/** The graph is laid out only once: the workflow is read again and again, and stays the same. */
function DefinitionGraph(props: {
  readonly steps: readonly StepDefinition[];
  readonly failing: readonly FailingStep[];
}) {
  const { steps, failing } = props;
  const counts = stepFailures(failing);
  const shape = JSON.stringify([
    steps.map((step) => [step.id, step.needs, stepDoes(step)]),
    [...counts],
  ]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what it shows is in its shape.
  const nodes = useMemo(
    () =>
      steps.map((step): GraphNode => {
        const { id, needs } = step;
        const count = counts.get(id);
        const counted = count === undefined ? {} : { count };
        return { id, needs, tone: "idle", word: stepDoes(step), note: "", ...counted };
      }),
    [shape],
  );
  return <Graph name="Graph of the steps" nodes={nodes} />;
}

function PauseAct({ workflow, again }: Omit<SeenProps, "seen">) {
  const namespace = useNamespace();
  const { name, pause } = workflow;
  if (pause)
    return (
      <Act
        name="Resume"
        title={`Resume workflow ${name}?`}
        variant="main"
        done={again}
        onAct={async () => {
          await operator.resumeWorkflow({ namespace, workflow: name });
          return `Workflow ${name} is resumed.`;
        }}
      >
        <p>Waiting tasks of its runs are handed out at once.</p>
      </Act>
    );
  return (
    <Act
      name="Pause"
      title={`Pause workflow ${name}?`}
      done={again}
      onAct={async (form) => {
        const reason = written(form, "why");
        await operator.pauseWorkflow({ namespace, workflow: name, reason });
        return `Workflow ${name} is paused.`;
      }}
    >
      <p>
        No task of its runs is handed out, in all versions, including runs that start later. Agents
        finish the tasks that they have. Signals, timers and timeouts continue.
      </p>
      <WhyField />
    </Act>
  );
}
