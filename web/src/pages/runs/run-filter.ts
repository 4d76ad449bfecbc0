// The filter of runs, as it is written in the address. A text that cannot be read is a problem of
// its field and never an absent filter: otherwise an action on all matching runs would hit every
// run. The server alone reads the text of conditions (`filter`), and refuses what it cannot read.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type RunFilter,
  RunFilterSchema,
  RunOrder,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { runStatus, stateName } from "../../words/run-words.ts";
import { substateName, substates, substateWord } from "../../words/substate-words.ts";

export const OPEN = "open";
/** All states of runs that have not ended. */
export const openStates: readonly RunState[] = [
  RunState.PENDING,
  RunState.RUNNING,
  RunState.PAUSED,
  RunState.STOPPING,
  RunState.COMPENSATING,
  RunState.ESCALATED,
  RunState.FINISHING,
];
const groups: Readonly<Record<string, readonly RunState[]>> = {
  [OPEN]: openStates,
};

export const single = [
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
export const spans: Readonly<Record<string, { readonly ms: number; readonly words: string }>> = {
  "1h": { ms: HOUR_MS, words: "in the last hour" },
  "24h": { ms: 24 * HOUR_MS, words: "in the last 24 hours" },
  "7d": { ms: 7 * 24 * HOUR_MS, words: "in the last 7 days" },
};

/** Rounded to the minute, so that one address requests one list for all its pages. */
const MINUTE_MS = 60_000;

export type FilterField = "state" | "substate" | "since" | "filter" | "order";

export interface ReadFilter {
  readonly filter: RunFilter;
  readonly order: RunOrder;
  /** The fields that cannot be read. With any of them `filter` describes no list of runs. */
  readonly problems: ReadonlyMap<FilterField, string>;
  /** As in "state failed, label.team=blue"; "" if every run matches. */
  readonly words: string;
}

export function readFilter(search: URLSearchParams): ReadFilter {
  const problems = new Map<FilterField, string>();
  const state = search.get("state") ?? "";
  const since = search.get("since") ?? "";
  const order = search.get("order") ?? "";
  const workflow = search.get("workflow") ?? "";
  const named = single.find((one) => stateName(one) === state);
  const states = groups[state] ?? (named === undefined ? [] : [named]);
  if (state !== "" && states.length === 0) problems.set("state", `there is no state "${state}"`);
  const doing = search.get("substate") ?? "";
  const substate = substates.find((one) => substateName(one) === doing);
  if (doing !== "" && substate === undefined)
    problems.set("substate", `there is no substate "${doing}"`);
  const span = spans[since];
  if (since !== "" && span === undefined)
    problems.set("since", `there is no time range "${since}"`);
  if (order !== "" && order !== "oldest") problems.set("order", `there is no order "${order}"`);
  const query = (search.get("filter") ?? "").trim();
  const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  const filter = create(RunFilterSchema, {
    states: [...states],
    substates: substate === undefined ? [] : [substate],
    workflow,
    query,
    ...(span === undefined ? {} : { createdAfter: timestampFromMs(now - span.ms) }),
  });
  const words = [
    ...(state === OPEN ? ["open"] : named === undefined ? [] : [`state ${runStatus(named).word}`]),
    ...(substate === undefined ? [] : [substateWord(substate)]),
    ...(workflow === "" ? [] : [`workflow ${workflow}`]),
    ...(query === "" ? [] : [query]),
    ...(span === undefined ? [] : [`started ${span.words}`]),
  ].join(", ");
  const runOrder = order === "oldest" ? RunOrder.CREATED_ASC : RunOrder.CREATED_DESC;
  return { filter, order: runOrder, problems, words };
}

/** The conditions of a text alone, in the language of the server (RunFilter.query). */
export function queryFilter(query: string): ReadFilter {
  return readFilter(new URLSearchParams({ filter: query }));
}

/** The address of the list of the runs that meet these conditions. */
export function runsHref(query: string): string {
  return `/runs?${new URLSearchParams({ filter: query })}`;
}
