// One answer to an escalation: its effect, and the dialog in which it is given.
import type { Escalation } from "@drover/proto/drover/v1/run_pb.ts";
import { operator } from "../calls/clients.ts";
import { useNamespace } from "../shell/namespace.tsx";
import { answerWords, subjectWords } from "../words/escalation-words.ts";
import { Act, written } from "./act.tsx";
import { Field } from "./field.tsx";
import { PersonFields, personOf } from "./person-fields.tsx";

interface AnswerProps {
  readonly answer: string;
  readonly escalation: Escalation;
  /** Called after the answer. */
  readonly again?: () => void;
}

export function Answer({ answer, escalation, again }: AnswerProps) {
  const namespace = useNamespace();
  const subject = subjectWords(escalation);
  const { name, means, happens, takes, danger } = answerWords(answer, escalation);
  const { runId, id: escalationId, workflow } = escalation;
  return (
    <>
      <Act
        name={name}
        title={`${name}: ${subject} of ${workflow}?`}
        danger={danger}
        {...(danger ? { variant: "danger" } : {})}
        {...(again ? { done: again } : {})}
        onAct={async (form) => {
          const { by, why } = personOf(form);
          const text = written(form, "payload");
          const { repeated } = await operator.resolveEscalation({
            namespace,
            escalationId,
            answer,
            by,
            why,
            run: { ref: { case: "runId", value: runId } },
            ...(text === "" ? {} : { payload: jsonPayload(text) }),
          });
          return repeated
            ? "The same answer had been given before."
            : `Answer recorded: ${answer}.`;
        }}
      >
        <p>{happens}</p>
        {takes === null ? null : <PayloadField takes={takes} />}
        <PersonFields why="optional" />
      </Act>
      <span>{means}</span>
    </>
  );
}

function PayloadField({ takes }: { readonly takes: "input" | "output" }) {
  const isInput = takes === "input";
  return (
    <Field
      name={isInput ? "Complete input, as JSON" : "Output, as JSON"}
      help={isInput ? "It replaces the old input as a whole." : "Empty: no output."}
    >
      <textarea
        name="payload"
        className="mono"
        rows={5}
        required={isInput}
        spellCheck={false}
        onInput={({ currentTarget }) =>
          currentTarget.setCustomValidity(jsonFault(currentTarget.value))
        }
      />
    </Field>
  );
}

/** The problem of a text as JSON, which the browser shows at the field; empty: none. */
function jsonFault(text: string): string {
  if (text.trim() === "") return "";
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function jsonPayload(json: string) {
  return { contentType: "application/json", body: { case: "json", value: json } } as const;
}
