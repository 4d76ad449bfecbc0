// Open escalations: the first few with their messages, so that one click leads to the answers; of
// the others only the number.
import type { Escalation } from "@drover/proto/drover/v1/run_pb.ts";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { ForeignMessage } from "../../parts/foreign-message.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { counted } from "../../words/counts.ts";
import { subjectWords } from "../../words/escalation-words.ts";
import type { Need } from "./needs-person.tsx";

const SHOWN_MAX = 5;
const LOOK_AGAIN_MS = 10_000;
/** The server counts up to this number. */
const COUNTED_MAX = 10_000;

/** `open`: how many there are; when the number changes, the escalations are read again at once. */
export function useOpenQuestions(open: number): readonly Need[] {
  const namespace = useNamespace();
  const found = useCall(
    open === 0 ? null : `questions ${namespace} ${open}`,
    (signal) => operator.listEscalations({ namespace, pageSize: SHOWN_MAX }, { signal }),
    { everyMs: LOOK_AGAIN_MS },
  );
  const shown = found.kind === "loaded" && open > 0 ? found.value.escalations : [];
  return [...shown.map(needOf), ...restOf(open - shown.length, shown.length > 0)];
}

function needOf(question: Escalation): Need {
  const { runId, id, workflow, message } = question;
  return {
    key: `question ${runId} ${id}`,
    tone: "warning",
    word: "question",
    text: (
      <>
        <b>{subjectWords(question)}</b> of {workflow}: <ForeignMessage text={message} />
      </>
    ),
    href: `/escalations/${runId}/${id}`,
    act: "Answer it",
  };
}

function restOf(count: number, isMore: boolean): readonly Need[] {
  if (count <= 0) return [];
  const many = count >= COUNTED_MAX - SHOWN_MAX ? "10,000 or more" : counted(count, "question");
  return [
    {
      key: "questions",
      tone: "warning",
      word: "questions",
      text: `${many}${isMore ? " more" : ""} to answer.`,
      href: "/escalations",
      act: "Answer",
    },
  ];
}
