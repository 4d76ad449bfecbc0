// The fields of the filter of runs, which is part of the address; and a field to go directly to a
// run by its id or key.
import { type FormEvent, type ReactNode, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { problemOf } from "../../calls/problem.ts";
import { useCall } from "../../calls/use-call.ts";
import { useNamespace } from "../../shell/namespace.tsx";
import { runStatus, stateName } from "../../words/run-words.ts";
import { substateName, substates, substateWord } from "../../words/substate-words.ts";
import { type FilterField, OPEN, type ReadFilter, single, spans } from "./run-filter.ts";

export function RunFilterBar({ problems }: Pick<ReadFilter, "problems">) {
  const [search, set] = useFilter();
  return (
    <div className="filters">
      <GoToRun />
      <Choice label="State" name="state" any="Any state" problems={problems}>
        <option value={OPEN}>All open states</option>
        {single.map((state) => (
          <option key={state} value={stateName(state)}>
            {runStatus(state).word}
          </option>
        ))}
      </Choice>
      <Choice
        label="Substate"
        name="substate"
        any="Doing or waiting for anything"
        problems={problems}
      >
        {substates.map((substate) => (
          <option key={substate} value={substateName(substate)}>
            {substateWord(substate)}
          </option>
        ))}
      </Choice>
      <WorkflowChoice value={search.get("workflow") ?? ""} onChoose={(v) => set("workflow", v)} />
      <Choice label="Started" name="since" any="Any time" problems={problems}>
        {Object.entries(spans).map(([name, { words }]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </Choice>
      <input
        aria-label="Filter"
        className="query"
        placeholder="Filter: error:sold-out key^:order- label.team=blue"
        title={QUERY_HELP}
        key={search.get("filter") ?? ""}
        defaultValue={search.get("filter") ?? ""}
        aria-invalid={problems.has("filter")}
        onBlur={({ target }) => set("filter", target.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Enter") set("filter", currentTarget.value);
        }}
      />
      <Choice label="Order" name="order" any="Newest first" problems={problems}>
        <option value="oldest">Oldest first</option>
      </Choice>
      {[...problems].map(([field, problem]) => (
        <p key={field} role="alert" className="filter-problem">
          This filter cannot be read: {problem}.
        </p>
      ))}
    </div>
  );
}

/** RunFilter.query in the contract has all of it. */
const QUERY_HELP = `Conditions with a space between; a run must meet all of them.

state:failed,cancelled   also open, ended
waits:approval,signal    what an open run does or waits for
workflow:order
step:hotel error:sold-out
key:order-17 key^:order-
label.team=blue
created>2026-11-01 ended<now-2h`;

/** The filter in the address, and a function that sets one part of it. */
function useFilter() {
  const [search, setSearch] = useSearchParams();
  const set = (name: string, value: string) =>
    setSearch((before) => {
      const next = new URLSearchParams(before);
      if (value === "") next.delete(name);
      else next.set(name, value);
      return next;
    });
  return [search, set] as const;
}

interface ChoiceProps extends Pick<ReadFilter, "problems"> {
  readonly label: string;
  readonly name: FilterField;
  /** What is shown while nothing is chosen. */
  readonly any: string;
  readonly children: ReactNode;
}

function Choice({ label, name, any, problems, children }: ChoiceProps) {
  const [search, set] = useFilter();
  return (
    <select
      aria-label={label}
      aria-invalid={problems.has(name)}
      value={search.get(name) ?? ""}
      onChange={({ target }) => set(name, target.value)}
    >
      <option value="">{any}</option>
      {children}
    </select>
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

/** Finds a run by its whole id or key; for parts of them there is the filter. */
function GoToRun() {
  const namespace = useNamespace();
  const [, go] = useLocation();
  const [announcement, setAnnounced] = useState("");
  const search = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("run") ?? "").trim();
    if (name === "") return;
    setAnnounced("");
    const ref = UUID.test(name)
      ? ({ case: "runId", value: name.toLowerCase() } as const)
      : ({ case: "key", value: name } as const);
    void scheduler.getRun({ namespace, run: { ref } }).then(
      ({ run }) => go(`/runs/${run?.runId ?? ""}`),
      (error: unknown) => setAnnounced(problemOf(error).message),
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
      <span role="status">{announcement}</span>
    </form>
  );
}
