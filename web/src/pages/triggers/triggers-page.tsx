// Triggers: a list, and one trigger with what it has refused. To be read only: a trigger has a
// secret, which belongs to the command line.
//
//   /triggers         all of them
//   /triggers/NAME    one of them
import type { Refusal, Trigger } from "@drover/proto/drover/v1/trigger_pb.ts";
import { Link, useParams } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { CommandNote } from "../../parts/command-note.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { actionWords, eventWords } from "../../words/trigger-words.ts";
import { REFUSALS_MAX, RefusalPanel } from "./refusal-panel.tsx";
import { TriggerView } from "./trigger-view.tsx";

const EVERY_MS = 5_000;

export function TriggersPage() {
  const { "*": name = "" } = useParams();
  return name === "" ? <TriggerList /> : <TriggerView name={name} />;
}

function TriggerList() {
  const namespace = useNamespace();
  const seen = useCall(
    `triggers ${namespace}`,
    async (signal) => {
      const [{ triggers }, { refusals }] = await Promise.all([
        operator.listTriggers({ namespace }, { signal }),
        operator.listRefusals({ namespace, pageSize: REFUSALS_MAX }, { signal }),
      ]);
      return { triggers, refusals };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <>
      <PageHead title="Triggers" />
      <Shown of={seen} what="the triggers">
        {({ triggers, refusals }) =>
          triggers.length === 0 ? (
            <EmptyState
              title="No trigger"
              text="A trigger starts or continues a run on a call over HTTP, or at the end of another run."
            />
          ) : (
            <>
              <DataTable
                name="Triggers"
                columns={columns(refusals)}
                rows={triggers}
                keyOf={nameOf}
                hrefOf={(trigger) => `/triggers/${nameOf(trigger)}`}
              />
              <RefusalPanel of={refusals} />
            </>
          )
        }
      </Shown>
      <CommandNote does="Create or change a trigger" command="drover trigger put FILE" />
    </>
  );
}

const nameOf = ({ definition }: Trigger) => definition?.trigger ?? "";

/** `refusals`: the newest first. */
const columns = (refusals: readonly Refusal[]): readonly Column<Trigger>[] => {
  const lastOf = (of: Trigger) => refusals.find(({ trigger }) => trigger === nameOf(of));
  return [
    {
      title: "Trigger",
      width: "minmax(8rem, 1fr)",
      cell: (one) => <Link href={`/triggers/${nameOf(one)}`}>{nameOf(one)}</Link>,
    },
    {
      title: "Event",
      width: "minmax(12rem, 2.5fr)",
      cell: ({ definition }) => (definition ? eventWords(definition) : ""),
    },
    {
      title: "Action",
      width: "minmax(10rem, 1.5fr)",
      cell: ({ definition }) => (definition ? actionWords(definition) : ""),
    },
    { title: "Changed", width: "6.5rem", cell: ({ changedTime }) => <Ago at={changedTime} /> },
    { title: "Last refusal", width: "6.5rem", cell: (one) => <Ago at={lastOf(one)?.lastTime} /> },
    {
      title: "Reason",
      width: "minmax(8rem, 1fr)",
      cell: (one) => lastOf(one)?.reason ?? "–",
    },
  ];
};
