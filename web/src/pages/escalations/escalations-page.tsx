// What waits for a person: a list of escalations, and one escalation with its answers.
//
//   /escalations             the open escalations, and on request the closed ones
//   /escalations/RUN/N       one of them
import type { Escalation } from "@drover/proto/drover/v1/run_pb.ts";
import { useState } from "react";
import { Link, useParams } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { ShortId } from "../../parts/short-id.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { questionStatus, reasonOfQuestion, subjectWords } from "../../words/escalation-words.ts";
import { Question } from "./question.tsx";

const PAGE = 200;
const EVERY_MS = 3_000;

export function EscalationsPage() {
  const { "*": rest = "" } = useParams();
  const [, runId, escalationId] = /^([^/]+)\/([^/]+)$/.exec(rest) ?? [];
  if (runId !== undefined && escalationId !== undefined)
    return <Question runId={runId} escalationId={escalationId} />;
  return <Questions />;
}

const addressOf = ({ runId, id }: Escalation): string => `/escalations/${runId}/${id}`;

const columns: readonly Column<Escalation>[] = [
  {
    title: "Subject",
    width: "minmax(9rem, 1fr)",
    cell: (one) => (
      <Link href={addressOf(one)}>
        {subjectWords(one)} of {one.workflow}
      </Link>
    ),
  },
  {
    title: "Reason",
    width: "minmax(16rem, 1.1fr)",
    cell: ({ reason }) => reasonOfQuestion(reason),
  },
  {
    title: "Message",
    width: "minmax(8rem, 1.4fr)",
    cell: ({ message }) => <span title={message}>{message}</span>,
  },
  {
    title: "Run",
    width: "5.5rem",
    cell: ({ runId }) => <ShortId of={runId} />,
  },
  { title: "Opened", width: "6.5rem", cell: ({ openedTime }) => <Ago at={openedTime} /> },
  {
    title: "State",
    width: "10rem",
    cell: (one) => <Badge {...questionStatus(one)} />,
  },
];

function Questions() {
  const namespace = useNamespace();
  const [includeClosed, setIncludeClosed] = useState(false);
  const list = useList(
    `escalations ${namespace} ${includeClosed}`,
    async (pageToken, signal) => {
      const asked = { namespace, includeClosed, pageSize: PAGE, pageToken };
      const page = await operator.listEscalations(asked, { signal });
      return { rows: page.escalations, nextPageToken: page.nextPageToken };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <>
      <PageHead title="Escalations">
        <label className="choice">
          <input
            type="checkbox"
            checked={includeClosed}
            onChange={() => setIncludeClosed(!includeClosed)}
          />{" "}
          Include closed
        </label>
      </PageHead>
      <Shown of={{ ...list.state, again: list.again }} what="the escalations">
        {() =>
          list.rows.length === 0 ? (
            <EmptyState
              title="No open escalation"
              text="A run that cannot continue without a decision is listed here."
            />
          ) : (
            <DataTable
              name="Escalations"
              columns={columns}
              rows={list.rows}
              keyOf={addressOf}
              hrefOf={addressOf}
              onEnd={list.more}
              complete={list.complete}
            />
          )
        }
      </Shown>
    </>
  );
}
