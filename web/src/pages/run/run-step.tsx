// One step in full: where it stands, what was tried, what the supervisor did, what came out.
import type { Attempt, Intervention, Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Link } from "wouter";
import type { Loaded } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { outcomeStanding } from "../../words/outcome-words.ts";
import { progressWords } from "../../words/progress-words.ts";
import { stepStanding } from "../../words/run-words.ts";

export function RunStep(props: {
  readonly run: Run;
  readonly step: Step;
  readonly history: Loaded<GetRunResponse>;
  readonly onClose: () => void;
}) {
  const { step, history, onClose } = props;
  return (
    <Panel
      title={`Step ${step.id}`}
      beside={
        <div className="page-acts">
          <Badge {...stepStanding(step)} />
          <button type="button" className="quiet" onClick={onClose}>
            Close
          </button>
        </div>
      }
    >
      <Facts
        of={[
          ["Task", step.task],
          ["Queue", step.queue ? <Link href={`/queues/${step.queue}`}>{step.queue}</Link> : null],
          ["Attempt", step.attempt === 0 ? "" : String(step.attempt)],
          ["With", step.agentId],
          ["Next by itself", step.nextTime ? <Ago at={step.nextTime} /> : null],
          ["Unusually long since", step.suspectTime ? <Ago at={step.suspectTime} /> : null],
          ["Fallback", step.strategy === 0 ? "" : String(step.strategy)],
          [
            "Its run",
            step.childRunId ? (
              <Link href={`/runs/${step.childRunId}`}>{step.childRunId}</Link>
            ) : null,
          ],
          ["Last error", step.error ? `${step.error.code}: ${step.error.message}` : ""],
        ]}
      />
      <Shown of={history} what="what was tried">
        {(value) => <StepHistory step={step} of={value} />}
      </Shown>
    </Panel>
  );
}

function StepHistory({ step, of }: { readonly step: Step; readonly of: GetRunResponse }) {
  const mine = ({ stepId }: { readonly stepId: string }) => stepId === step.id;
  const attempts = of.attempts.filter(mine);
  const interventions = of.interventions.filter(mine);
  const output = of.steps.find(({ id }) => id === step.id)?.output;
  return (
    <div className="step-history">
      {attempts.length === 0 ? null : (
        <section>
          <h3>Attempts</h3>
          <ol className="lines">
            {attempts.map((one) => (
              <AttemptLine key={`${one.kind} ${one.fence} ${one.n} ${one.late}`} of={one} />
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

function AttemptLine({ of }: { readonly of: Attempt }) {
  const came = progressWords(of.progress);
  return (
    <li>
      <Badge {...outcomeStanding(of.outcome)} />
      <span>
        {of.agentId || "the engine"}, <Lasted from={of.startedTime} to={of.endedTime} />,{" "}
        <Ago at={of.startedTime} />
        {came === "" ? "" : `, came to ${came}`}
        {of.late ? ", reported too late" : ""}
        {of.failure === undefined ? null : (
          <>
            : <code>{of.failure.code}</code> {of.failure.message}
          </>
        )}
      </span>
    </li>
  );
}

function InterventionLine({ of }: { readonly of: Intervention }) {
  return (
    <li>
      <code>{of.rule}</code>
      <span>
        {of.saw} → {of.did} (<Lasted from={of.dueTime} to={of.actedTime} /> after it was due,{" "}
        <Ago at={of.actedTime} />)
      </span>
    </li>
  );
}
