// An action: a button, a dialog that asks before it, and a message after it. While the connection
// to the server is lost, the button is disabled.
//
//   <Act name="Pause" title="Pause queue mail?" done={again} onAct={async (form) => "Paused."}>
//     what will happen, and fields if the user must fill in something
//   </Act>
import { type ReactNode, useState } from "react";
import { CONNECTION_LOST, useConnectionLost } from "../calls/connection.ts";
import { useNotice } from "../shell/notices.tsx";
import { ConfirmDialog } from "./confirm-dialog.tsx";

export interface ActProps {
  /** The text of the button on the page. */
  readonly name: string;
  /** A longer label for screen readers, whose users do not see the surroundings of the button. */
  readonly label?: string;
  /** The question of the dialog. */
  readonly title: string;
  /** The text of the dialog's button; left out: that of the button on the page. */
  readonly act?: string;
  readonly danger?: boolean;
  /** The style of the button on the page; left out: a plain button. */
  readonly variant?: "main" | "danger" | "quiet";
  readonly disabled?: boolean;
  /** The paths of the fields, as the server names them, that show their own problems. */
  readonly paths?: readonly string[];
  /** Performs the action and returns what was done: "The queue is paused." */
  readonly onAct: (form: FormData) => Promise<string>;
  /** Called after the action: the content of the screen is out of date. */
  readonly done?: () => void;
  readonly children: ReactNode;
}

export function Act(props: ActProps) {
  const { name, label, title, act, danger, variant, disabled, paths, onAct, done, children } =
    props;
  const [open, setOpen] = useState(false);
  const notify = useNotice();
  const lost = useConnectionLost();
  return (
    <>
      <button
        type="button"
        className={variant}
        disabled={disabled === true || lost}
        title={lost ? CONNECTION_LOST : undefined}
        aria-label={label}
        onClick={() => setOpen(true)}
      >
        {name}
      </button>
      {open ? (
        <ConfirmDialog
          title={title}
          act={act ?? name}
          danger={danger ?? false}
          paths={paths ?? []}
          onAct={async (form) => {
            notify(await onAct(form));
            done?.();
          }}
          onClose={() => setOpen(false)}
        >
          {children}
        </ConfirmDialog>
      ) : null}
    </>
  );
}

/** The text that the user has written into a field; empty: none. */
export function written(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}
