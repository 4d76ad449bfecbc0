// Asks before an action, and describes its effect. The dialog stays open during the call; if the
// call is refused, the dialog shows why, and the fields keep their values.
//
//   <ConfirmDialog title="Cancel the run?" act="Cancel the run" danger
//     onAct={async (form) => {...}} onClose={() => setOpen(false)}>what will happen, fields</…>

import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { CONNECTION_LOST, useConnectionLost } from "../calls/connection.ts";
import { type Problem, problemOf } from "../calls/problem.ts";
import { FieldProblems } from "./field.tsx";
import { Foreign } from "./foreign.tsx";
import { ProblemText } from "./states.tsx";

export interface ConfirmProps {
  readonly title: string;
  /** The text of the button: the action itself, never "OK". */
  readonly act: string;
  /** The action cannot be undone. */
  readonly danger?: boolean;
  /** The action is not possible now; the text gives the reason. */
  readonly disabled?: boolean;
  /** The paths of the fields, as the server names them, that show their own problems. */
  readonly paths?: readonly string[];
  /** Performs the action; an error is shown. The dialog closes when it resolves. */
  readonly onAct: (form: FormData) => Promise<void>;
  readonly onClose: () => void;
  /** What will happen, and fields if the user must fill in something. */
  readonly children: ReactNode;
}

/** Open as long as it is rendered. */
export function ConfirmDialog(props: ConfirmProps) {
  const {
    title,
    act,
    danger = false,
    disabled = false,
    paths = [],
    onAct,
    onClose,
    children,
  } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const lost = useConnectionLost();
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    void onAct(new FormData(event.currentTarget))
      .then(onClose, (error: unknown) => setProblem(notByItself(problemOf(error))))
      .finally(() => setBusy(false));
  };
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={id} onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id={id}>
          <Foreign text={title} />
        </h2>
        <div className="dialog-text">
          <FieldProblems value={problem}>{children}</FieldProblems>
        </div>
        {problem === null || isShownAtFields(problem, paths) ? null : (
          <div className="dialog-problem" role="alert">
            <ProblemText problem={problem} />
          </div>
        )}
        <p role="status" className={lost ? "note" : ""}>
          {lost ? CONNECTION_LOST : null}
        </p>
        <div className="dialog-acts">
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
          <button
            type="submit"
            className={danger ? "danger" : "main"}
            disabled={busy || disabled || lost}
          >
            {act}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function isShownAtFields({ isAtField, fields }: Problem, paths: readonly string[]): boolean {
  return isAtField || (fields.length > 0 && fields.every(({ path }) => paths.includes(path)));
}

/** A call that changes something is not repeated automatically: it may have taken effect. */
function notByItself(problem: Problem): Problem {
  if (problem.kind !== "unreachable") return problem;
  return { ...problem, next: "Check whether it took effect before you try again." };
}
