// The approvals that open runs wait for, of one person or of all, with the form that decides. Who
// is asked for is in the address, and is remembered for the next visit.
import type { Approval } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { type FormEvent, useMemo, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Field } from "../../parts/field.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { useNotice } from "../../shell/notices.tsx";
import { person as nameOfCaller } from "../../shell/session.ts";
import { approvedWords, approverWords, expiryWords, rolesOf } from "../../words/approval-words.ts";
import { DecisionFields, decide } from "../run/decide-fields.tsx";
import { ApprovalSubject } from "./approval-subject.tsx";

const PAGE = 200;
const EVERY_MS = 3_000;
const KEPT_AS = "drover.approvals";

export function ApprovalsPage() {
  const namespace = useNamespace();
  const { name, roles } = personIn(useSearch());
  const list = useList(
    `approvals ${namespace} ${JSON.stringify([name, roles])}`,
    async (pageToken, signal) => {
      const person = { approver: name, roles: rolesOf(roles) };
      const asked = { namespace, ...person, pageSize: PAGE, pageToken };
      const page = await operator.listApprovals(asked, { signal });
      return { rows: page.approvals, nextPageToken: page.nextPageToken };
    },
    { everyMs: EVERY_MS },
  );
  const [deciding, setDeciding] = useState<Approval | null>(null);
  const columns = useMemo(() => columnsOf(setDeciding), []);
  return (
    <>
      <PageHead title="Approvals">
        <PersonFilter key={`${name} ${roles}`} name={name} roles={roles} />
      </PageHead>
      <Shown of={{ ...list.state, again: list.again }} what="the approvals">
        {() =>
          list.rows.length === 0 && list.complete ? (
            <EmptyState
              title={name === "" ? "No open approval" : `No approval waits for ${name}`}
              text="A step that waits until people have approved it is listed here."
            />
          ) : (
            <DataTable
              name="Approvals"
              columns={columns}
              rows={list.rows}
              keyOf={({ runId, stepId }) => `${runId} ${stepId}`}
              onEnd={list.more}
              complete={list.complete}
            />
          )
        }
      </Shown>
      {deciding === null ? null : (
        <DecideDialog
          approval={deciding}
          person={{ name, roles }}
          onDone={list.again}
          onClose={() => setDeciding(null)}
        />
      )}
    </>
  );
}

interface Person {
  readonly name: string;
  /** Separated by commas. */
  readonly roles: string;
}

/** As the address names the person; without `for` in it, as remembered. */
function personIn(search: string): Person {
  const asked = new URLSearchParams(search);
  const known = asked.has("for") ? asked : new URLSearchParams(localStorage.getItem(KEPT_AS) ?? "");
  return { name: known.get("for") ?? "", roles: known.get("roles") ?? "" };
}

function PersonFilter({ name, roles }: Person) {
  const [, go] = useLocation();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? "").trim();
    const search = new URLSearchParams({ for: text("for"), roles: text("roles") }).toString();
    localStorage.setItem(KEPT_AS, search);
    go(`/approvals?${search}`);
  };
  return (
    <form className="list-filters" onSubmit={submit}>
      <Field name="For">
        <input name="for" maxLength={256} defaultValue={name} placeholder="anyone" />
      </Field>
      <Field name="Roles">
        <input name="roles" maxLength={1_024} defaultValue={roles} placeholder="treasury, audit" />
      </Field>
      <button type="submit">Show</button>
    </form>
  );
}

/** `decideOn` opens the dialog: within the table it would be laid out as a part of its row. */
function columnsOf(decideOn: (approval: Approval) => void): readonly Column<Approval>[] {
  return [
    {
      title: "",
      width: "5.5rem",
      cell: (one) => (
        <span className="acts">
          <button
            type="button"
            aria-label={`Decide on ${one.stepId} of ${one.workflow}, run ${one.runKey || one.runId}`}
            onClick={() => decideOn(one)}
          >
            Decide…
          </button>
        </span>
      ),
    },
    {
      title: "Approval",
      width: "minmax(11rem, 1.2fr)",
      cell: ({ runId, stepId, workflow }) => (
        <Link href={`/runs/${runId}`}>
          {stepId} of {workflow}
        </Link>
      ),
    },
    {
      title: "Run",
      width: "minmax(6rem, 0.8fr)",
      cell: ({ runKey, runId }) => <span title={runId}>{runKey || runId.slice(0, 8)}</span>,
    },
    {
      title: "Approvers",
      width: "minmax(8rem, 1fr)",
      cell: (one) => <span title={approverWords(one)}>{approverWords(one)}</span>,
    },
    {
      title: "Approved",
      width: "minmax(6rem, 0.7fr)",
      cell: (one) => <span title={approvedWords(one)}>{approvedWords(one)}</span>,
    },
    { title: "Waits since", width: "7rem", cell: ({ sinceTime }) => <Ago at={sinceTime} /> },
    { title: "Deadline", width: "7rem", cell: ({ deadlineTime }) => <Ago at={deadlineTime} /> },
    { title: "Then", width: "6rem", cell: expiryWords },
  ];
}

function DecideDialog(props: {
  readonly approval: Approval;
  readonly person: Person;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { approval, person, onDone, onClose } = props;
  const { runId, stepId, workflow } = approval;
  const namespace = useNamespace();
  const notify = useNotice();
  return (
    <ConfirmDialog
      title={`Decide on ${stepId} of ${workflow}`}
      act="Decide"
      onAct={async (form) => {
        await decide({ namespace, runId }, form, stepId);
        notify("The decision is recorded.");
        onDone();
      }}
      onClose={onClose}
    >
      <p>
        The step succeeds once it has enough approvals ({approvedWords(approval)} so far); one
        rejection fails it. Approvers: {approverWords(approval)}.
      </p>
      <ApprovalSubject of={approval} />
      <DecisionFields
        approval={approval}
        name={person.name || nameOfCaller()}
        roles={person.roles}
      />
    </ConfirmDialog>
  );
}
