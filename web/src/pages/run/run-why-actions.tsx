// What a person can do about a wait, as links to where it is done. Actions on the run as
// a whole are at the head of the page, and escalations are answered above.
import { ActionKind, type PersonAction, type Wait } from "@drover/proto/drover/v1/explain_pb.ts";
import type { ReactNode } from "react";
import { Link } from "wouter";

export function Actions({ of }: { readonly of: Wait }) {
  const listed = of.actions.map((action) => ({ action, words: wordsOf(action) }));
  const shown = listed.filter(({ words }) => words !== null);
  if (shown.length === 0) return null;
  return (
    <p>
      {shown.map(({ action, words }, at) => (
        <span key={`${action.kind} ${action.queue} ${action.task}`}>
          {at === 0 ? "You can " : ", or "}
          {words}
        </span>
      ))}
      .
    </p>
  );
}

function wordsOf(action: PersonAction): ReactNode {
  const queue = <Link href={`/queues/${action.queue}`}>queue {action.queue}</Link>;
  switch (action.kind) {
    case ActionKind.START_AGENT:
      return (
        <>
          start an agent that polls {queue} for <code>{action.task}</code>
        </>
      );
    case ActionKind.RESUME_QUEUE:
      return <>resume {queue}</>;
    case ActionKind.RESUME_NAMESPACE:
      return (
        <>
          resume the namespace under <Link href="/queues">Queues and agents</Link>
        </>
      );
    case ActionKind.RESUME_WORKFLOW:
      return (
        <>
          resume the workflow <Link href={`/workflows/${action.workflow}`}>{action.workflow}</Link>
        </>
      );
    case ActionKind.SET_CIRCUIT:
      return (
        <>
          close the circuit of <code>{action.task}</code> in {queue}
        </>
      );
    case ActionKind.UNCORDON_AGENT:
      return <>let cordoned agents of {queue} take tasks again</>;
    case ActionKind.START_SUPERVISOR:
      return (
        <>
          start a supervisor: <code>drover supervisor --region {action.region}</code>
        </>
      );
    case ActionKind.ANSWER:
      return "answer the question above";
    case ActionKind.SIGNAL:
      return (
        <>
          send the signal <code>{action.signalName}</code> (at the head of the page)
        </>
      );
    case ActionKind.DECIDE:
      return "approve or reject it (at the head of the page)";
    case ActionKind.COMPLETE_DEFERRED:
      return "report the outcome, if the callback does not come";
    default:
      return null;
  }
}
