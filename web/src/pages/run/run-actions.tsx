// The actions on a run as a whole, each with a description of its effect.
import { type Run, RunState, type Step, WaitingOn } from "@drover/proto/drover/v1/run_pb.ts";
import { RerunVersion, Undo } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { useNotice } from "../../shell/notices.tsx";
import { isFinal } from "../../words/run-words.ts";
import { DecideFields, decide } from "./decide-fields.tsx";
import { refOf } from "./run-ref.ts";

type Kind = "pause" | "resume" | "cancel" | "retry" | "rerun" | "signal" | "decide";

interface Action {
  readonly button: string;
  readonly title: string;
  readonly act: string;
  readonly danger?: boolean;
  readonly willHappen: string;
  readonly fields: (steps: readonly Step[], run: Run) => ReactNode;
  /** Performs the action and returns what was done; `newRunId` if a new run was started. */
  readonly onAct: (run: Run, form: FormData) => Promise<{ done: string; newRunId?: string }>;
}

export function RunActions({ run, steps }: { readonly run: Run; readonly steps: readonly Step[] }) {
  const [open, setOpen] = useState<Kind | null>(null);
  const [, go] = useLocation();
  const notify = useNotice();
  const action = open === null ? null : actions[open];
  return (
    <>
      {offered(run, steps).map((kind) => (
        <button type="button" key={kind} onClick={() => setOpen(kind)}>
          {actions[kind].button}
        </button>
      ))}
      {action === null ? null : (
        <ConfirmDialog
          {...{ title: action.title, act: action.act, danger: action.danger === true }}
          onClose={() => setOpen(null)}
          onAct={async (form) => {
            const { done, newRunId } = await action.onAct(run, form);
            notify(done);
            if (newRunId !== undefined) go(`/runs/${newRunId}`);
          }}
        >
          <p>
            <strong>What will happen:</strong> {action.willHappen}
          </p>
          {action.fields(steps, run)}
        </ConfirmDialog>
      )}
    </>
  );
}

function offered(run: Run, steps: readonly Step[]): readonly Kind[] {
  if (isFinal(run.state)) {
    const failed = run.state === RunState.FAILED || run.state === RunState.CANCELLED;
    return failed ? ["retry", "rerun"] : ["rerun"];
  }
  const stopping = [RunState.STOPPING, RunState.COMPENSATING, RunState.FINISHING] as const;
  const on = (what: WaitingOn) => steps.some(({ waitingOn }) => waitingOn === what);
  return [
    ...(on(WaitingOn.APPROVAL) ? (["decide"] as const) : []),
    ...(on(WaitingOn.SIGNAL) ? (["signal"] as const) : []),
    ...(run.state === RunState.PAUSED ? (["resume"] as const) : []),
    ...(run.state === RunState.RUNNING || run.state === RunState.ESCALATED
      ? (["pause"] as const)
      : []),
    ...(stopping.some((state) => state === run.state) ? [] : (["cancel"] as const)),
  ];
}

const text = (form: FormData, name: string) => String(form.get(name) ?? "").trim();

const why = () => (
  <Field name="Reason (stored with the run)">
    <input name="reason" maxLength={1_024} />
  </Field>
);

const version = () => (
  <Field name="Version of the workflow">
    <select name="version">
      <option value="same">The version of this run</option>
      <option value="newest">The newest</option>
    </select>
  </Field>
);

const versionOf = (form: FormData) =>
  form.get("version") === "newest" ? RerunVersion.NEWEST : RerunVersion.SAME;

/** One id for each dialog: a repeated call starts no second run. */
const requestId = () => `dashboard-${crypto.randomUUID()}`;

const actions: Readonly<Record<Kind, Action>> = {
  pause: {
    button: "Pause",
    title: "Pause this run?",
    act: "Pause the run",
    willHappen:
      "No new task of the run is handed out until it is resumed. Agents finish the tasks that they have, and their results count.",
    fields: why,
    async onAct(run, form) {
      await scheduler.pauseRun({ ...refOf(run), reason: text(form, "reason") });
      return { done: "The run is paused." };
    },
  },
  resume: {
    button: "Resume",
    title: "Resume this run?",
    act: "Resume the run",
    willHappen:
      "Tasks that became ready meanwhile are handed out at once, and the timeouts of the run continue.",
    fields: why,
    async onAct(run, form) {
      await scheduler.resumeRun({ ...refOf(run), reason: text(form, "reason") });
      return { done: "The run is resumed." };
    },
  },
  cancel: {
    button: "Cancel…",
    title: "Cancel this run?",
    act: "Cancel the run",
    danger: true,
    willHappen:
      "Agents that work for the run are asked to stop, and no new step starts. Then completed steps are compensated in reverse order, or left as they are, as you choose. This cannot be undone.",
    fields: () => (
      <>
        <Field name="Completed steps">
          <select name="undo">
            <option value="compensate">compensate them</option>
            <option value="leave">leave them as they are</option>
          </select>
        </Field>
        {why()}
      </>
    ),
    async onAct(run, form) {
      const undo = form.get("undo") === "leave" ? Undo.LEAVE : Undo.COMPENSATE;
      await scheduler.cancelRun({ ...refOf(run), undo, reason: text(form, "reason") });
      return { done: "The run is being cancelled." };
    },
  },
  retry: {
    button: "Retry",
    title: "Retry this run?",
    act: "Retry the run",
    willHappen:
      "A new run starts. It reuses the steps that succeeded in this run, and repeats the others. This run stays as it is.",
    fields: version,
    async onAct(run, form) {
      const request = { ...refOf(run), requestId: requestId(), version: versionOf(form) };
      const { runId } = await scheduler.retryRun(request);
      return { done: "This is the new run.", newRunId: runId };
    },
  },
  rerun: {
    button: "Re-run…",
    title: "Run it again?",
    act: "Run it again",
    willHappen:
      "A new run starts at the step that you choose and repeats all steps after it; earlier steps are reused. This run and its effects stay as they are.",
    fields: (steps) => (
      <>
        <Field name="From">
          <select name="step">
            <option value="">the start: no step is reused</option>
            {steps.map(({ id }) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        </Field>
        {version()}
      </>
    ),
    async onAct(run, form) {
      const again = { stepId: text(form, "step"), version: versionOf(form) };
      const { runId } = await scheduler.rerunFrom({
        ...refOf(run),
        ...again,
        requestId: requestId(),
      });
      return { done: "This is the new run.", newRunId: runId };
    },
  },
  signal: {
    button: "Send a signal…",
    title: "Send a signal?",
    act: "Send the signal",
    willHappen: "The step that waits for the signal succeeds, with the payload as its output.",
    fields: (steps) => (
      <>
        <Field name="Signal">
          <select name="signal">
            {[...new Set(steps.map(({ signalName }) => signalName))].filter(Boolean).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </Field>
        <Field name="Payload, as JSON (may be left empty)">
          <textarea name="payload" rows={4} />
        </Field>
      </>
    ),
    async onAct(run, form) {
      const json = text(form, "payload");
      await scheduler.signal({
        ...refOf(run),
        name: text(form, "signal"),
        signalId: requestId(),
        ...(json === "" ? {} : { payload: { body: { case: "json", value: json } } }),
      });
      return { done: "The signal is sent." };
    },
  },
  decide: {
    button: "Approve or reject…",
    title: "Approve or reject?",
    act: "Decide",
    willHappen:
      "Your decision is recorded for this step. The step succeeds once it has enough approvals; one rejection fails it.",
    fields: (steps, run) => <DecideFields {...{ run, steps }} />,
    async onAct(run, form) {
      await decide(run, form);
      return { done: "The decision is recorded." };
    },
  },
};
