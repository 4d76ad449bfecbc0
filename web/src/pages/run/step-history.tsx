// What is known of one step, or of one item of a map: facts, attempts, interventions, output.
import type { Payload } from "@drover/proto/drover/v1/payload_pb.ts";
import type { Attempt, Intervention, Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { Foreign } from "../../parts/foreign.tsx";
import { Facts } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { failureWords } from "../../words/attempt-words.ts";
import { itemWords } from "../../words/item-words.ts";
import { StepAttempts } from "./step-attempts.tsx";
import { TraceFact, type TraceOf } from "./trace-fact.tsx";

export function StepFacts(props: { readonly of: Step; readonly trace: TraceOf }) {
  const { of: step, trace } = props;
  return (
    <>
      {step.error === undefined ? null : (
        <p className="failure">
          <Foreign text={failureWords(step.error)} />
        </p>
      )}
      <Facts
        of={[
          ["Task", step.task],
          ["Queue", step.queue ? <Link href={`/queues/${step.queue}`}>{step.queue}</Link> : null],
          ["Attempt", step.attempt === 0 ? "" : String(step.attempt)],
          ["Items", step.items ? itemWords(step.items) : ""],
          ["With", step.agentId],
          ["Next automatic action", step.nextTime ? <Ago at={step.nextTime} /> : null],
          ["Unusually long since", step.suspectTime ? <Ago at={step.suspectTime} /> : null],
          ["Fallback", step.strategy === 0 ? "" : String(step.strategy)],
          ["Child run", step.childRunId ? <RunLink id={step.childRunId} /> : null],
          ["Result reused from", step.reusedFrom ? <RunLink id={step.reusedFrom} /> : null],
          ["Trace", trace.traceId === "" ? null : <TraceFact of={trace} />],
        ]}
      />
    </>
  );
}

function RunLink({ id }: { readonly id: string }) {
  return (
    <Link className="mono" href={`/runs/${id}`}>
      {id}
    </Link>
  );
}

export function StepHistory(props: {
  readonly run: Run;
  readonly attempts: readonly Attempt[];
  readonly interventions: readonly Intervention[];
  readonly output: Payload | undefined;
}) {
  const { run, attempts, interventions, output } = props;
  return (
    <>
      {output === undefined ? null : (
        <Part title="Output">
          <PayloadView of={output} what="the output" />
        </Part>
      )}
      {attempts.length === 0 ? null : (
        <Part title="Attempts">
          <StepAttempts run={run} of={attempts} />
        </Part>
      )}
      {interventions.length === 0 ? null : (
        <Part title="Interventions of the supervisor">
          <ol className="lines">
            {interventions.toReversed().map((one) => (
              <InterventionLine key={`${one.rule} ${one.fence} ${one.saw}`} of={one} />
            ))}
          </ol>
        </Part>
      )}
    </>
  );
}

export function Part(props: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section>
      <h3>{props.title}</h3>
      {props.children}
    </section>
  );
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
