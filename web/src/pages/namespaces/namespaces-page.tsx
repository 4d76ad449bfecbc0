// Namespaces with their retention and limits, and how much of its limits this namespace uses. API
// tokens have no page: secrets belong to the command line.

import { type Limit, LimitScope, type Namespace } from "@drover/proto/drover/v1/namespace_pb.ts";
import type { Activity } from "@drover/proto/drover/v1/overview_pb.ts";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { useList } from "../../calls/use-list.ts";
import { CommandNote } from "../../parts/command-note.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago, Length } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { numberWords } from "../../words/counts.ts";
import { limitValue, openRunsWords, payloadWords, rateWords } from "../../words/limit-words.ts";
import { isFinal } from "../../words/run-words.ts";

const EVERY_MS = 5_000;
const PAGE = 200;

export function NamespacesPage() {
  const list = useList(
    "all namespaces",
    async (pageToken, signal) => {
      const page = await operator.listNamespaces({ pageSize: PAGE, pageToken }, { signal });
      return { rows: page.namespaces, nextPageToken: page.nextPageToken };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <>
      <PageHead title="Namespaces" />
      <ThisNamespace />
      <Limits />
      <Panel title="All namespaces">
        <Shown of={{ ...list.state, again: list.again }} what="the namespaces">
          {() => (
            <DataTable
              name="Namespaces"
              columns={columns}
              rows={list.rows}
              keyOf={({ name }) => name}
              onEnd={list.more}
              complete={list.complete}
            />
          )}
        </Shown>
      </Panel>
      <CommandNote
        does="Set its limits; those that are not given are removed"
        command="drover namespace limit --open-runs 5000"
      />
      <CommandNote
        does="Set how long ended runs are kept"
        command="drover namespace retention 30d"
      />
      <CommandNote does="List, create and revoke API tokens" command="drover token list" />
    </>
  );
}

function ThisNamespace() {
  const namespace = useNamespace();
  const seen = useCall(
    `namespace ${namespace}`,
    async (signal) => {
      const [{ namespace: of }, { activity }] = await Promise.all([
        operator.getNamespace({ namespace }, { signal }),
        operator.getOverview({ namespace }, { signal }),
      ]);
      return { of, activity };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <Panel title={`Use of ${namespace}`}>
      <Shown of={seen} what="the namespace">
        {({ of, activity }) => (
          <Facts
            of={[
              ["Open runs", openRunsWords(openRuns(activity), of?.limits)],
              ["Runs started in 30 minutes", numberWords(startedRuns(activity))],
              ["Runs started per second, at most", rateWords(of?.limits)],
              ["Payload, at most", payloadWords(of?.limits)],
              ["Logs of handlers", of?.noLogs ? "not stored" : "stored"],
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

function Limits() {
  const namespace = useNamespace();
  const seen = useCall(
    `limits of ${namespace}`,
    (signal) => operator.getLimits({ namespace }, { signal }),
    { everyMs: EVERY_MS },
  );
  return (
    <Panel title={`Limits of ${namespace}`}>
      <Shown of={seen} what="the limits">
        {({ limits }) => (
          <DataTable
            name="Limits"
            columns={limitColumns}
            rows={limits}
            keyOf={({ name }) => name}
            complete
          />
        )}
      </Shown>
    </Panel>
  );
}

const isFixed = ({ scope }: Limit): boolean => scope === LimitScope.FIXED;

const limitColumns: readonly Column<Limit>[] = [
  { title: "Limit", width: "minmax(9rem, 1fr)", cell: ({ name }) => name },
  { title: "Of", width: "minmax(12rem, 2fr)", cell: ({ what }) => what },
  {
    title: "Value",
    width: "7rem",
    align: "end",
    cell: ({ value, unit }) => limitValue(value, unit) ?? "no limit",
  },
  {
    title: "Used",
    width: "7rem",
    align: "end",
    cell: ({ used, unit, usedNote }) => <span title={usedNote}>{limitValue(used, unit)}</span>,
  },
  {
    title: "Default",
    width: "7rem",
    align: "end",
    cell: (one) => (isFixed(one) ? "" : (limitValue(one.defaultValue, one.unit) ?? "no limit")),
  },
  {
    title: "At most",
    width: "7rem",
    align: "end",
    cell: (one) => (isFixed(one) ? "" : limitValue(one.hardLimit, one.unit)),
  },
  {
    title: "Change",
    width: "minmax(10rem, 1.5fr)",
    cell: ({ change }) => (change === "" ? "fixed" : <code>{change}</code>),
  },
];

function openRuns(activity: Activity | undefined) {
  const open = (activity?.states ?? []).filter(({ state }) => !isFinal(state));
  const count = open.reduce((sum, one) => sum + one.count, 0);
  return { count, more: activity?.moreRuns ?? false };
}

function startedRuns(activity: Activity | undefined): number {
  return (activity?.minutes ?? []).reduce((sum, { accepted }) => sum + accepted, 0);
}

const columns: readonly Column<Namespace>[] = [
  {
    title: "Namespace",
    width: "minmax(8rem, 1.5fr)",
    // Another tenant: the page is loaded anew, as by the choice in the navigation.
    cell: ({ name }) => (
      <a href={name === "default" ? "/" : `/ns/${encodeURIComponent(name)}`}>{name}</a>
    ),
  },
  { title: "Region", width: "minmax(6rem, 1fr)", cell: ({ region }) => region },
  { title: "Created", width: "7rem", cell: ({ createTime }) => <Ago at={createTime} /> },
  {
    title: "Keeps ended runs",
    width: "8.5rem",
    align: "end",
    cell: ({ retention }) => (retention ? <Length of={retention} /> : "for ever"),
  },
  {
    title: "Open runs, at most",
    width: "9rem",
    align: "end",
    cell: ({ limits }) => (limits?.openRuns ? numberWords(limits.openRuns) : "no limit"),
  },
  {
    title: "Started per second",
    width: "9rem",
    align: "end",
    cell: ({ limits }) => rateWords(limits),
  },
  {
    title: "Payload, at most",
    width: "9rem",
    align: "end",
    cell: ({ limits }) => payloadWords(limits),
  },
];
