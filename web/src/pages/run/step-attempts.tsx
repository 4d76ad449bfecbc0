// The attempts of one step or item, newest first: outcome, agent and its session, error in full,
// output.
import { type Attempt, AttemptSource, type Run } from "@drover/proto/drover/v1/run_pb.ts";
import { useState } from "react";
import { Link } from "wouter";
import { Badge } from "../../parts/badge.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Facts } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { attemptStatus, failureWords, performerWords, tryName } from "../../words/attempt-words.ts";
import { numberWords } from "../../words/counts.ts";
import { progressWords } from "../../words/progress-words.ts";
import { AttemptLogs } from "./attempt-logs.tsx";

const SHOWN_FIRST = 20;

/** `of`: oldest first. */
export function StepAttempts({ run, of }: { readonly run: Run; readonly of: readonly Attempt[] }) {
  const [all, setAll] = useState(false);
  const newestFirst = of.toReversed();
  const shown = all ? newestFirst : newestFirst.slice(0, SHOWN_FIRST);
  return (
    <>
      <ol className="attempts">
        {shown.map((one) => (
          <AttemptEntry key={`${one.kind} ${one.fence} ${one.n} ${one.late}`} run={run} of={one} />
        ))}
      </ol>
      {shown.length === of.length ? null : (
        <p className="note">
          Showing the last {numberWords(shown.length)} of {numberWords(of.length)} attempts.{" "}
          <button type="button" className="quiet" onClick={() => setAll(true)}>
            Show all
          </button>
        </p>
      )}
    </>
  );
}

function AttemptEntry({ run, of }: { readonly run: Run; readonly of: Attempt }) {
  const [isOpen, setOpen] = useState(false);
  const session = of.session.length === 0 ? "" : of.session.toHex();
  return (
    <li>
      <div className="attempt-head">
        <Badge {...attemptStatus(of)} />
        <strong>{nameOf(of)}</strong>
        <span className="dim">
          <Ago at={of.startedTime} />, took <Lasted from={of.startedTime} to={of.endedTime} />
        </span>
      </div>
      {of.failure === undefined ? null : (
        <p className="failure">
          <Foreign text={failureWords(of.failure)} />
        </p>
      )}
      <Facts
        of={[
          [
            "Agent",
            session === "" ? performerWords(of) : <AgentLink key="a" {...{ of, session }} />,
          ],
          ["Host", of.host],
          [
            "Session",
            session === "" ? null : <CopiedText key="s" text={session} what="the session" />,
          ],
          ["Progress", progressWords(of.progress)],
        ]}
      />
      <AttemptLogs run={run} attempt={of} />
      {of.output === undefined ? null : (
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>Output of this attempt</summary>
          {isOpen ? <PayloadView of={of.output} what="the output of the attempt" /> : null}
        </details>
      )}
    </li>
  );
}

function AgentLink({ of, session }: { readonly of: Attempt; readonly session: string }) {
  return (
    <Link href={`/queues?agent=${session}`}>
      <Foreign text={of.agentId} />
    </Link>
  );
}

export function CopiedText({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <span className="mono">
      {text} <CopyButton text={text} what={what} />
    </span>
  );
}

function nameOf({ kind, attempt, source }: Attempt): string {
  if (source === AttemptSource.ANSWER) return "Answer";
  const number = attempt === 0 ? "" : ` ${attempt}`;
  const name = tryName(kind);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}${number}`;
}
