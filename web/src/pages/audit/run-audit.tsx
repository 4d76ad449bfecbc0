// Who did what to one run: a panel for the page of the run. There is none while no person has
// changed the run, and without the right to read the audit.
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Panel } from "../../parts/panel.tsx";
import { Shown } from "../../parts/states.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { AuditEntry } from "./audit-entry.tsx";

const SHOWN_MAX = 20;
const EVERY_MS = 5_000;

export function RunAudit({ runId }: { readonly runId: string }) {
  const namespace = useNamespace();
  const all = `/audit?subject=${encodeURIComponent(`run/${runId}`)}`;
  const list = useCall(
    `audit of ${namespace} ${runId}`,
    async (signal) => {
      const subject = { kind: "run", name: runId };
      return operator.listAudit({ namespace, subject, pageSize: SHOWN_MAX }, { signal });
    },
    { everyMs: EVERY_MS },
  );
  if (list.kind === "failed" && list.problem.reason === "NOT_ALLOWED") return null;
  if (list.kind === "loading") return null;
  if (list.kind === "loaded" && list.value.entries.length === 0) return null;
  return (
    <Panel title="Who did what" beside={<Link href={all}>Audit of this run</Link>}>
      <Shown of={list} what="who did what">
        {({ entries, nextPageToken }) => (
          <>
            <ol className="entries" aria-label="Who did what, newest first">
              {entries.map((entry) => (
                <AuditEntry key={entry.id} of={entry} />
              ))}
            </ol>
            {nextPageToken === "" ? null : (
              <p className="dim">
                The last {SHOWN_MAX} changes. <Link href={all}>Show all of them</Link>
              </p>
            )}
          </>
        )}
      </Shown>
    </Panel>
  );
}
