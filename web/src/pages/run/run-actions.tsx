// What a person can do to a run, each with what will happen then.
import { type Run, RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { useState } from "react";
import { scheduler } from "../../calls/clients.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { useNotice } from "../../shell/notices.tsx";

export function PauseAction({ run }: { readonly run: Run }) {
  const [open, setOpen] = useState(false);
  const tell = useNotice();
  if (run.state !== RunState.RUNNING) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Pause
      </button>
      {open ? (
        <ConfirmDialog
          title="Pause this run?"
          act="Pause the run"
          onClose={() => setOpen(false)}
          onAct={async (form) => {
            const { namespace, runId } = run;
            const ref = { ref: { case: "runId", value: runId } } as const;
            await scheduler.pauseRun({ namespace, run: ref, reason: String(form.get("reason")) });
            tell("The run is paused.");
          }}
        >
          <p>
            Nothing new is handed out until somebody resumes it. What agents have in hand goes on,
            and what they report counts.
          </p>
          <Field name="Why (kept with the run)">
            <input name="reason" maxLength={1_000} />
          </Field>
        </ConfirmDialog>
      ) : null}
    </>
  );
}
