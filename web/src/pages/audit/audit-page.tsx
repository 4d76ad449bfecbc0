// Who changed what in this namespace, newest first, one line for each change. The filters are part
// of the address, so that a link shows the same list.
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useLocation, useSearch } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { Field } from "../../parts/field.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { TimeField } from "../../parts/time-field.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { auditActions, subjectOf } from "../../words/audit-words.ts";
import { timeOfField } from "../../words/time-words.ts";
import { AuditEntry } from "./audit-entry.tsx";
import { AuditExport } from "./audit-export.tsx";

const PAGE = 50;
const EXPORT_PAGE = 1_000;
const EVERY_MS = 3_000;

interface Filters {
  /** `KIND/NAME`. */
  readonly subject: string;
  readonly action: string;
  readonly by: string;
  readonly token: string;
  /** Milliseconds since 1970; null: none. */
  readonly after: number | null;
  readonly before: number | null;
}

function filtersOf(search: string): Filters {
  const filter = new URLSearchParams(search);
  const text = (name: string) => filter.get(name) ?? "";
  const time = (name: string) => (filter.has(name) ? timeOfField(text(name)) : null);
  return {
    subject: text("subject"),
    action: text("action"),
    by: text("by"),
    token: text("token"),
    after: time("after"),
    before: time("before"),
  };
}

function addressOf({ after, before, ...texts }: Filters): string {
  const filter = new URLSearchParams();
  for (const [name, value] of Object.entries(texts)) if (value !== "") filter.set(name, value);
  if (after !== null) filter.set("after", new Date(after).toISOString());
  if (before !== null) filter.set("before", new Date(before).toISOString());
  const text = filter.toString();
  return text === "" ? "/audit" : `/audit?${text}`;
}

/** A subject that is not complete matches nothing, so it is not sent while the user types. */
function requestOf(namespace: string, { subject, action, by, token, after, before }: Filters) {
  const about = subjectOf(subject);
  return {
    namespace,
    actions: action === "" ? [] : [action],
    by,
    token,
    ...(about ? { subject: about } : {}),
    ...(after === null ? {} : { after: timestampFromMs(after) }),
    ...(before === null ? {} : { before: timestampFromMs(before) }),
  };
}

export function AuditPage() {
  const namespace = useNamespace();
  const filters = filtersOf(useSearch());
  const load = async (pageToken: string, pageSize: number, signal?: AbortSignal) => {
    const asked = { ...requestOf(namespace, filters), pageSize, pageToken };
    const page = await operator.listAudit(asked, signal ? { signal } : {});
    return { rows: page.entries, nextPageToken: page.nextPageToken };
  };
  const list = useList(
    `audit ${namespace} ${addressOf(filters)}`,
    (pageToken, signal) => load(pageToken, PAGE, signal),
    { everyMs: EVERY_MS },
  );
  const isFiltered = addressOf(filters) !== "/audit";
  return (
    <>
      <PageHead title="Audit">
        <AuditExport load={(pageToken) => load(pageToken, EXPORT_PAGE)} />
      </PageHead>
      <FilterFields filters={filters} />
      <Shown of={{ ...list.state, again: list.again }} what="the audit">
        {() => (
          <>
            {list.rows.length > 0 ? (
              <ol className="entries" aria-label="Who did what, newest first">
                {list.rows.map((one) => (
                  <AuditEntry key={one.id} of={one} />
                ))}
              </ol>
            ) : (
              <EmptyState
                title={
                  !list.complete
                    ? "None of the newest changes matches these filters"
                    : isFiltered
                      ? "No change matches these filters"
                      : "No person has changed anything yet"
                }
                text="Each change that a person or an API token makes is listed here: who, when, from where, and why."
              />
            )}
            {list.complete ? null : (
              <button type="button" onClick={list.more}>
                Show older
              </button>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

function FilterFields({ filters }: { readonly filters: Filters }) {
  const [, go] = useLocation();
  const set = (more: Partial<Filters>) => go(addressOf({ ...filters, ...more }), { replace: true });
  const { subject, action, by, token, after, before } = filters;
  const isComplete = subject === "" || subjectOf(subject) !== null;
  return (
    <search className="list-filters" aria-label="Filters">
      <Field name="Action">
        <select value={action} onChange={({ target }) => set({ action: target.value })}>
          <option value="">Any</option>
          {Object.keys(auditActions).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </Field>
      <Field
        name="Subject"
        {...(isComplete ? {} : { help: "Write KIND/NAME: until then all are shown." })}
      >
        <input
          type="search"
          size={24}
          placeholder="queue/mail or run/ID"
          value={subject}
          spellCheck={false}
          onChange={({ target }) => set({ subject: target.value.trim() })}
        />
      </Field>
      <TextField name="By" value={by} onSay={(value) => set({ by: value })} />
      <TextField name="API token" value={token} onSay={(value) => set({ token: value })} />
      <TimeField name="From" ms={after} onSay={(ms) => set({ after: ms })} />
      <TimeField name="Before" ms={before} onSay={(ms) => set({ before: ms })} />
      {addressOf(filters) === "/audit" ? null : (
        <button type="button" onClick={() => go("/audit", { replace: true })}>
          Clear filters
        </button>
      )}
    </search>
  );
}

interface TextFieldProps {
  readonly name: string;
  readonly value: string;
  readonly onSay: (value: string) => void;
}

function TextField({ name, value, onSay }: TextFieldProps) {
  return (
    <Field name={name}>
      <input
        type="search"
        size={14}
        placeholder="Complete name"
        value={value}
        spellCheck={false}
        onChange={({ target }) => onSay(target.value)}
      />
    </Field>
  );
}
