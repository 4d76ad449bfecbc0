// One escalation: what happened, what to check first, and the answers, each with its effect.

import type { GetEscalationResponse } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Attempt, Escalation } from "@drover/proto/drover/v1/run_pb.ts";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Act } from "../../parts/act.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Badge } from "../../parts/badge.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { CutText, Foreign } from "../../parts/foreign.tsx";
import { ForeignMessage } from "../../parts/foreign-message.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { PersonFields, personOf } from "../../parts/person-fields.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import {
  attemptStatus,
  failureWords,
  performerWords,
  taskKindWords,
} from "../../words/attempt-words.ts";
import {
  answeredWords,
  checkFirst,
  questionStatus,
  reasonOfQuestion,
  subjectWords,
} from "../../words/escalation-words.ts";
import { progressWords } from "../../words/progress-words.ts";
import { runOutcome } from "../../words/run-words.ts";

const EVERY_MS = 2_000;

export function Question(props: { readonly runId: string; readonly escalationId: string }) {
  const { runId, escalationId } = props;
  const namespace = useNamespace();
  const run = { ref: { case: "runId", value: runId } } as const;
  const asked = useCall(
    `escalation ${namespace} ${runId} ${escalationId}`,
    (signal) => operator.getEscalation({ namespace, run, escalationId }, { signal }),
    { everyMs: EVERY_MS },
  );
  return (
    <Shown of={asked} what="the escalation" wholePage>
      {(seen) =>
        seen.escalation === undefined ? null : (
          <Seen seen={seen} escalation={seen.escalation} again={asked.again} />
        )
      }
    </Shown>
  );
}

interface SeenProps {
  readonly seen: GetEscalationResponse;
  readonly escalation: Escalation;
  readonly again: () => void;
}

function Seen({ seen, escalation, again }: SeenProps) {
  const subject = subjectWords(escalation);
  const code = seen.step?.error?.code;
  return (
    <>
      <PageHead
        title={`${subject} of ${escalation.workflow}: ${reasonOfQuestion(escalation.reason, code)}`}
        above={<Link href="/escalations">Escalations</Link>}
        beside={<Badge {...questionStatus(escalation)} />}
      >
        <ClaimActs escalation={escalation} again={again} />
      </PageHead>
      <WhatHappened seen={seen} escalation={escalation} />
      {escalation.closedTime === undefined ? (
        <Panel title="Answers">
          <p className="dim">{checkFirst(escalation.reason, code)}</p>
          <ul className="answers">
            {escalation.answers.map((answer) => (
              <li key={answer}>
                <Answer {...{ answer, escalation, again }} />
              </li>
            ))}
          </ul>
        </Panel>
      ) : null}
      <Panel title="Attempts">
        {seen.attempts.length === 0 ? (
          <p className="dim">None of its tasks was handed out.</p>
        ) : (
          <DataTable
            name="Attempts"
            columns={attemptColumns}
            rows={seen.attempts.toReversed()}
            keyOf={({ kind, fence, n }) => `${kind} ${fence} ${n}`}
          />
        )}
      </Panel>
      <div className="beside">
        <Panel title="Input of the run">
          <PayloadView of={seen.run?.input} what="the input of the run" />
        </Panel>
        <Panel title={`Output of ${subject}`}>
          <PayloadView of={seen.step?.output} what="its output" />
        </Panel>
      </div>
    </>
  );
}

function WhatHappened({ seen, escalation }: Omit<SeenProps, "again">) {
  const { run, step, effectKey } = seen;
  const { answer, closedBy, closedTime, claimedBy, deadlineTime } = escalation;
  const isRecorded = step?.error !== undefined && escalation.message.includes(step.error.message);
  return (
    <Panel title="What happened">
      <p className="message">
        <ForeignMessage text={escalation.message} />
      </p>
      {answer ? (
        <p className="message">
          <ForeignMessage text={`Answer: ${answeredWords(answer)}`} />
        </p>
      ) : null}
      <Facts
        of={[
          [
            "Run",
            <Link key="run" href={`/runs/${escalation.runId}`} className="mono">
              <Foreign text={run?.key || escalation.runId} />
            </Link>,
          ],
          ["State of the run", run ? <Badge key="state" {...runOutcome(run)} /> : null],
          ["Error", step?.error && !isRecorded ? failureWords(step.error) : null],
          [
            "Key in the remote service",
            effectKey === "" ? null : (
              <span key="effect" className="mono">
                {effectKey} <CopyButton text={effectKey} what="the key" />
              </span>
            ),
          ],
          ["Opened", <Ago key="opened" at={escalation.openedTime} />],
          [
            "Answered automatically",
            deadlineTime && closedTime === undefined ? <Ago key="by" at={deadlineTime} /> : null,
          ],
          ["Claimed by", claimedBy],
          ["Closed", closedTime ? <Ago key="closed" at={closedTime} /> : null],
          ["Closed by", answer ? null : closedBy],
        ]}
      />
    </Panel>
  );
}

const attemptColumns: readonly Column<Attempt>[] = [
  { title: "Task", width: "7rem", cell: ({ kind }) => taskKindWords(kind) },
  { title: "Attempt", width: "5rem", align: "end", cell: ({ attempt }) => attempt || "–" },
  { title: "Agent", width: "minmax(8rem, 1fr)", cell: performerWords },
  { title: "Started", width: "7rem", cell: ({ startedTime }) => <Ago at={startedTime} /> },
  {
    title: "Duration",
    width: "6rem",
    align: "end",
    cell: ({ startedTime, endedTime }) => <Lasted from={startedTime} to={endedTime} />,
  },
  { title: "Progress", width: "6rem", cell: ({ progress }) => progressWords(progress) || "–" },
  { title: "Outcome", width: "11.5rem", cell: (one) => <Badge {...attemptStatus(one)} /> },
  {
    title: "Error",
    width: "minmax(10rem, 2fr)",
    cell: ({ failure }) => (failure ? <CutText text={failureWords(failure)} /> : "–"),
  },
];

/** Claims the escalation, takes it over, or releases it. */
function ClaimActs({ escalation, again }: Pick<SeenProps, "escalation" | "again">) {
  const namespace = useNamespace();
  const { runId, id: escalationId, claimedBy, closedTime } = escalation;
  if (closedTime !== undefined) return null;
  const run = { ref: { case: "runId", value: runId } } as const;
  const anyway = claimedBy !== "";
  return (
    <>
      <Act
        name={anyway ? "Take over" : "Claim"}
        title={anyway ? `Take over from ${claimedBy}?` : "Claim this escalation?"}
        done={again}
        onAct={async (form) => {
          const { by } = personOf(form);
          await operator.claimEscalation({ namespace, run, escalationId, by, anyway });
          return "You have claimed it: others see your name.";
        }}
      >
        <p>Others see that you work on it. They can still answer it.</p>
        <PersonFields why="none" />
      </Act>
      {anyway ? (
        <Act
          name="Release"
          title="Release this escalation?"
          done={again}
          onAct={async () => {
            await operator.releaseEscalation({ namespace, run, escalationId, by: claimedBy });
            return "It is no longer claimed.";
          }}
        >
          <p>
            <Foreign text={claimedBy} /> no longer claims it, and others see that.
          </p>
        </Act>
      ) : null}
    </>
  );
}
