// What to do in a namespace that has no run yet: three steps with their commands,
// each marked as done as soon as it is. A test runs the commands.
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { operator, scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Panel } from "../../parts/panel.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { token } from "../../shell/session.ts";
import "./first-steps.css";

const EVERY_MS = 2_000;

interface Done {
  readonly workflow: boolean;
  readonly agent: boolean;
  readonly run: boolean;
}

/**
 * The children follow once there is a run; the steps stay. A run may bring its own definition, so
 * that no workflow is registered.
 */
export function FirstSteps({ children }: { readonly children: ReactNode }) {
  const namespace = useNamespace();
  const [isShown, setShown] = useState(false);
  const asked = useCall(
    `first steps ${namespace}`,
    (signal) => whatIsDone(namespace, signal),
    isShown ? { everyMs: EVERY_MS } : {},
  );
  if (asked.kind === "loading") return null;
  if (asked.kind === "failed") return children;
  const isNew = !asked.value.run;
  if (isNew && !isShown) setShown(true);
  return (
    <>
      {isNew || isShown ? <Steps done={asked.value} /> : null}
      {isNew ? null : children}
    </>
  );
}

async function whatIsDone(namespace: string, signal: AbortSignal): Promise<Done> {
  const asked = { namespace, pageSize: 1 };
  const [{ workflows }, { agents }, { runs }] = await Promise.all([
    scheduler.listWorkflows(asked, { signal }),
    operator.listAgents(asked, { signal }),
    scheduler.listRuns(asked, { signal }),
  ]);
  return { workflow: workflows.length > 0, agent: agents.length > 0, run: runs.length > 0 };
}

interface Step {
  readonly title: string;
  readonly done: boolean;
  readonly text: string;
  /** What the button copies: "Copy the commands of step 1". */
  readonly commands: string;
}

function Steps({ done }: { readonly done: Done }) {
  const steps = stepsOf(done, useNamespace());
  const count = steps.filter((step) => step.done).length;
  return (
    <Panel
      title="First steps"
      beside={
        <span className="dim" role="status">
          {count} of {steps.length} done
        </span>
      }
    >
      <ol className="first-steps">
        {steps.map((step, at) => (
          <li key={step.title}>
            <div className="first-steps-head">
              <h3>
                {at + 1}. {step.title}
              </h3>
              {step.done ? <Badge tone="ok" word="done" /> : <Badge tone="idle" word="to do" />}
            </div>
            <p>{step.text}</p>
            <div className="payload">
              <pre>{step.commands}</pre>
              <CopyButton text={step.commands} what={`the commands of step ${at + 1}`} />
            </div>
          </li>
        ))}
      </ol>
      {token() === null ? null : (
        <p className="note">
          This server requires tokens: set <code>DROVER_TOKEN</code> in both terminals.
        </p>
      )}
      {count < steps.length ? null : (
        <p>
          All steps are done. <Link href="/runs">See the runs</Link>
        </p>
      )}
    </Panel>
  );
}

/** From the README; the project that `init` writes has the workflow and the agent. */
function stepsOf(done: Done, namespace: string): readonly Step[] {
  const address = location.protocol === "https:" ? location.origin : location.host;
  const isDefault = namespace === "default";
  const to = `--address ${address}${isDefault ? "" : ` --namespace ${namespace}`}`;
  const agentText = isDefault ? "" : ` First set namespace: "${namespace}" in hello/agent.ts.`;
  return [
    {
      title: "Register a workflow",
      done: done.workflow,
      text: "In the clone of Drover: a small project with a workflow and an agent.",
      commands: `npx drover init hello --lang typescript
npx drover workflow apply hello/seats.yaml ${to}`,
    },
    {
      title: "Start an agent",
      done: done.agent,
      text: `In a second terminal, in the same folder. It polls for tasks until Ctrl-C.${agentText}`,
      commands: `cd hello && npm install
DROVER_ADDRESS=${address} npm run agent`,
    },
    {
      title: "Start a run",
      done: done.run,
      text: "In the first terminal. The command follows the run until it has ended.",
      commands: `npx drover run start seats --input '{"card":"visa"}' --watch ${to}`,
    },
  ];
}
