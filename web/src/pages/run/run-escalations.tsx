// The escalations of the run, with their answers.

import type { Escalation } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Answer } from "../../parts/answer.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { ForeignMessage } from "../../parts/foreign-message.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/time.tsx";
import { checkFirst } from "../../words/escalation-words.ts";

export function RunEscalations({ of }: { readonly of: GetRunResponse }) {
  const open = of.escalations.filter(({ closedTime }) => closedTime === undefined);
  if (open.length === 0) return null;
  return (
    <Panel title="Open escalations">
      <ul className="questions">
        {open.map((one) => (
          <Question key={one.id} of={one} />
        ))}
      </ul>
    </Panel>
  );
}

function Question({ of }: { readonly of: Escalation }) {
  return (
    <li>
      <p>
        {of.stepId === "" ? null : <strong>{of.stepId}: </strong>}
        <ForeignMessage text={of.message} />
      </p>
      <p className="dim">
        <code>{of.reason}</code>, opened <Ago at={of.openedTime} />
        {of.claimedBy === "" ? null : (
          <>
            , <Foreign text={of.claimedBy} /> has claimed it
          </>
        )}
        {of.deadlineTime === undefined ? null : (
          <>
            , answered automatically <Ago at={of.deadlineTime} />
          </>
        )}
      </p>
      <p className="dim">{checkFirst(of.reason)}</p>
      <ul className="answers">
        {of.answers.map((answer) => (
          <li key={answer}>
            <Answer answer={answer} escalation={of} />
          </li>
        ))}
      </ul>
    </li>
  );
}
