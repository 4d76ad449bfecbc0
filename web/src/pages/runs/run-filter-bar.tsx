// The filter of runs, as it stands in the address: states, workflow, labels, a time, an order; and
// one field to go straight to a run by its id or key.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type RunFilter,
  RunFilterSchema,
  RunOrder,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type FormEvent, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { problemOf } from "../../calls/problem.ts";
import { useCall } from "../../calls/use-call.ts";
import { useNamespace } from "../../shell/namespace.tsx";
import { runStanding, stateName } from "../../words/run-words.ts";

const OPEN = "open";
const groups: Readonly<Record<string, readonly RunState[]>> = {
  [OPEN]: [
    RunState.PENDING,
    RunState.RUNNING,
    RunState.PAUSED,
    RunState.STOPPING,
    RunState.COMPENSATING,
    RunState.ESCALATED,
    RunState.FINISHING,
  ],
};

const single = [
  RunState.ESCALATED,
  RunState.RUNNING,
  RunState.PENDING,
  RunState.PAUSED,
  RunState.STOPPING,
  RunState.COMPENSATING,
  RunState.FINISHING,
  RunState.COMPLETED,
  RunState.FAILED,
  RunState.COMPENSATED,
  RunState.CANCELLED,
] as const;

const HOUR_MS = 3_600_000;
const spans: Readonly<Record<string, { readonly ms: number; readonly words: string }>> = {
  "1h": { ms: HOUR_MS, words: "in the last hour" },
  "24h": { ms: 24 * HOUR_MS, words: "in the last 24 hours" },
  "7d": { ms: 7 * 24 * HOUR_MS, words: "in the last 7 days" },
};

/** To the minute, so that one address asks for one list while it is paged through. */
const MINUTE_MS = 60_000;

export function filterOf(search: URLSearchParams): RunFilter {
  const state = search.get("state") ?? "";
  const named = single.find((one) => stateName(one) === state);
  const span = spans[search.get("since") ?? ""];
  const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  return create(RunFilterSchema, {
    states: [...(groups[state] ?? (named === undefined ? [] : [named]))],
    workflow: search.get("workflow") ?? "",
    labels: labelsOf(search.get("labels") ?? ""),
    ...(span === undefined ? {} : { createdAfter: timestampFromMs(now - span.ms) }),
  });
}

export function orderOf(search: URLSearchParams): RunOrder {
  return search.get("order") === "oldest" ? RunOrder.CREATED_ASC : RunOrder.CREATED_DESC;
}

/** `team=blue zone=b`; what is not of this form is left out. */
function labelsOf(text: string): Record<string, string> {
  const pairs = text.split(/[\s,]+/).map((part) => part.split("=", 2));
  return Object.fromEntries(
    pairs.flatMap(([name = "", value]) => (name && value !== undefined ? [[name, value]] : [])),
  );
}

export function RunFilterBar() {
  const [search, setSearch] = useSearchParams();
  const set = (name: string, value: string) =>
    setSearch((before) => {
      const next = new URLSearchParams(before);
      if (value === "") next.delete(name);
      else next.set(name, value);
      return next;
    });
  return (
    <div className="filters">
      <GoToRun />
      <select
        aria-label="State"
        value={search.get("state") ?? ""}
        onChange={({ target }) => set("state", target.value)}
      >
        <option value="">Any state</option>
        <option value={OPEN}>All that are open</option>
        {single.map((state) => (
          <option key={state} value={stateName(state)}>
            {runStanding(state).word}
          </option>
        ))}
      </select>
      <WorkflowChoice value={search.get("workflow") ?? ""} onChoose={(v) => set("workflow", v)} />
      <select
        aria-label="Accepted"
        value={search.get("since") ?? ""}
        onChange={({ target }) => set("since", target.value)}
      >
        <option value="">At any time</option>
        {Object.entries(spans).map(([name, { words }]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
      <input
        aria-label="Labels"
        placeholder="Labels: team=blue"
        defaultValue={search.get("labels") ?? ""}
        onBlur={({ target }) => set("labels", target.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Enter") set("labels", currentTarget.value);
        }}
      />
      <select
        aria-label="Order"
        value={search.get("order") ?? ""}
        onChange={({ target }) => set("order", target.value)}
      >
        <option value="">Newest first</option>
        <option value="oldest">Oldest first</option>
      </select>
    </div>
  );
}

function WorkflowChoice(props: {
  readonly value: string;
  readonly onChoose: (value: string) => void;
}) {
  const namespace = useNamespace();
  const list = useCall(`workflows ${namespace}`, (signal) =>
    scheduler.listWorkflows({ namespace, pageSize: 1_000 }, { signal }),
  );
  const names = list.kind === "loaded" ? list.value.workflows.map(({ name }) => name) : [];
  const all = props.value === "" || names.includes(props.value) ? names : [props.value, ...names];
  return (
    <select
      aria-label="Workflow"
      value={props.value}
      onChange={({ target }) => props.onChoose(target.value)}
    >
      <option value="">Any workflow</option>
      {all.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Runs are found by their whole id or key; other words are looked for by the filter. */
function GoToRun() {
  const namespace = useNamespace();
  const [, go] = useLocation();
  const [told, setTold] = useState("");
  const search = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("run") ?? "").trim();
    if (name === "") return;
    setTold("");
    const ref = UUID.test(name)
      ? ({ case: "runId", value: name.toLowerCase() } as const)
      : ({ case: "key", value: name } as const);
    void scheduler.getRun({ namespace, run: { ref } }).then(
      ({ run }) => go(`/runs/${run?.runId ?? ""}`),
      (error: unknown) => setTold(problemOf(error).message),
    );
  };
  return (
    <form onSubmit={search} className="go-to-run">
      <input
        type="search"
        name="run"
        aria-label="Id or key of a run"
        placeholder="Id or key, then Enter"
      />
      <span role="status">{told}</span>
    </form>
  );
}
