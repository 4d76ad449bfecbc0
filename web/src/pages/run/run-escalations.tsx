// Questions of the run that only a person can answer, answered where they are asked.
import type { Escalation, Run } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useState } from "react";
import { operator } from "../../calls/clients.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNotice } from "../../shell/notices.tsx";
import { keepStatedName, refOf, statedName } from "./run-ref.ts";

export function RunEscalations({ run, of }: { readonly run: Run; readonly of: GetRunResponse }) {
  const open = of.escalations.filter(({ closedTime }) => closedTime === undefined);
  if (open.length === 0) return null;
  return (
    <Panel title="Questions that wait for a person">
      <ul className="questions">
        {open.map((one) => (
          <Question key={one.id} run={run} of={one} />
        ))}
      </ul>
    </Panel>
  );
}

function Question({ run, of }: { readonly run: Run; readonly of: Escalation }) {
  const [answer, setAnswer] = useState<string | null>(null);
  return (
    <li>
      <p>
        {of.stepId === "" ? null : <strong>{of.stepId}: </strong>}
        {of.message}
      </p>
      <p className="dim">
        <code>{of.reason}</code>, asked <Ago at={of.openedTime} />
        {of.claimedBy === "" ? "" : `, ${of.claimedBy} looks after it`}
        {of.deadlineTime === undefined ? null : (
          <>
            , answered by itself <Ago at={of.deadlineTime} />
          </>
        )}
      </p>
      <div className="page-acts">
        {of.answers.map((one) => (
          <button type="button" key={one} onClick={() => setAnswer(one)}>
            {answerWords[one]?.act ?? one}
          </button>
        ))}
      </div>
      {answer === null ? null : (
        <AnswerDialog run={run} of={of} answer={answer} onClose={() => setAnswer(null)} />
      )}
    </li>
  );
}

interface AnswerWords {
  readonly act: string;
  readonly willHappen: string;
  /** What is to be filled in as JSON. */
  readonly payload?: string;
}

/** By the names that ResolveEscalation takes. A newer server may have more. */
export const answerWords: Readonly<Record<string, AnswerWords>> = {
  retry: { act: "Try again", willHappen: "It is tried anew, with its attempts counted from one." },
  "retry-changed": {
    act: "Try again with another input",
    willHappen: "It is tried anew with the input below in place of its own.",
    payload: "The whole input, as JSON",
  },
  succeed: {
    act: "It is done",
    willHappen: "It counts as done, with the output below, and the run goes on.",
    payload: "Its output, as JSON (may be left empty)",
  },
  skip: { act: "Skip it", willHappen: "The run goes on as if it were not needed." },
  compensate: {
    act: "Undo the run",
    willHappen: "What the run has done is undone, in reverse order. This cannot be taken back.",
  },
  fail: { act: "Fail the run", willHappen: "The run fails, and what was done stays as it is." },
  acknowledge: { act: "Acknowledge", willHappen: "It is known; nothing is done." },
};

function AnswerDialog(props: {
  readonly run: Run;
  readonly of: Escalation;
  readonly answer: string;
  readonly onClose: () => void;
}) {
  const { run, of, answer, onClose } = props;
  const tell = useNotice();
  const words = answerWords[answer] ?? { act: answer, willHappen: "" };
  return (
    <ConfirmDialog
      title={`${words.act}?`}
      act={words.act}
      danger={answer === "compensate" || answer === "fail"}
      onClose={onClose}
      onAct={async (form) => {
        const by = String(form.get("by"));
        const json = String(form.get("payload") ?? "").trim();
        keepStatedName(by);
        await operator.resolveEscalation({
          ...{ ...refOf(run), escalationId: of.id, answer, by, why: String(form.get("why")) },
          ...(json === "" ? {} : { payload: { body: { case: "json", value: json } } }),
        });
        tell(`Answered: ${words.act.toLowerCase()}.`);
      }}
    >
      <p>{of.message}</p>
      <p>
        <strong>What will happen:</strong> {words.willHappen}
      </p>
      {words.payload === undefined ? null : (
        <Field name={words.payload}>
          <textarea name="payload" rows={5} required={answer === "retry-changed"} />
        </Field>
      )}
      <Field name="Your name" help="Kept with the answer. Nothing verifies it.">
        <input name="by" required maxLength={256} defaultValue={statedName()} />
      </Field>
      <Field name="Why">
        <input name="why" maxLength={1_024} />
      </Field>
    </ConfirmDialog>
  );
}
