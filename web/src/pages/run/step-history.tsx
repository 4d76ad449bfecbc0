// The history of one step, or of one item of a map: facts, attempts, interventions, output.
import type { Payload } from "@drover/proto/drover/v1/payload_pb.ts";
import type { Attempt, Intervention, Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Link } from "wouter";
import { Badge } from "../../parts/badge.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { ForeignMessage } from "../../parts/foreign-message.tsx";
import { Facts } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { failureWords } from "../../words/attempt-words.ts";
import { outcomeStatus } from "../../words/outcome-words.ts";
import { progressWords } from "../../words/progress-words.ts";
import { AttemptLogs } from "./attempt-logs.tsx";

export function StepFacts({ of: step }: { readonly of: Step }) {
  return (
    <Facts
      of={[
        ["Task", step.task],
        ["Queue", step.queue ? <Link href={`/queues/${step.queue}`}>{step.queue}</Link> : null],
        ["Attempt", step.attempt === 0 ? "" : String(step.attempt)],
        ["With", step.agentId],
        ["Next automatic action", step.nextTime ? <Ago at={step.nextTime} /> : null],
        ["Unusually long since", step.suspectTime ? <Ago at={step.suspectTime} /> : null],
        ["Fallback", step.strategy === 0 ? "" : String(step.strategy)],
        [
          "Child run",
          step.childRunId ? <Link href={`/runs/${step.childRunId}`}>{step.childRunId}</Link> : null,
        ],
        ["Last error", step.error ? failureWords(step.error) : ""],
      ]}
    />
  );
}

export function StepHistory(props: {
  readonly run: Run;
  readonly step: Step;
  readonly of: GetRunResponse;
  readonly output: Payload | undefined;
}) {
  const { run, step, of, output } = props;
  const mine = ({ stepId }: { readonly stepId: string }) => stepId === step.id;
  const attempts = of.attempts.filter(mine);
  const interventions = of.interventions.filter(mine);
  return (
    <div className="step-history">
      {attempts.length === 0 ? null : (
        <section>
          <h3>Attempts</h3>
          <ol className="lines">
            {attempts.map((one) => (
              <AttemptLine
                key={`${one.kind} ${one.fence} ${one.n} ${one.late}`}
                run={run}
                of={one}
              />
            ))}
          </ol>
        </section>
      )}
      {interventions.length === 0 ? null : (
        <section>
          <h3>What the supervisor did</h3>
          <ol className="lines">
            {interventions.map((one) => (
              <InterventionLine key={`${one.rule} ${one.fence} ${one.saw}`} of={one} />
            ))}
          </ol>
        </section>
      )}
      {output === undefined ? null : (
        <section>
          <h3>Output</h3>
          <PayloadView of={output} what="the output" />
        </section>
      )}
    </div>
  );
}

function AttemptLine({ run, of }: { readonly run: Run; readonly of: Attempt }) {
  const came = progressWords(of.progress);
  return (
    <li>
      <Badge {...outcomeStatus(of.outcome)} />
      <span>
        {of.agentId || "the engine"}, <Lasted from={of.startedTime} to={of.endedTime} />,{" "}
        <Ago at={of.startedTime} />
        {came === "" ? "" : `, progress ${came}`}
        {of.late ? ", reported too late" : ""}
        {of.failure === undefined ? null : <ForeignMessage text={failureWords(of.failure)} />}
      </span>
      <AttemptLogs run={run} {...placeOf(of)} attempt={of} live={of.endedTime === undefined} />
    </li>
  );
}

/** `deploy[3]` is an item of the map `deploy`. */
function placeOf({ stepId }: Attempt): { readonly step: string; readonly item: number | null } {
  const [, step, item] = /^(.+)\[(\d+)\]$/.exec(stepId) ?? [];
  return step === undefined ? { step: stepId, item: null } : { step, item: Number(item) };
}

function InterventionLine({ of }: { readonly of: Intervention }) {
  return (
    <li>
      <code>{of.rule}</code>
      <span>
        <Foreign text={of.saw} /> → <Foreign text={of.did} /> (
        <Lasted from={of.dueTime} to={of.actedTime} /> after it was due, <Ago at={of.actedTime} />)
      </span>
    </li>
  );
}
