// Something that can be done here: a button, what it asks before, and what it says after.
//
//   <Act name="Pause" title="Pause queue mail?" done={again} onAct={async (form) => "It rests."}>
//     what will happen then, and fields if something is to be filled in
//   </Act>
import { type ReactNode, useState } from "react";
import { useNotice } from "../shell/notices.tsx";
import { ConfirmDialog } from "./confirm-dialog.tsx";

export interface ActProps {
  /** What the button on the page says. */
  readonly name: string;
  /** More for those who do not see what stands beside it. */
  readonly label?: string;
  /** What the dialog asks. */
  readonly title: string;
  /** What the button of the dialog says; left out: as the button on the page. */
  readonly act?: string;
  readonly danger?: boolean;
  /** As it looks on the page; left out: a plain button. */
  readonly look?: "main" | "danger" | "quiet";
  readonly disabled?: boolean;
  /** Does it, and says what was done: "The queue is paused." */
  readonly onAct: (form: FormData) => Promise<string>;
  /** Called once it is done: what is on the screen is old now. */
  readonly done?: () => void;
  readonly children: ReactNode;
}

export function Act(props: ActProps) {
  const { name, label, title, act, danger, look, disabled, onAct, done, children } = props;
  const [open, setOpen] = useState(false);
  const tell = useNotice();
  return (
    <>
      <button
        type="button"
        className={look}
        disabled={disabled}
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
          onAct={async (form) => {
            tell(await onAct(form));
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

/** What somebody has written into a field; empty: nothing. */
export function written(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}
