// What supervisors did in this namespace, newest first, one line for each. Retries that were due
// are most of it and mean little, so they are hidden unless a reader asks for them. The filters are
// part of the address, so that a link shows the same list.
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useLocation, useSearch } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { Field } from "../../parts/field.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { TimeField } from "../../parts/time-field.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { ruleMeanings } from "../../words/rule-words.ts";
import { timeOfField } from "../../words/time-words.ts";
import { InterventionEntry } from "./intervention-entry.tsx";

const PAGE = 50;
const EVERY_MS = 3_000;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** All rules but the one of retries. */
const TELLING = Object.keys(ruleMeanings).filter((rule) => rule !== "backoff");
/** In the address: the retries as well. */
const EVERYTHING = "all";

interface Filters {
  /** "": all but retries. */
  readonly rule: string;
  readonly run: string;
  /** Milliseconds since 1970; null: none. */
  readonly after: number | null;
  readonly before: number | null;
}

function filtersOf(search: string): Filters {
  const filter = new URLSearchParams(search);
  const time = (name: string) => (filter.has(name) ? timeOfField(filter.get(name) ?? "") : null);
  return {
    rule: filter.get("rule") ?? "",
    run: filter.get("run") ?? "",
    after: time("after"),
    before: time("before"),
  };
}

function addressOf({ rule, run, after, before }: Filters): string {
  const filter = new URLSearchParams();
  if (rule !== "") filter.set("rule", rule);
  if (run !== "") filter.set("run", run);
  if (after !== null) filter.set("after", new Date(after).toISOString());
  if (before !== null) filter.set("before", new Date(before).toISOString());
  const text = filter.toString();
  return text === "" ? "/interventions" : `/interventions?${text}`;
}

function rulesOf(rule: string): string[] {
  if (rule === EVERYTHING) return [];
  return rule === "" ? TELLING : [rule];
}

const timeField = (ms: number | null): Timestamp | undefined =>
  ms === null ? undefined : timestampFromMs(ms);

export function InterventionsPage() {
  const namespace = useNamespace();
  const filters = filtersOf(useSearch());
  const { rule, run, after, before } = filters;
  const actedAfter = timeField(after);
  const actedBefore = timeField(before);
  const list = useList(
    `interventions ${namespace} ${addressOf(filters)}`,
    async (pageToken, signal) => {
      const asked = {
        // A part of an id matches nothing, so it is not sent while the user types.
        namespace,
        pageSize: PAGE,
        pageToken,
        runId: UUID.test(run) ? run : "",
        rules: rulesOf(rule),
        ...(actedAfter ? { actedAfter } : {}),
        ...(actedBefore ? { actedBefore } : {}),
      };
      const page = await operator.listInterventions(asked, { signal });
      return { rows: page.interventions, nextPageToken: page.nextPageToken };
    },
    { everyMs: EVERY_MS },
  );
  const isFiltered = addressOf(filters) !== "/interventions";
  return (
    <>
      <PageHead title="Interventions" />
      <FilterFields filters={filters} />
      <Shown of={{ ...list.state, again: list.again }} what="the interventions">
        {() =>
          list.rows.length === 0 ? (
            <EmptyState
              title={isFiltered ? "No intervention matches these filters" : "No intervention yet"}
              text="Each action of a supervisor is listed here, with its reason and its lateness. Retries that were due are hidden."
            />
          ) : (
            <>
              <ol className="entries" aria-label="What supervisors did, newest first">
                {list.rows.map((one) => (
                  <InterventionEntry key={keyOf(one)} of={one} />
                ))}
              </ol>
              {list.complete ? null : (
                <button type="button" onClick={list.more}>
                  Show more
                </button>
              )}
            </>
          )
        }
      </Shown>
    </>
  );
}

type Listed = Parameters<typeof InterventionEntry>[0]["of"];

function keyOf({ runId, stepId, rule, fence, actedTime }: Listed): string {
  return [runId, stepId, rule, fence, actedTime?.seconds, actedTime?.nanos].join(" ");
}

function FilterFields({ filters }: { readonly filters: Filters }) {
  const [, go] = useLocation();
  const set = (more: Partial<Filters>) => go(addressOf({ ...filters, ...more }), { replace: true });
  const { rule, run, after, before } = filters;
  return (
    <search className="list-filters" aria-label="Filters">
      <Field name="Rule">
        <select value={rule} onChange={({ target }) => set({ rule: target.value })}>
          <option value="">Anything but retries</option>
          <option value={EVERYTHING}>Anything, with retries</option>
          {Object.entries(ruleMeanings).map(([name, means]) => (
            <option key={name} value={name}>
              {means} ({name})
            </option>
          ))}
        </select>
      </Field>
      <Field
        name="Run id"
        {...(run === "" || UUID.test(run)
          ? {}
          : { help: "This is not a complete id: all runs are shown." })}
      >
        <input
          type="search"
          className="mono"
          size={36}
          placeholder="Complete id"
          value={run}
          spellCheck={false}
          onChange={({ target }) => set({ run: target.value.trim() })}
        />
      </Field>
      <TimeField name="From" ms={after} onSay={(ms) => set({ after: ms })} />
      <TimeField name="Before" ms={before} onSay={(ms) => set({ before: ms })} />
      {addressOf(filters) === "/interventions" ? null : (
        <button type="button" onClick={() => go("/interventions", { replace: true })}>
          Clear filters
        </button>
      )}
    </search>
  );
}
