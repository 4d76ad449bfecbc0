// Asks before something is done, and says what will happen then. While the call is made the dialog
// stays; if it is refused, it says why, and nothing that was filled in is lost.
//
//   <ConfirmDialog title="Cancel the run?" act="Cancel the run" danger
//     onAct={async (form) => {...}} onClose={() => setOpen(false)}>what will happen, fields</…>

import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useConnectionLost } from "../calls/connection.ts";
import { type Problem, problemOf } from "../calls/problem.ts";
import { Foreign } from "./foreign.tsx";
import { ProblemText } from "./states.tsx";

export interface ConfirmProps {
  readonly title: string;
  /** What the button says: the order itself, never "OK". */
  readonly act: string;
  /** It cannot be taken back. */
  readonly danger?: boolean;
  /** It cannot be done as things are; the text says why. */
  readonly disabled?: boolean;
  /** Does it; what it throws is shown. The dialog closes when it resolves. */
  readonly onAct: (form: FormData) => Promise<void>;
  readonly onClose: () => void;
  /** What will happen, and fields if something is to be filled in. */
  readonly children: ReactNode;
}

/** Open as long as it is rendered. */
export function ConfirmDialog(props: ConfirmProps) {
  const { title, act, danger = false, disabled = false, onAct, onClose, children } = props;
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
        <div className="dialog-text">{children}</div>
        {problem === null ? null : (
          <div className="dialog-problem" role="alert">
            <ProblemText problem={problem} />
          </div>
        )}
        <p role="status" className={lost ? "note" : ""}>
          {lost ? "The connection to the server is lost: this can be done once it is back." : null}
        </p>
        <div className="dialog-acts">
          <button type="button" onClick={() => dialog.current?.close()}>
            Leave it
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

/** What changes something is not asked for again by itself: it may have been done. */
function notByItself(problem: Problem): Problem {
  if (problem.kind !== "unreachable") return problem;
  return { ...problem, next: "Try it again in a moment; see first whether it was done." };
}
